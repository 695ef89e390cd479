package row

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Stage is a stage with what its next step depends on.
type Stage struct {
	stage.Stage
	JobStatus workflow.JobStatus // of its sub-workflow job
	Open      bool               // some of its jobs are not complete
}

// StageColumns are the columns of StageTables that ScanStage reads.
const StageColumns = `s.id, s.workflow_id, s.kind, s.parent_id, s.name, s.policy, s.state, s.run_id, s.generation, s.started_ms, s.ended_ms, s.verdict,
	p.id, COALESCE(p.status, 0), EXISTS (SELECT 1 FROM job j WHERE j.stage_id = s.id AND j.status IN {open})`

// StageTables are the stages s with their sub-workflow jobs p.
const StageTables = `stage s LEFT JOIN job p ON p.child_id = s.id`

// ScanStage reads StageColumns.
func ScanStage(r sqlite.Scanner) (s Stage, err error) {
	var policy string
	var verdict sql.NullString
	err = r.Scan(&s.ID, &s.WorkflowID, &s.Kind, &s.ParentID, &s.Name, &policy, &s.State, &s.RunID, &s.Generation, &s.StartedMS, &s.EndedMS, &verdict,
		&s.JobID, &s.JobStatus, &s.Open)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(policy), &s.Policy); err != nil {
		return s, fmt.Errorf("read the policy of stage %d: %w", s.ID, err)
	}
	if verdict.Valid {
		if err := json.Unmarshal([]byte(verdict.String), &s.Verdict); err != nil {
			return s, fmt.Errorf("read the verdict of stage %d: %w", s.ID, err)
		}
	}
	return s, nil
}
