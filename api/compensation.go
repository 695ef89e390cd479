package api

import "github.com/torc-slurm/torc-slurm/workflow/stage"

// Compensations is the answer to GET /workflows/{id}/compensations, by run.
type Compensations struct {
	Compensations []stage.Compensation `json:"compensations"`
}

// FailedWorkflowPage is the answer to GET /workflows/{id}/failed_workflow: the facts for
// the jobs of a compensation, with a page of the tasks.
type FailedWorkflowPage struct {
	Workflow   stage.FailedWorkflow `json:"workflow"`
	TotalTasks int64                `json:"total_tasks"`
}
