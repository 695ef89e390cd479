// Package workflows has the commands about workflows: create, list, change,
// initialize, cancel and delete.
package workflows

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New groups the commands about workflows. Lifecycle commands that older versions of
// torc had here are hidden.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "workflows", "Create, list, change and initialize workflows",
		newNew(a),
		newList(a),
		newGet(a),
		newUpdate(a),
		newArchive(a),
		newResume(a),
		newResetStatus(a, "reset-status [WORKFLOW]"),
		newInit(a, false, "init [WORKFLOW]"),
		newInit(a, true, "reinit [WORKFLOW]"),
		NewCheckResources(a, "check-resources [WORKFLOW]"),
		newCorrectResources(a),
		newExecutionPlan(a),
		newListActions(a),
		newUpdateAction(a),
		newDeleteAction(a),
		newIsComplete(a),
		newSyncStatus(a), newDiagnose(a), newReconcile(a),
		newExport(a),
		newImport(a),
		cli.OldName(newInit(a, false, "initialize [WORKFLOW]")),
		cli.OldName(newInit(a, true, "reinitialize [WORKFLOW]")),
		cli.OldName(NewCreate(a)),
		cli.OldName(NewStatus(a)),
		cli.OldName(NewCancel(a)),
		cli.OldName(NewDelete(a)),
	)
}

// workflowColumns are those of a list of workflows.
func workflowColumns(withUser bool) cli.List[api.Workflow] {
	columns := []cli.Column[api.Workflow]{{Title: "ID", Cell: func(w api.Workflow) string { return cli.OrEmpty(w.ID) }}}
	if withUser {
		columns = append(columns, cli.Column[api.Workflow]{Title: "User", Cell: func(w api.Workflow) string { return w.User }})
	}
	return cli.List[api.Workflow]{Things: "workflows", Columns: append(columns,
		cli.Column[api.Workflow]{Title: "Name", Cell: func(w api.Workflow) string { return w.Name }},
		cli.Column[api.Workflow]{Title: "Run", Cell: func(w api.Workflow) string { return cli.OrEmpty(w.RunID) }},
		cli.Column[api.Workflow]{Title: "Held", Cell: func(w api.Workflow) string { return w.ClaimsHeld }},
		cli.Column[api.Workflow]{Title: "Canceled", Cell: func(w api.Workflow) string { return cli.YesNo(w.IsCanceled) }},
		cli.Column[api.Workflow]{Title: "Archived", Cell: func(w api.Workflow) string { return cli.YesNo(w.IsArchived) }},
		cli.Column[api.Workflow]{Title: "Description", Cell: func(w api.Workflow) string { return cli.OrEmpty(w.Description) }},
		cli.Column[api.Workflow]{Title: "Project", Cell: func(w api.Workflow) string { return cli.OrEmpty(w.Project) }},
		cli.Column[api.Workflow]{Title: "Metadata", Cell: func(w api.Workflow) string { return string(w.Metadata) }},
		cli.Column[api.Workflow]{Title: "Timestamp", Cell: func(w api.Workflow) string { return cli.OrEmpty(w.Timestamp) }},
	)}
}

// workflowSortable are the fields that workflows can be sorted by.
var workflowSortable = []string{"name", "user", "description", "timestamp", "project", "run_id", "is_canceled", "is_archived", "submission_directory"}

// workflowFields are the lines that show one workflow.
func workflowFields(w *api.Workflow) []cli.Field {
	return []cli.Field{
		{"ID", cli.OrEmpty(w.ID)},
		{"Name", w.Name},
		{"User", w.User},
		{"Description", cli.OrEmpty(w.Description)},
		{"Run", cli.OrEmpty(w.RunID)},
		{"Claims are held", w.ClaimsHeld},
		{"Canceled", cli.YesNo(w.IsCanceled)},
		{"Archived", cli.YesNo(w.IsArchived)},
		{"Project", cli.OrEmpty(w.Project)},
		{"Metadata", string(w.Metadata)},
		{"Created", cli.OrEmpty(w.Timestamp)},
		{"Submission directory", cli.OrEmpty(w.SubmissionDirectory)},
		{"Holds failed jobs", cli.YesNo(w.UsePendingFailed)},
		{"Enforces runtimes", cli.YesNo(w.EnforceRuntime)},
		{"Iterations of dynamic jobs", dynamicJobsText(w)},
		{"Access groups", cli.Joined(w.AccessGroups)},
		{"Environment", cli.EnvironmentText(w.Env)},
		{"Policy", policyText(w.Policy)},
	}
}

func dynamicJobsText(w *api.Workflow) string {
	if w.DynamicJobs == nil || w.DynamicJobs.MaxIterations == nil {
		return ""
	}
	return strconv.FormatInt(*w.DynamicJobs.MaxIterations, 10)
}
