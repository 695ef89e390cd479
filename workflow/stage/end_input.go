package stage

import "github.com/torc-slurm/torc-slurm/workflow"

// EndInputVersion is the version of EndInput: it grows when a field changes its meaning or is
// removed.
const EndInputVersion = 1

// EndInput is the content of the file that $TORC_END_JSON names: the results of the run, or
// of the sub-workflow, before the end job.
type EndInput struct {
	Version       int    `json:"version"`
	WorkflowID    int64  `json:"workflow_id"`
	WorkflowName  string `json:"workflow_name"`
	RunID         int64  `json:"run_id"`
	EndGeneration int64  `json:"end_generation"`
	// Stage is the sub-workflow job whose end it is; empty: the run.
	Stage string `json:"stage,omitempty"`
	// Verdict is the verdict if the end job succeeds: completed or failed.
	Verdict string `json:"verdict"`
	// The numbers of jobs, without those of sub-workflows and the end job; failed includes
	// terminated jobs.
	Total      int64                        `json:"total"`
	Completed  int64                        `json:"completed"`
	Failed     int64                        `json:"failed"`
	Terminated int64                        `json:"terminated"`
	Canceled   int64                        `json:"canceled"`
	Disabled   int64                        `json:"disabled"`
	Retried    int64                        `json:"retried"`            // attempts that were followed by another one
	ByCause    map[workflow.CauseKind]int64 `json:"by_cause,omitempty"` // attempts, without ok
	// SuccessIf is the condition for success, if there is one.
	SuccessIf string `json:"success_if,omitempty"`
	// FailedJobs are the jobs that failed or were terminated, at most EndInputJobs
	// of them, by id.
	FailedJobs []EndInputJob `json:"failed_jobs"`
}

// EndInputJobs is the maximum number of failed jobs in an EndInput.
const EndInputJobs = 1000

// EndInputJob is a job that failed.
type EndInputJob struct {
	JobID      int64              `json:"job_id"`
	Name       string             `json:"job_name"`
	Status     workflow.JobStatus `json:"status"`
	AttemptID  int64              `json:"attempt_id"`
	ReturnCode int64              `json:"return_code"`
	Cause      workflow.CauseKind `json:"cause"`
	Text       string             `json:"text,omitempty"` // the cause in one line
}

// NewEndInput returns an EndInput with the numbers of the verdict that would be given now.
func NewEndInput(p *EndPayload, completed bool) EndInput {
	in := EndInput{
		Version: EndInputVersion, WorkflowID: p.WorkflowID, RunID: p.RunID, EndGeneration: p.EndGeneration, Verdict: "failed",
		Total: p.TotalSteps, Completed: p.Completed, Failed: p.FailedStepsCount, Terminated: p.Terminated, Canceled: p.Canceled,
		Disabled: p.Disabled, Retried: p.Retried, ByCause: p.ByCause, SuccessIf: p.SuccessIf, FailedJobs: []EndInputJob{},
	}
	if completed {
		in.Verdict = "completed"
	}
	return in
}
