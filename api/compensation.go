package api

import "github.com/torc-slurm/torc-slurm/workflow"

// Compensations is the answer to GET /workflows/{id}/compensations, by run.
type Compensations struct {
	Compensations []workflow.Compensation `json:"compensations"`
}

// FailedWorkflowPage is the answer to GET /workflows/{id}/failed_workflow: what the
// jobs of a compensation learn, with a page of the tasks.
type FailedWorkflowPage struct {
	Workflow   workflow.FailedWorkflow `json:"workflow"`
	TotalTasks int64                   `json:"total_tasks"`
}
