package view

import (
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// AwaitedRunners selects the runners for which stage s waits.
const AwaitedRunners = `json_each(s.waits_for) e JOIN compute_node n ON n.id = e.value AND n.is_active = 1`

// awaited fills in the hosts whose runners the end jobs wait for.
func (l *factReader) awaited(stages []stage.Stage) error {
	for i := range stages {
		s := &stages[i]
		if s.Kind != workflow.StageEnd || s.ParentID != nil || s.State != stage.NotStarted {
			continue
		}
		hosts, err := selectFacts(l, `SELECT DISTINCT n.hostname FROM stage s JOIN workflow w ON w.id = s.workflow_id AND w.given_up IS NOT NULL AND w.is_canceled = 0, `+
			AwaitedRunners+` WHERE s.id = ? ORDER BY n.hostname`, []any{s.ID},
			func(r sqlite.Scanner) (host string, err error) { return host, r.Scan(&host) })
		if err != nil {
			return err
		}
		s.WaitsFor = hosts
	}
	return nil
}

// WaitingEnds selects the workflows w whose end jobs wait for runners.
const WaitingEnds = `SELECT s.workflow_id FROM stage s JOIN workflow w ON w.id = s.workflow_id
	WHERE s.waits_for IS NOT NULL AND w.given_up IS NOT NULL AND w.has_ended = 0 AND w.is_canceled = 0 AND w.is_hidden = 0`
