// Package holds has the commands about held jobs and their verdicts.
package holds

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// New returns the group of commands about held jobs.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "holds", "List held jobs and decide about them",
		newList(a), newResolve(a), newReviewCommand(a), newVerdicts(a), newSuggestPolicy(a))
}

func newList(a *cli.Factory) *cobra.Command {
	return cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List held jobs, grouped by how they failed",
		Long: `List the held jobs (pending_failed) of a workflow, or of all. Jobs are in one group
if they have the same cause, return code and category, and the last lines of their
stderr differ only in numbers, times, paths and addresses. Below each group is what
became of jobs that failed alike and were decided before, also in deleted workflows;
"holds verdicts" lists all decisions.`,
		Example: `  torc-slurm holds list
  torc-slurm holds list 12
  torc-slurm -f json holds list 12 | jq '.items[0].job_ids'`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
			id, err := cli.SomeWorkflow(args)
			if err != nil {
				return err
			}
			groups, err := c.Holds.List(ctx, id)
			if err != nil {
				return err
			}
			return showHolds(a, groups)
		}),
	})
}

// showHolds writes the groups, and below the table the last lines of their stderr.
func showHolds(a *cli.Factory, groups []hold.HoldGroup) error {
	err := cli.ShowList(a, cli.List[hold.HoldGroup]{Things: "groups of held jobs", Columns: []cli.Column[hold.HoldGroup]{
		{Title: "Workflow", Cell: func(g hold.HoldGroup) string { return fmt.Sprint(g.WorkflowID) }},
		{Title: "Fingerprint", Cell: func(g hold.HoldGroup) string { return g.Fingerprint }},
		{Title: "Jobs", Cell: func(g hold.HoldGroup) string { return fmt.Sprint(g.Count) }},
		{Title: "Example", Cell: func(g hold.HoldGroup) string { return fmt.Sprintf("%s (%d)", g.ExampleName, g.ExampleID) }},
		{Title: "Failure", Cell: failureOf},
		{Title: "Held since", Cell: func(g hold.HoldGroup) string { return cli.LocalTime(g.SinceMS) }},
		{Title: "Deadline", Cell: deadlineOf},
		{Title: "Held because", Cell: func(g hold.HoldGroup) string { return g.Reason }},
		{Title: "Last lines", Only: cli.FormatCSV, Cell: func(g hold.HoldGroup) string { return strings.Join(g.LastLines, "\n") }},
		{Title: "Before", Only: cli.FormatCSV, Cell: experienceOf},
	}}, groups)
	if err != nil || a.Format != cli.FormatTable {
		return err
	}
	for _, g := range groups {
		writeLastLines(a.Stdout, g)
		writeEarlier(a.Stdout, g, a.Now().UnixMilli())
	}
	return nil
}

func writeLastLines(w io.Writer, g hold.HoldGroup) {
	if len(g.LastLines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s, last lines of the stderr of %s:\n", g.Fingerprint, cli.Printable(g.ExampleName))
	for _, line := range g.LastLines {
		fmt.Fprintf(w, "  %s\n", cli.Printable(line))
	}
}

// writeEarlier writes what became of jobs that failed alike, and the latest verdict about
// them.
func writeEarlier(w io.Writer, g hold.HoldGroup, nowMS int64) {
	if len(g.Earlier) == 0 {
		return
	}
	v := &g.Earlier[0]
	fmt.Fprintf(w, "\n%s before: ", g.Fingerprint)
	if e := experienceOf(g); e != "" {
		fmt.Fprintf(w, "%s; ", e)
	}
	text := fmt.Sprintf("%s by %s %s ago in workflow %d: %s", verdictText(*v), byDoor(v.Author, v.Door), workflow.AgoMS(v.AtMS, nowMS), v.WorkflowID, v.Reason)
	if o := outcomeOfVerdict(*v); o != "" {
		text += " (" + o + ")"
	}
	fmt.Fprintf(w, "latest: %s\n", cli.Printable(text))
}

func failureOf(g hold.HoldGroup) string {
	text := workflow.Cause{Kind: g.Cause, Text: g.CauseText}.Summary()
	if g.Category != "" {
		text = g.Category + ": " + text
	}
	return text
}

// experienceOf returns what became of jobs that failed like those of a group.
func experienceOf(g hold.HoldGroup) string {
	if g.Experience == nil {
		return ""
	}
	return g.Experience.Text()
}

// deadlineOf returns the first deadline of a group, with its decision.
func deadlineOf(g hold.HoldGroup) string {
	if g.DeadlineMS == 0 {
		return ""
	}
	return cli.LocalTime(g.DeadlineMS) + ", " + string(g.OnTimeout)
}
