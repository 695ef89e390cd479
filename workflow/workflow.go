package workflow

import (
	"encoding/json"
	"fmt"
	"strings"
)

// What torc's server fills in for a workflow that does not say.
const (
	DefaultWaitForNewJobsSeconds         = 90
	DefaultWaitForHealthyDatabaseMinutes = 20
	DefaultMinTimeForNewJobsSeconds      = 300
	DefaultSpawnIterations               = 1000 // dynamic_jobs.max_iterations
)

// Workflow is a graph of jobs with what they have in common.
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

	// RunID grows by one with every reset_status and by nothing else; 0 before
	// the first.
	RunID      int64
	IsCanceled bool
	IsArchived bool

	// EndGeneration counts the ends of the current run: it grows when a run
	// that had its verdict is opened again.
	EndGeneration int64
	// Verdict is the event type of the current generation's verdict, empty
	// while there is none.
	Verdict EventType
	// Compensating says that what the run did is being undone.
	Compensating bool
}

// WorkflowUpdate is a change of a workflow: a nil field is kept. Env,
// SubmissionDirectory, DynamicJobs and AccessGroups cannot change; they are
// there to be compared with what is stored.
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
	Policy           *RunPolicy // what is given in it replaces what is stored
	UnsetPolicy      []string   // keys of Policy that are removed, such as max_failures and end.success_if

	Env                 map[string]string
	SubmissionDirectory *string
	DynamicJobs         *DynamicJobsConfig
	TorcWorkflow
}

// WorkLeft is what is at work for a workflow.
type WorkLeft struct {
	Jobs        int64 // that runners hold
	Allocations int64 // that have not ended
	Runners     int64 // that may still be ending processes
}

// String says it in words.
func (w WorkLeft) String() string {
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
