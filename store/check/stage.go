package check

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// stageRules compare stages with their jobs.
var stageRules = []rule{
	{"reference", `SELECT 'job ' || j.id, 'its stage is of another workflow' FROM job j JOIN stage s ON s.id IN (j.stage_id, j.child_id)
		WHERE s.workflow_id != j.workflow_id`},
	{"reference", `SELECT 'stage ' || s.id, 'it has ' || COUNT(p.id) || ' sub-workflow jobs' FROM stage s LEFT JOIN job p ON p.child_id = s.id
		WHERE s.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1) GROUP BY s.id HAVING COUNT(p.id) != (s.kind = 'child')`},
	{"reference", `SELECT 'stage ' || s.id, 'it belongs to stage ' || p.id || ', which is of another workflow'
		FROM stage s JOIN stage p ON p.id = s.parent_id WHERE p.workflow_id != s.workflow_id`},
	{"stage", `SELECT 'stage ' || s.id, 'its job has not started, but all others of the run are complete'
		FROM stage s JOIN workflow w ON w.id = s.workflow_id AND w.is_hidden = 0 AND w.is_halted = 0 AND w.has_ended = 0
		WHERE s.kind = 'end' AND s.parent_id IS NULL AND s.state = 'not_started' AND s.waits_for IS NULL
			AND EXISTS (SELECT 1 FROM job j WHERE j.workflow_id = w.id) AND NOT EXISTS (SELECT 1 FROM job j WHERE j.workflow_id = w.id
			AND j.status NOT BETWEEN {completed} AND {disabled} AND (j.stage_id IS NULL OR j.stage_id NOT IN (SELECT x.id FROM stage x WHERE x.kind = 'compensation' OR x.id = s.id)))`},
	{"stage", `SELECT 'job ' || j.id, 'its dependency ' || x.id || ' is in another stage' FROM stage s JOIN job j ON j.stage_id = s.id
		JOIN gate_dependency d ON d.gate_id = j.gate_id JOIN job x ON x.id = d.job_id WHERE x.stage_id IS NOT s.id`},
	{"stage", `SELECT 'job ' || j.id, 'it is a sub-workflow, but a runner holds it' FROM job j
		WHERE j.child_id IS NOT NULL AND (j.status IN ({pending}, {pending_failed}) OR j.status = {running} AND j.compute_node_id IS NOT NULL)`},
	{"P6", `SELECT 'job ' || j.id, 'it is ready or runs, but its stage is ' || s.state FROM stage s JOIN job j ON j.stage_id = s.id
		WHERE j.status IN ({ready}, {pending}, {running}) AND s.state != 'running' AND j.workflow_id IN ` + moving},
}

// stages checks that no step of a stage was missed.
func (c *checker) stages() error {
	var all []row.Stage
	err := c.Each(`SELECT `+row.StageColumns+` FROM `+row.StageTables+` WHERE s.workflow_id IN `+moving, func(r sqlite.Scanner) error {
		s, err := row.ScanStage(r)
		all = append(all, s)
		return err
	})
	if err != nil {
		return err
	}
	ends := map[int64]*row.Stage{}
	for i := range all {
		if s := &all[i]; s.Kind == workflow.StageEnd && s.ParentID != nil {
			ends[*s.ParentID] = s
		}
	}
	for i := range all {
		s := &all[i]
		if s.Kind != workflow.StageChild {
			continue
		}
		f := stage.Facts{State: s.State, Job: s.JobStatus, Open: s.Open}
		if end := ends[s.ID]; end != nil {
			f.End, f.EndOpen = end.State, end.Open
		}
		if next := f.Next(); next != stage.StageStay {
			c.found("stage", fmt.Sprintf("stage %d", s.ID), "it is %s and its job %s, but this step was missed: %s", s.State, s.JobStatus, next)
		}
		if err := c.stageVerdict(&s.Stage); err != nil {
			return err
		}
	}
	return nil
}

// stageVerdict compares the verdict of a stage with a recount, unless it ended in an
// earlier run, or jobs were deleted since.
func (c *checker) stageVerdict(s *stage.Stage) error {
	if s.State != stage.Ended || s.Verdict == nil || s.Verdict.RunID != s.RunID {
		return nil
	}
	have := s.Verdict
	want, err := row.StageVerdict(c.Each, s, s.RunID)
	if err != nil {
		return err
	}
	known := have.DeletedJobs == 0
	if known && have.EndJob != nil { // its result counts even if it was deleted
		if known, err = c.exists(`SELECT 1 FROM job WHERE id = ?`, have.EndJob.JobID); err != nil {
			return err
		}
	}
	wrong := countProblem(&have.EndPayload, &want.EndPayload, have.DeletedJobs)
	if known && have.EventType != want.EventType {
		wrong = fmt.Sprintf("%s, a recount says %s", have.EventType, want.EventType)
	}
	if wrong != "" {
		c.found("P11", fmt.Sprintf("stage %d", s.ID), "its verdict says %s", wrong)
	}
	return nil
}
