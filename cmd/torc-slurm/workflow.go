package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
)

// newWorkflowsCommand groups the commands about workflows. Lifecycle commands
// that older versions of torc had here are hidden.
func newWorkflowsCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "workflows", "Create, list, change and initialize workflows",
		newWorkflowsNewCommand(a),
		newWorkflowsListCommand(a),
		newWorkflowsGetCommand(a),
		newWorkflowsUpdateCommand(a),
		newWorkflowsArchiveCommand(a),
		newWorkflowsResumeCommand(a),
		newWorkflowsResetStatusCommand(a, "reset-status [WORKFLOW]"),
		newWorkflowsInitCommand(a, false, "init [WORKFLOW]"),
		newWorkflowsInitCommand(a, true, "reinit [WORKFLOW]"),
		newWorkflowsCheckResourcesCommand(a, "check-resources [WORKFLOW]"),
		newWorkflowsCorrectResourcesCommand(a),
		newWorkflowsExecutionPlanCommand(a),
		newWorkflowsListActionsCommand(a),
		newWorkflowsUpdateActionCommand(a),
		newWorkflowsDeleteActionCommand(a),
		newWorkflowsIsCompleteCommand(a),
		newWorkflowsSyncStatusCommand(a), newWorkflowsDiagnoseCommand(a), newWorkflowsReconcileCommand(a),
		newWorkflowsExportCommand(a),
		newWorkflowsImportCommand(a),
		oldName(newWorkflowsInitCommand(a, false, "initialize [WORKFLOW]")),
		oldName(newWorkflowsInitCommand(a, true, "reinitialize [WORKFLOW]")),
		oldName(newCreateCommand(a)),
		oldName(newRunCommand(a)),
		oldName(newStatusCommand(a)),
		oldName(newCancelCommand(a)),
		oldName(newDeleteCommand(a)),
	)
}

// newReportsCommand has what torc 0.12 called reports.
func newReportsCommand(a *app) *cobra.Command {
	summary := newStatusCommand(a)
	summary.Use = "summary [WORKFLOW]"
	return oldName(newGroup(a, "", "reports", "Reports under their old names",
		oldName(summary),
		oldName(newResultsReportCommand(a)),
		oldName(newWorkflowsCheckResourcesCommand(a, "check-resource-utilization [WORKFLOW]")),
	))
}

// oldName hides a command that is there for scripts written for older versions.
func oldName(c *cobra.Command) *cobra.Command {
	c.Hidden, c.GroupID = true, ""
	return c
}

// workflowColumns are those of a list of workflows.
func workflowColumns(withUser bool) list[api.Workflow] {
	columns := []column[api.Workflow]{{title: "ID", cell: func(w api.Workflow) string { return orEmpty(w.ID) }}}
	if withUser {
		columns = append(columns, column[api.Workflow]{title: "User", cell: func(w api.Workflow) string { return w.User }})
	}
	return list[api.Workflow]{things: "workflows", columns: append(columns,
		column[api.Workflow]{title: "Name", cell: func(w api.Workflow) string { return w.Name }},
		column[api.Workflow]{title: "Run", cell: func(w api.Workflow) string { return orEmpty(w.RunID) }},
		column[api.Workflow]{title: "Canceled", cell: func(w api.Workflow) string { return yesNo(w.IsCanceled) }},
		column[api.Workflow]{title: "Archived", cell: func(w api.Workflow) string { return yesNo(w.IsArchived) }},
		column[api.Workflow]{title: "Description", cell: func(w api.Workflow) string { return orEmpty(w.Description) }},
		column[api.Workflow]{title: "Project", cell: func(w api.Workflow) string { return orEmpty(w.Project) }},
		column[api.Workflow]{title: "Metadata", cell: func(w api.Workflow) string { return string(w.Metadata) }},
		column[api.Workflow]{title: "Timestamp", cell: func(w api.Workflow) string { return orEmpty(w.Timestamp) }},
	)}
}

// workflowSortable are the fields that workflows can be sorted by.
var workflowSortable = []string{"name", "user", "description", "timestamp", "project", "run_id", "is_canceled", "is_archived", "submission_directory"}

// yesNo writes an optional flag; absent is no.
func yesNo(flag *bool) string {
	if flag != nil && *flag {
		return "yes"
	}
	return "no"
}

// workflowFields are the lines that show one workflow.
func workflowFields(w *api.Workflow) []field {
	return []field{
		{"ID", orEmpty(w.ID)},
		{"Name", w.Name},
		{"User", w.User},
		{"Description", orEmpty(w.Description)},
		{"Run", orEmpty(w.RunID)},
		{"Canceled", yesNo(w.IsCanceled)},
		{"Archived", yesNo(w.IsArchived)},
		{"Project", orEmpty(w.Project)},
		{"Metadata", string(w.Metadata)},
		{"Created", orEmpty(w.Timestamp)},
		{"Submission directory", orEmpty(w.SubmissionDirectory)},
		{"Holds failed jobs", yesNo(w.UsePendingFailed)},
		{"Enforces runtimes", yesNo(w.EnforceRuntime)},
		{"Iterations of dynamic jobs", dynamicJobsText(w)},
		{"Access groups", joined(w.AccessGroups)},
		{"Environment", environmentText(w.Env)},
		{"Policy", policyText(w.Policy)},
	}
}

func dynamicJobsText(w *api.Workflow) string {
	if w.DynamicJobs == nil || w.DynamicJobs.MaxIterations == nil {
		return ""
	}
	return strconv.FormatInt(*w.DynamicJobs.MaxIterations, 10)
}
