package workflowtest

import "github.com/torc-slurm/torc-slurm/workflow"

// StatusOfCause has the status that each cause gives a job.
var StatusOfCause = map[workflow.CauseKind]workflow.JobStatus{
	workflow.CauseOK: workflow.Completed, workflow.CauseExit: workflow.Failed, workflow.CauseSignal: workflow.Failed, workflow.CauseOOM: workflow.Failed, workflow.CauseOOMPartial: workflow.Failed,
	workflow.CauseTimeout: workflow.Terminated, workflow.CauseWalltime: workflow.Terminated, workflow.CauseNodeFail: workflow.Failed, workflow.CausePreempted: workflow.Terminated,
	workflow.CauseCanceledUser: workflow.Canceled, workflow.CauseCanceledAdmin: workflow.Canceled, workflow.CauseLaunch: workflow.Failed, workflow.CauseOutputMissing: workflow.Failed,
	workflow.CauseDiskFull: workflow.Failed, workflow.CauseLost: workflow.Failed, workflow.CauseSubWorkflow: workflow.Failed, workflow.CauseNeverStarted: workflow.Ready,
}
