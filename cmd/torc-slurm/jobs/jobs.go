// Package jobs has the commands about jobs: lists, changes, resets and retries.
package jobs

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about jobs.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "jobs", "Create, list, change, cancel, hold, reset and retry jobs",
		newCreate(a),
		newCreateFromFile(a),
		newList(a),
		newGet(a),
		newUpdate(a),
		newDelete(a),
		newDeleteAll(a),
		newRunning(a),
		newListResourceRequirements(a),
		newListFailureHandlers(a),
		newResetStatus(a),
		newRetry(a),
		newFail(a),
		newCancel(a),
		newHold(a),
		newRelease(a),
		newPrioritize(a),
	)
}

// jobSortable are the fields that jobs can be sorted by.
var jobSortable = []string{"name", "command", "status", "resource_requirements_id", "scheduler_id", "failure_handler_id", "attempt_id"}

// jobFields returns the lines that show a job.
func jobFields(j *api.Job, now time.Time) []cli.Field {
	return []cli.Field{
		{"ID", cli.OrEmpty(j.ID)},
		{"Workflow", fmt.Sprint(j.WorkflowID)},
		{"Name", j.Name},
		{"Status", statusText(j, now)},
		{"Command", j.Command},
		{"Invocation script", cli.OrEmpty(j.InvocationScript)},
		{"Attempt", cli.OrEmpty(j.AttemptID)},
		{"Retries", retriesText(j.Retries)},
		{"Avoids nodes", avoidedText(j.AvoidNodes)},
		{"Origin", cli.OrEmpty(j.Origin)},
		{"Priority", cli.OrEmpty(j.Priority)},
		{"Labels", cli.Joined(j.Labels)},
		{"Started", cli.OrEmpty(j.StartTime)},
		{"Elapsed", cli.ElapsedSince(j.StartTime, now)},
		{"Compute node", cli.OrEmpty(j.ComputeNodeID)},
		{"Resource requirements", cli.OrEmpty(j.ResourceRequirementsID)},
		{"Failure handler", cli.OrEmpty(j.FailureHandlerID)},
		{"Scheduler", cli.OrEmpty(j.SchedulerID)},
		{"Depends on jobs", cli.Joined(j.DependsOnJobIDs)},
		{"Reads files", cli.Joined(j.InputFileIDs)},
		{"Writes files", cli.Joined(j.OutputFileIDs)},
		{"Reads user data", cli.Joined(j.InputUserDataIDs)},
		{"Writes user data", cli.Joined(j.OutputUserDataIDs)},
		{"Environment", cli.EnvironmentText(j.Env)},
	}
}

// statusText returns the status of a job with details.
func statusText(j *api.Job, now time.Time) string {
	text := apidata.StatusOf(*j).String()
	if j.UserHold != nil {
		text += " (" + j.UserHold.String() + ")"
	}
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
