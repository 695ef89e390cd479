package store

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// A statement that the state machine forbids cannot be built.
func TestNewTransition(t *testing.T) {
	const text = `UPDATE job SET status = {to} WHERE status = {from}`
	for _, tc := range []struct {
		from, to workflow.JobStatus
		text     string
		fails    string
	}{
		{workflow.Ready, workflow.Pending, text, ""},
		{workflow.Ready, workflow.Running, text, "claim does not lead from ready to running"},
		{workflow.Pending, workflow.Pending, text, "claim does not lead from pending to pending"},
		{workflow.Ready, workflow.Pending, `UPDATE job SET status = {to}`, "does not lead from one status to another"},
		{workflow.Ready, workflow.Pending, `UPDATE job SET phase = 0 WHERE status = {from}`, "does not lead from one status to another"},
	} {
		var built *core.Transition
		failed := func() (said any) {
			defer func() { said = recover() }()
			built = core.NewTransition(workflow.OpClaim, tc.from, tc.to, tc.text)
			return nil
		}()
		said, _ := failed.(string)
		switch {
		case tc.fails != "" && !strings.Contains(said, tc.fails):
			t.Errorf("%s to %s with %q: %v", tc.from, tc.to, tc.text, failed)
		case tc.fails == "" && (failed != nil || built.Text != `UPDATE job SET status = {pending} WHERE status = {ready}`):
			t.Errorf("%s to %s: %v, %+v", tc.from, tc.to, failed, built)
		}
	}
}

// A set of jobs is not changed if the state machine forbids it for one of them.
func TestMoveJobsChecksTheStateMachine(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	err := r.shared.Do("test", func(tx *core.Tx) error {
		_, err := core.MoveJobs(tx, workflow.OpExpire, r.workflow, workflow.Terminated, engine.AsNew, `1`)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "expire does not lead from blocked to terminated") {
		t.Errorf("%v", err)
	}
	r.want(workflow.Ready, workflow.Blocked)
}

// Statements that name statuses use the partial indexes of these.
func TestNamedStatusesUseIndexes(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	for index, query := range map[string]string{
		"job_ready":        `SELECT id FROM job WHERE class_id = ?1 AND status = {ready} AND not_before_ms <= ?2 ORDER BY not_before_ms, id`,
		"job_live":         `SELECT id FROM job WHERE compute_node_id = ? AND status IN {live} ORDER BY id`,
		"job_unsuccessful": `SELECT id FROM job WHERE workflow_id = ? AND status IN ({failed}, {canceled}, {terminated}, {pending_failed})`,
		"job_unstarted":    engine.ReturnStatement.Text,
	} {
		if plan := strings.Join(r.plan(query), "; "); !strings.Contains(plan, " "+index+" ") {
			t.Errorf("%s: %s", query, plan)
		}
	}
}
