package api

import "github.com/torc-slurm/torc-slurm/workflow/stage"

// Compensations is the answer to GET /workflows/{id}/compensations, by run.
type Compensations struct {
	Compensations []stage.Compensation `json:"compensations"`
}

// FailedWorkflowPage is the answer to GET /workflows/{id}/failed_workflow: what the jobs
// of a compensation are told, with a page of the tasks.
type FailedWorkflowPage struct {
	Workflow   stage.FailedWorkflow `json:"workflow"`
	TotalTasks int64                `json:"total_tasks"`
}
