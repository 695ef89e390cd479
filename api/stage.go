package api

import (
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Stage is a part of a workflow: the jobs of a sub-workflow, the end job, or a
// compensation.
type Stage struct {
	ID         int64                `json:"id"`
	WorkflowID int64                `json:"workflow_id"`
	Kind       workflow.StageKind   `json:"kind"`
	ParentID   *int64               `json:"parent_id,omitempty"` // absent: the main stage
	Name       string               `json:"name"`
	State      stage.State          `json:"state"`
	JobID      *int64               `json:"job_id,omitempty"` // the sub-workflow job
	Policy     workflow.StagePolicy `json:"policy"`
	// RunID and Generation are those of the run that started it last.
	RunID        int64               `json:"run_id"`
	Generation   int64               `json:"generation"`
	StartedMS    *int64              `json:"started_ms,omitempty"` // milliseconds since the epoch
	EndedMS      *int64              `json:"ended_ms,omitempty"`
	Verdict      *stage.StageVerdict `json:"verdict,omitempty"` // of its latest end
	JobsByStatus JobCounts           `json:"jobs_by_status"`
}

// Stages is the answer to GET /workflows/{id}/stages. Each stage follows its parent.
type Stages struct {
	Stages []Stage `json:"stages"`
}
