package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// insertStage stores a stage. Its parent must have arrived before.
func (d *DefinitionWriter) insertStage(tx *core.Tx, s *workflow.StageDefinition) (int64, error) {
	if err := s.Validate(); err != nil {
		return 0, err
	}
	policy, err := json.Marshal(s.Policy)
	if err != nil {
		return 0, err
	}
	var parent any
	if known := int32(len(d.stages)); s.Parent > 0 && s.Parent <= known {
		parent = d.stages[s.Parent-1]
	} else if s.Parent > 0 { // written by this use case
		var last int64
		if known > 0 {
			last = d.stages[known-1]
		}
		err := tx.Row(`SELECT id FROM stage WHERE workflow_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?`, []any{d.id, last, s.Parent - 1 - known}, &parent)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, workflow.Errorf(workflow.CodeInvalid, "stage %q belongs to stage number %d, which does not precede it", s.Name, s.Parent)
		}
		if err != nil {
			return 0, fmt.Errorf("find the parent of stage %q: %w", s.Name, err)
		}
	}
	return tx.Insert(`INSERT INTO stage (workflow_id, kind, parent_id, name, policy) VALUES (?, ?, ?, ?, ?)`,
		d.id, string(s.Kind), parent, s.Name, string(policy))
}

// stageFaults finds inconsistent stages and jobs of workflow ?1, and says what is wrong.
var stageFaults = []struct{ query, message string }{
	{`SELECT s.name FROM stage s LEFT JOIN job p ON p.child_id = s.id WHERE s.workflow_id = ?1 AND (s.kind = 'child') != (p.id IS NOT NULL)`,
		"stage %q is a child without a sub-workflow job, or has one but is not a child"},
	{`SELECT s.name FROM stage s JOIN job p ON p.child_id = s.id WHERE s.workflow_id = ?1 AND p.stage_id IS NOT s.parent_id`,
		"the sub-workflow job of stage %q is not in the stage that it belongs to"},
	{`SELECT s.name FROM stage s WHERE s.workflow_id = ?1 AND s.kind = 'end' AND (SELECT COUNT(*) FROM job j WHERE j.stage_id = s.id) != 1`,
		"stage %q must have exactly one end job"},
	{`SELECT s.name FROM stage s WHERE s.workflow_id = ?1 AND s.kind = 'end' GROUP BY s.parent_id HAVING COUNT(*) > 1`,
		"stage %q is a duplicate end of its stage"},
	{`SELECT j.name FROM job j JOIN stage s ON s.id = j.stage_id JOIN job x ON x.id = j.undoes_id LEFT JOIN stage y ON y.id = x.stage_id
		WHERE j.workflow_id = ?1 AND j.undoes_id IS NOT NULL AND (s.kind != 'compensation' OR y.kind IS 'compensation')`,
		"job %q cannot undo another job: it must be in a compensation, and the other must not"},
	// Each gate is checked once, however many jobs are behind it.
	{`SELECT (SELECT j.name FROM job j WHERE j.gate_id = g.gate_id AND j.stage_id IS g.stage_id LIMIT 1)
		FROM (SELECT DISTINCT gate_id, stage_id FROM job WHERE workflow_id = ?1 AND gate_id IS NOT NULL) g
			JOIN gate_dependency d ON d.gate_id = g.gate_id JOIN job x ON x.id = d.job_id
		WHERE g.stage_id IS NOT x.stage_id`,
		"job %q depends on a job of another stage"},
}

// checkStages rejects inconsistent stages and jobs.
func checkStages(tx *core.Tx, workflowID int64) error {
	var staged bool
	if err := tx.Row(`SELECT EXISTS (SELECT 1 FROM stage WHERE workflow_id = ?)`, []any{workflowID}, &staged); err != nil {
		return fmt.Errorf("check for stages of workflow %d: %w", workflowID, err)
	}
	if !staged {
		return nil
	}
	for _, fault := range stageFaults {
		var name string
		err := tx.Row(fault.query+` LIMIT 1`, []any{workflowID}, &name)
		switch {
		case err == nil:
			return workflow.Errorf(workflow.CodeInvalid, fault.message, name)
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("check the stages of workflow %d: %w", workflowID, err)
		}
	}
	// Compensations are disabled until they start.
	ids, err := engine.DisableNewCompensations(tx, workflowID)
	if err != nil {
		return fmt.Errorf("disable the compensations of workflow %d: %w", workflowID, err)
	}
	if len(ids) == 0 {
		return nil
	}
	return engine.CountGates(tx, workflowID)
}

// checkSameStage rejects dependencies of the jobs from first to last on jobs of another
// stage.
func checkSameStage(tx *core.Tx, workflowID, first, last int64) error {
	var job, dependency string
	err := tx.Row(`SELECT j.name, x.name FROM job j JOIN gate_dependency d ON d.gate_id = j.gate_id JOIN job x ON x.id = d.job_id
		WHERE EXISTS (SELECT 1 FROM stage WHERE workflow_id = ?1) AND j.id BETWEEN ?2 AND ?3 AND j.workflow_id = ?1 AND j.stage_id IS NOT x.stage_id LIMIT 1`,
		[]any{workflowID, first, last}, &job, &dependency)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check the stages of jobs of workflow %d: %w", workflowID, err)
	}
	return workflow.Errorf(workflow.CodeInvalid, "job %q cannot depend on job %q, which is in another stage", job, dependency).
		WithHint("let it depend on the sub-workflow job")
}
