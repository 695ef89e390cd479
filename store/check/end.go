package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/criterion"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// notCompensating excludes jobs j of compensations.
const notCompensating = ` AND (j.stage_id IS NULL OR j.stage_id NOT IN (SELECT id FROM stage WHERE kind = 'compensation'))`

// endRules compare verdicts, events and workflows. A run that has just started, without any
// attempt, has no verdict, whatever its jobs did before.
var endRules = []rule{
	{"P11", `SELECT 'workflow ' || w.id, 'run ' || w.run_id || ', generation ' || w.end_generation || ' has ' || iif(w.has_ended, 'ended without', 'not ended, but has')
			|| ' a verdict'
		FROM workflow w WHERE w.is_hidden = 0 AND w.has_ended != EXISTS (SELECT 1 FROM verdict v
			WHERE v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation)`},
	{"P11", `SELECT 'workflow ' || w.id, 'run ' || w.run_id || ' has its verdict, but jobs are open'
		FROM workflow w WHERE w.is_hidden = 0 AND w.has_ended = 1 AND EXISTS (SELECT 1 FROM job j WHERE j.workflow_id = w.id
			AND iif(w.is_canceled, j.status IN {live}, j.status NOT BETWEEN {completed} AND {disabled})` + notCompensating + `)`},
	{"P11", `SELECT 'workflow ' || w.id, 'nothing of run ' || w.run_id || ' is open, but it has no verdict'
		FROM workflow w WHERE w.is_hidden = 0 AND w.has_ended = 0
			AND NOT EXISTS (SELECT 1 FROM verdict v WHERE v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation)
			AND (w.is_canceled = 1 OR EXISTS (SELECT 1 FROM attempt a JOIN job j ON j.id = a.job_id WHERE j.workflow_id = w.id AND a.run_id = w.run_id))
			AND NOT EXISTS (SELECT 1 FROM job j WHERE j.workflow_id = w.id AND iif(w.is_canceled, j.status IN {live}, j.status NOT BETWEEN {completed} AND {disabled})
				` + notCompensating + `)`},
	{"P11", `SELECT 'workflow ' || COALESCE(v.workflow_id, e.workflow_id), COALESCE(e.n, 0) || ' events and ' || COALESCE(v.n, 0) || ' verdicts end run '
			|| COALESCE(v.run_id, e.run_id) || ', generation ' || COALESCE(v.generation, e.generation)
		FROM (SELECT workflow_id, run_id, generation, 1 AS n FROM verdict) v
		FULL JOIN (SELECT workflow_id, json_extract(data, '$.run_id') AS run_id, json_extract(data, '$.end_generation') AS generation, COUNT(*) AS n
			FROM event WHERE type IN ('workflow_completed', 'workflow_failed', 'workflow_canceled') AND json_extract(data, '$.evaluated_by_end_step') = 1
			GROUP BY 1, 2, 3) e
			ON e.workflow_id = v.workflow_id AND e.run_id = v.run_id AND e.generation = v.generation
		WHERE COALESCE(e.n, 0) != COALESCE(v.n, 0)
			AND COALESCE(v.workflow_id, e.workflow_id) NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = COALESCE(v.workflow_id, e.workflow_id) AND x.is_deleted = 1)`},
}

// verdicts compares current verdicts with a recount, unless somebody has changed the
// workflow manually since. Changes of a canceled workflow do not reopen it.
func (c *checker) verdicts() error {
	type verdict struct {
		workflowID, runID int64
		canceled          bool
		kind, payload     string
		policy, givenUp   *string
	}
	var all []verdict
	err := c.Each(`SELECT w.id, w.run_id, w.is_canceled, v.type, v.payload, w.policy, w.given_up
		FROM workflow w JOIN verdict v ON v.workflow_id = w.id AND v.run_id = w.run_id AND v.generation = w.end_generation
		WHERE w.is_hidden = 0 AND w.has_ended = 1 AND NOT EXISTS (SELECT 1 FROM event e WHERE e.workflow_id = w.id
			AND e.type IN ('user_action', 'job_retried', 'workflow_started', 'workflow_reinitialized')
			AND e.seq > (SELECT COALESCE(MAX(x.seq), 0) FROM event x WHERE x.workflow_id = w.id AND x.type = v.type))`,
		func(r sqlite.Scanner) error {
			var v verdict
			err := r.Scan(&v.workflowID, &v.runID, &v.canceled, &v.kind, &v.payload, &v.policy, &v.givenUp)
			all = append(all, v)
			return err
		})
	if err != nil {
		return err
	}
	for _, v := range all {
		counts, err := c.recount(v.workflowID, v.runID)
		if err != nil {
			return err
		}
		// An ended run keeps its verdict when the workflow is canceled.
		counts.WorkflowCanceled = v.canceled && v.kind == string(workflow.EventWorkflowCanceled)
		var have stage.EndPayload
		if err := json.Unmarshal([]byte(v.payload), &have); err != nil {
			c.found("P11", fmt.Sprintf("workflow %d", v.workflowID), "its verdict cannot be read: %v", err)
			continue
		}
		if v.givenUp != nil {
			counts.GivenUp = *v.givenUp
		}
		success, err := c.criterion(v.workflowID, v.policy, &counts)
		if err != nil {
			return err
		}
		want := stage.EndVerdict(counts, success)
		want.Payload.WorkflowID, want.Payload.RunID, want.Payload.EndGeneration = have.WorkflowID, have.RunID, have.EndGeneration
		if v.canceled { // jobs that will not run may be disabled
			want.Payload.Disabled, want.Payload.NotRun = have.Disabled, have.NotRun
		}
		if wrong := verdictProblem(v.kind, &have, &want); wrong != "" {
			c.found("P11", fmt.Sprintf("workflow %d", v.workflowID), "the verdict of run %d says %s", v.runID, wrong)
		}
	}
	return nil
}

// criterion returns the success condition of a workflow, and adds the numbers that it
// refers to.
func (c *checker) criterion(workflowID int64, text *string, counts *stage.Counts) (*criterion.Expr, error) {
	if text == nil {
		return nil, nil
	}
	var policy workflow.RunPolicy
	if err := json.Unmarshal([]byte(*text), &policy); err != nil {
		c.found("P11", fmt.Sprintf("workflow %d", workflowID), "its policy cannot be read: %v", err)
		return nil, nil
	}
	success, err := policy.Criterion()
	if err != nil {
		c.found("P11", fmt.Sprintf("workflow %d", workflowID), "its success_if cannot be read: %v", err)
		return nil, nil
	}
	return success, row.PatternCounts(c.Each, row.PatternScope{WorkflowID: workflowID}, success, counts)
}

// verdictProblem returns how a verdict differs from a recount; empty if it does not.
func verdictProblem(kind string, have *stage.EndPayload, want *stage.Verdict) string {
	if kind != string(want.EventType) {
		return fmt.Sprintf("%s, a recount says %s", kind, want.EventType)
	}
	return countProblem(have, &want.Payload, 0)
}

// countProblem returns what a verdict has wrong, however the jobs ended that were deleted
// since; empty if nothing.
func countProblem(have, want *stage.EndPayload, deleted int64) string {
	said, attempts := "a recount says", int64(0)
	if deleted > 0 {
		said = fmt.Sprintf("without %s a recount says", workflow.CountOf(deleted, "deleted job", "deleted jobs"))
		attempts = math.MaxInt32 // of which the number is unknown
	}
	for _, n := range []struct {
		name            string
		have, want      int64
		atLeast, atMost int64 // relative to the recount
	}{
		{"total_steps", have.TotalSteps, want.TotalSteps, deleted, deleted}, {"failed_steps_count", have.FailedStepsCount, want.FailedStepsCount, 0, deleted},
		{"completed", have.Completed, want.Completed, 0, deleted}, {"failed", have.Failed, want.Failed, 0, deleted},
		{"canceled", have.Canceled, want.Canceled, 0, deleted}, {"terminated", have.Terminated, want.Terminated, 0, deleted},
		{"disabled", have.Disabled, want.Disabled, 0, deleted}, {"not_run", have.NotRun, want.NotRun, 0, deleted},
		{"retried", have.Retried, want.Retried, 0, attempts},
	} {
		if more := n.have - n.want; more < n.atLeast || more > n.atMost {
			return fmt.Sprintf("%s is %d, %s %d", n.name, n.have, said, n.want)
		}
	}
	if have.SuccessIf != want.SuccessIf {
		return fmt.Sprintf("success_if is %q, the workflow says %q", have.SuccessIf, want.SuccessIf)
	}
	fewer := false
	for cause, n := range want.ByCause {
		fewer = fewer || have.ByCause[cause] < n
	}
	if fewer || deleted == 0 && !maps.Equal(have.ByCause, want.ByCause) {
		return fmt.Sprintf("causes are %v, %s %v", have.ByCause, said, want.ByCause)
	}
	return ""
}

// recount counts the jobs of a workflow's main stage, and the attempts of a run.
func (c *checker) recount(workflowID, runID int64) (counts stage.Counts, err error) {
	if counts, err = row.CountJobs(c.Each, `FROM job j WHERE j.workflow_id = ?1 AND j.stage_id IS NULL`, workflowID, runID); err != nil {
		return counts, err
	}
	counts.EndJob, err = row.EndJobResult(c.Each, workflowID, nil)
	return counts, err
}
