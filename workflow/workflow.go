package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The defaults of torc's server for a workflow.
const (
	DefaultWaitForNewJobsSeconds         = 90
	DefaultWaitForHealthyDatabaseMinutes = 20
	DefaultMinTimeForNewJobsSeconds      = 300
	DefaultSpawnIterations               = 1000 // dynamic_jobs.max_iterations
)

// Workflow is a graph of jobs with their common settings.
type Workflow struct {
	ID                  int64
	Name                string
	User                string
	Description         *string
	Project             *string
	Metadata            json.RawMessage // an object; nil if not given
	Env                 map[string]string
	Timestamp           string // of creation, YYYY-MM-DDTHH:MM:SS.mmmZ
	SubmissionDirectory *string
	SpecPath            *string // the specification that it was created from, an absolute path

	ComputeNodeWaitForNewJobsSeconds         int64
	ComputeNodeIgnoreWorkflowCompletion      bool
	ComputeNodeWaitForHealthyDatabaseMinutes int64
	ComputeNodeMinTimeForNewJobsSeconds      int64

	UsePendingFailed *bool
	EnforceRuntime   bool // kill a job that exceeds its declared runtime
	ExecutionConfig  *ExecutionConfig
	ResourceMonitor  *ResourceMonitorConfig
	SlurmDefaults    json.RawMessage // an object; nil if not given
	DynamicJobs      *DynamicJobsConfig
	Policy           *RunPolicy
	TorcWorkflow

	// RunID is 0 at first and grows by one with every reset_status; nothing else changes
	// it.
	RunID      int64
	IsCanceled bool
	IsArchived bool

	// EndGeneration grows when a run that had its verdict is opened again.
	EndGeneration int64
	// Verdict is the event type of the current generation's verdict; empty until there is
	// one.
	Verdict EventType
	// Compensating says that the run is being undone.
	Compensating bool
	// ClaimsHeld is why no job of it is claimed, such as "paused by ann"; empty if jobs are.
	ClaimsHeld string
}

// WorkflowUpdate is a change of a workflow: a nil field keeps the stored value. Env,
// SubmissionDirectory, DynamicJobs and AccessGroups cannot change; they are compared with
// the stored values.
type WorkflowUpdate struct {
	Name        *string
	User        *string
	Description *string
	Project     *string
	Metadata    json.RawMessage

	ComputeNodeWaitForNewJobsSeconds         *int64
	ComputeNodeIgnoreWorkflowCompletion      *bool
	ComputeNodeWaitForHealthyDatabaseMinutes *int64

	UsePendingFailed *bool
	ExecutionConfig  *ExecutionConfig
	Policy           *RunPolicy // its non-nil fields replace the stored ones
	UnsetPolicy      []string   // keys of Policy to remove, such as max_failures and end.success_if

	Env                 map[string]string
	SubmissionDirectory *string
	DynamicJobs         *DynamicJobsConfig
	TorcWorkflow
}

// ActiveWork counts what is still active for a workflow.
type ActiveWork struct {
	Jobs        int64 // jobs that runners hold
	Allocations int64 // allocations that have not ended
	Runners     int64 // runners that may still be ending processes
}

// String returns the counts as text: "2 jobs are claimed or running".
func (w ActiveWork) String() string {
	var parts []string
	for _, p := range []struct {
		n         int64
		one, many string
	}{
		{w.Jobs, "job is claimed or running", "jobs are claimed or running"},
		{w.Allocations, "allocation is pending or active", "allocations are pending or active"},
		{w.Runners, "runner has not left", "runners have not left"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, Plural(p.n, p.one, p.many)))
		}
	}
	return strings.Join(parts, ", ")
}
