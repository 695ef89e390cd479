package record

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Test raises an alert that only tests whether notifications arrive, and returns its id.
func (s Alerts) Test(_ context.Context, workflowID int64, user string) (id int64, err error) {
	err = s.shared.Do("test alerts", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		policy, err := r.Policy()
		if err != nil {
			return err
		}
		if len(policy.Notify.WithDefaults(tx.Shared.Notify).Targets(workflow.AlertTest)) == 0 {
			return workflow.Errorf(workflow.CodeConflict, "workflow %d has no recipient for alerts", workflowID).
				WithHint("give the workflow notify: {mail: …} or {webhook: …}, or the daemon a default in [server.notify] of its configuration")
		}
		if id, err = tx.NextID("alert"); err != nil {
			return fmt.Errorf("number an alert: %w", err)
		}
		return core.RaiseAlert(tx, r, workflow.Alert{Kind: workflow.AlertTest, Subject: "this is a test", Text: user + " tests whether notifications arrive."})
	})
	return id, err
}

// Counts returns how many alerts of each kind have ever been raised.
func (s Alerts) Counts(ctx context.Context) (map[workflow.AlertKind]int64, error) {
	counts := map[workflow.AlertKind]int64{}
	err := sqlite.EachContext(ctx, s.shared.DB.Read, func(r sqlite.Scanner) error {
		var kind workflow.AlertKind
		var n int64
		err := r.Scan(&kind, &n)
		counts[kind] = n
		return err
	}, `SELECT kind, n FROM alert_count`)
	return counts, sqlite.Wrap(err, "count alerts")
}

// List returns a page of the alerts of a workflow, by id, with the state of their
// notifications; of all workflows if the id is 0.
func (s Alerts) List(ctx context.Context, workflowID int64, page sqlite.Page) ([]workflow.RaisedAlert, int64, error) {
	if workflowID != 0 {
		if err := view.RequireVisible(ctx, s.shared.DB, workflowID); err != nil {
			return nil, 0, err
		}
	}
	f := sqlite.Where(`workflow_id IN (SELECT id FROM workflow WHERE is_hidden = 0)`)
	if workflowID != 0 {
		f.Add(`workflow_id = ?`, workflowID)
	}
	return sqlite.ReadList(ctx, s.shared.DB.Read, sqlite.List{Columns: view.AlertColumns, From: "alert", Filter: f, ID: "id", Page: page}, view.ScanAlert)
}
