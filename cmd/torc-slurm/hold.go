package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func newHoldsCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "holds", "Look at jobs that wait for a decision, and decide",
		newHoldsListCommand(a), newHoldsResolveCommand(a))
}

func newHoldsListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List held jobs, grouped by how they failed",
		Long: `List the jobs that are held (pending_failed) of a workflow, or of all. Jobs are in
one group if their cause, return code and category are the same, and if the last
lines of their stderr differ in nothing but numbers, times, paths and addresses.`,
		Example: `  torc-slurm holds list
  torc-slurm holds list 12
  torc-slurm -f json holds list 12 | jq '.items[0].job_ids'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeWorkflows(1),
		Annotations:       withCSV(serverExits()),
		RunE: a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
			id, err := someWorkflow(args)
			if err != nil {
				return err
			}
			groups, err := c.Holds(ctx, id)
			if err != nil {
				return err
			}
			return a.showHolds(groups)
		}),
	}
}

// showHolds writes the groups, and below their table what their jobs said last.
func (a *app) showHolds(groups []workflow.HoldGroup) error {
	err := showList(a, list[workflow.HoldGroup]{things: "groups of held jobs", columns: []column[workflow.HoldGroup]{
		{title: "Workflow", cell: func(g workflow.HoldGroup) string { return fmt.Sprint(g.WorkflowID) }},
		{title: "Fingerprint", cell: func(g workflow.HoldGroup) string { return g.Fingerprint }},
		{title: "Jobs", cell: func(g workflow.HoldGroup) string { return fmt.Sprint(g.Count) }},
		{title: "Example", cell: func(g workflow.HoldGroup) string { return fmt.Sprintf("%s (%d)", g.ExampleName, g.ExampleID) }},
		{title: "Failure", cell: failureOf},
		{title: "Held since", cell: func(g workflow.HoldGroup) string { return heldSince(g.SinceMS) }},
		{title: "Deadline", cell: deadlineOf},
		{title: "Held because", cell: func(g workflow.HoldGroup) string { return g.Reason }},
		{title: "Last lines", only: formatCSV, cell: func(g workflow.HoldGroup) string { return strings.Join(g.LastLines, "\n") }},
	}}, groups)
	if err != nil || a.format != formatTable {
		return err
	}
	for _, g := range groups {
		writeLastLines(a.Stdout, g)
	}
	return nil
}

func writeLastLines(w io.Writer, g workflow.HoldGroup) {
	if len(g.LastLines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s, stderr of %s ends:\n", g.Fingerprint, printable(g.ExampleName))
	for _, line := range g.LastLines {
		fmt.Fprintf(w, "  %s\n", printable(line))
	}
}

func failureOf(g workflow.HoldGroup) string {
	text := workflow.Cause{Kind: g.Cause, Text: g.CauseText}.Summary()
	if g.Category != "" {
		text = g.Category + ": " + text
	}
	return text
}

// deadlineOf is the first deadline of a group, with what it decides.
func deadlineOf(g workflow.HoldGroup) string {
	if g.DeadlineMS == 0 {
		return ""
	}
	return heldSince(g.DeadlineMS) + ", " + string(g.OnTimeout)
}

func heldSince(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Format(time.DateTime)
}
