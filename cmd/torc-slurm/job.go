package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newJobsCommand groups the commands about jobs.
func newJobsCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "jobs", "Create, list, change, reset and retry jobs",
		newJobsCreateCommand(a),
		newJobsCreateFromFileCommand(a),
		newJobsListCommand(a),
		newJobsGetCommand(a),
		newJobsUpdateCommand(a),
		newJobsDeleteCommand(a),
		newJobsDeleteAllCommand(a),
		newJobsRunningCommand(a),
		newJobsListResourceRequirementsCommand(a),
		newJobsListFailureHandlersCommand(a),
		newJobsResetStatusCommand(a),
		newJobsRetryCommand(a),
		newJobsFailCommand(a),
	)
}

// jobSortable are the fields that jobs can be sorted by.
var jobSortable = []string{"name", "command", "status", "resource_requirements_id", "scheduler_id", "failure_handler_id", "attempt_id"}

// statusOf is the status of a job; the server always sends it.
func statusOf(j api.Job) workflow.JobStatus {
	if j.Status == nil {
		return workflow.Uninitialized
	}
	return *j.Status
}

// idOf is the id of something that exists.
func idOf(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}

// statusNames are the names of the job statuses.
func statusNames() []string {
	var names []string
	for _, s := range workflow.JobStatuses() {
		names = append(names, s.String())
	}
	return names
}

// parseStatus reads a job status of the user's.
func parseStatus(text string) (workflow.JobStatus, error) {
	s, err := workflow.ParseJobStatus(text)
	if err != nil {
		return 0, usageErrorf("there is no job status %q; there are %s", text, joined(statusNames()))
	}
	return s, nil
}

// elapsedSince writes for how long something has been going on that started at
// an RFC 3339 time; nothing for none.
func elapsedSince(start *string, now time.Time) string {
	if start == nil {
		return ""
	}
	t, err := time.Parse(time.RFC3339Nano, *start)
	if err != nil {
		return ""
	}
	return workflow.FormatDuration(max(0, now.Sub(t)))
}

// jobFields are the lines that show one job.
func jobFields(j *api.Job, now time.Time) []field {
	return []field{
		{"ID", orEmpty(j.ID)},
		{"Workflow", fmt.Sprint(j.WorkflowID)},
		{"Name", j.Name},
		{"Status", statusText(j, now)},
		{"Command", j.Command},
		{"Invocation script", orEmpty(j.InvocationScript)},
		{"Attempt", orEmpty(j.AttemptID)},
		{"Retries", retriesText(j.Retries)},
		{"Keeps away from", avoidedText(j.AvoidNodes)},
		{"Origin", orEmpty(j.Origin)},
		{"Priority", orEmpty(j.Priority)},
		{"Labels", joined(j.Labels)},
		{"Started", orEmpty(j.StartTime)},
		{"Elapsed", elapsedSince(j.StartTime, now)},
		{"Compute node", orEmpty(j.ComputeNodeID)},
		{"Resource requirements", orEmpty(j.ResourceRequirementsID)},
		{"Failure handler", orEmpty(j.FailureHandlerID)},
		{"Scheduler", orEmpty(j.SchedulerID)},
		{"Depends on jobs", joined(j.DependsOnJobIDs)},
		{"Reads files", joined(j.InputFileIDs)},
		{"Writes files", joined(j.OutputFileIDs)},
		{"Reads user data", joined(j.InputUserDataIDs)},
		{"Writes user data", joined(j.OutputUserDataIDs)},
		{"Environment", environmentText(j.Env)},
	}
}

// statusText is the status with what refines it.
func statusText(j *api.Job, now time.Time) string {
	text := statusOf(*j).String()
	switch {
	case j.SkippedBy != nil:
		text += fmt.Sprintf(" (because of job %d)", *j.SkippedBy)
	case j.Phase != nil:
		text += " (" + *j.Phase + ")"
	case j.NotBefore != nil:
		text += " (not before " + workflow.FormatDuration(time.UnixMilli(*j.NotBefore).Sub(now)) + " from now)"
	}
	return text
}
