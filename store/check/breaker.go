package check

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// endOfTrip is when a trip t of a circuit breaker ended or will end.
const endOfTrip = `iif(t.ended_ms = 0, t.until_ms, t.ended_ms)`

// breakerRules find inconsistent trips of circuit breakers, and jobs on a node that one had
// excluded. Only allocations that were requested before are certain violations: other
// runners may be the only ones.
var breakerRules = []rule{
	{"breaker", `SELECT 'trip ' || id, 'it is written as ' || breaker || ' of ' || subject || ' to ' || action || ', what was counted says otherwise'
		FROM breaker_trip WHERE trip ->> 'breaker' IS NOT breaker OR COALESCE(trip ->> 'subject', '') != subject OR trip ->> 'action' IS NOT action`},
	{"breaker", `SELECT 'trip ' || id, 'it was closed at ' || ended_ms || ', it lasted from ' || since_ms || ' to ' || until_ms
		FROM breaker_trip WHERE ended_ms != 0 AND ended_ms NOT BETWEEN since_ms AND until_ms`},
	{"breaker", `SELECT 'trip ' || t.id, 'it is of run ' || t.run_id || ', but the workflow is at run ' || w.run_id
		FROM breaker_trip t JOIN workflow w ON w.id = t.workflow_id WHERE t.run_id > w.run_id`},
	{"breaker", `SELECT 'job ' || j.id, 'runner ' || n.id || ' claimed it ' || (j.claimed_ms - t.since_ms) || ' ms after trip ' || t.id || ' had excluded ' || t.subject
		FROM breaker_trip t JOIN compute_node n ON n.hostname = t.subject AND n.runner_key IS NOT NULL
			JOIN allocation a ON a.id = n.allocation_id AND a.asked_ms <= t.since_ms JOIN job j ON j.compute_node_id = n.id AND j.status IN {live}
		WHERE t.action = 'exclude_node' AND (t.workflow_id IS NULL OR t.workflow_id = j.workflow_id)
			AND j.claimed_ms > t.since_ms AND j.claimed_ms < ` + endOfTrip},
}

// tripKey identifies what a breaker counts separately.
type tripKey struct {
	workflowID, runID int64 // 0: for the nodes of all workflows
	breaker, subject  string
}

// trips checks that each trip of a circuit breaker rests on enough recent failures that no
// earlier trip has counted, and that no trip overlaps another.
func (c *checker) trips() error {
	var all []workflow.BreakerTrip
	err := c.Each(`SELECT `+row.TripColumns+` FROM breaker_trip WHERE workflow_id IS NULL OR workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)
		ORDER BY id`, func(r sqlite.Scanner) error {
		t, err := row.ScanTrip(r)
		all = append(all, t)
		return err
	})
	if err != nil {
		return err
	}
	ended := map[tripKey]int64{} // end of the last trip
	for i := range all {
		t := &all[i]
		key := tripKey{t.WorkflowID, t.RunID, t.Breaker, t.Subject}
		if t.WorkflowID == 0 {
			key.runID = 0
		}
		subject := fmt.Sprintf("trip %d", t.ID)
		if t.SinceMS < ended[key] {
			c.found("breaker", subject, "it opened %d ms before the end of the previous trip", ended[key]-t.SinceMS)
		}
		if wrong := tripEvidence(t, ended[key]); wrong != "" {
			c.found("breaker", subject, "%s", wrong)
		}
		if err := c.tripAttempts(subject, t); err != nil {
			return err
		}
		if ended[key] = t.UntilMS; t.EndedMS != 0 {
			ended[key] = t.EndedMS
		}
	}
	return nil
}

// tripEvidence returns what is wrong with the attempts of a trip, if the previous trip
// ended at beforeMS; empty if nothing is.
func tripEvidence(t *workflow.BreakerTrip, beforeMS int64) string {
	within, err := workflow.ParseDuration(t.Within)
	if err != nil || t.Threshold < 1 {
		return fmt.Sprintf("it counted to %d within %q", t.Threshold, t.Within)
	}
	if want := min(t.Threshold, row.MaxTripAttempts); int64(len(t.Attempts)) < want {
		return fmt.Sprintf("it names %d attempts, its threshold is %d", len(t.Attempts), t.Threshold)
	}
	for _, a := range t.Attempts {
		switch {
		case a.EndedMS <= t.SinceMS-within.Milliseconds():
			return fmt.Sprintf("attempt %d of job %d failed %d ms before it, it counts within %s", a.AttemptID, a.JobID, t.SinceMS-a.EndedMS, t.Within)
		case a.EndedMS <= beforeMS:
			return fmt.Sprintf("attempt %d of job %d failed before the end of the previous trip", a.AttemptID, a.JobID)
		}
	}
	return ""
}

// tripAttempts checks the attempts of a trip. Jobs may have been deleted since.
func (c *checker) tripAttempts(subject string, t *workflow.BreakerTrip) error {
	for _, a := range t.Attempts {
		gone, err := c.exists(`SELECT 1 FROM job j JOIN workflow w ON w.id = j.workflow_id WHERE j.id = ?1 AND j.workflow_id = ?2 AND w.is_hidden = 0
			AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.job_id = j.id AND a.attempt_id = ?3 AND (?4 = 0 OR a.run_id = ?5) AND a.cause = ?6)
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = j.workflow_id AND x.type = 'loss_superseded'
				AND json_extract(x.data, '$.job_id') = j.id AND json_extract(x.data, '$.attempt_id') = ?3)`,
			a.JobID, a.WorkflowID, a.AttemptID, t.WorkflowID, t.RunID, string(a.Cause))
		if err != nil {
			return err
		}
		if gone {
			c.found("breaker", subject, "attempt %d of job %d did not fail by %s", a.AttemptID, a.JobID, a.Cause)
		}
	}
	return nil
}
