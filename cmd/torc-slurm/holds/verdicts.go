package holds

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func newVerdicts(a *cli.Factory) *cobra.Command {
	var filter client.VerdictFilter
	c := cli.OnWorkflow(a, &cobra.Command{
		Use:   "verdicts [WORKFLOW]",
		Short: "List what was decided about held jobs, and what became of them",
		Long: `List the verdicts about held jobs, also those that were proposed or rejected, by how
the jobs failed, and what became of the jobs. They are kept when the workflow is deleted.
The oldest are removed when there are more than 20,000, or more than 200 about failures
that are alike.`,
		Example: `  torc-slurm holds verdicts
  torc-slurm holds verdicts --fingerprint 3f9a52c01b7e
  torc-slurm -f json holds verdicts 12`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) (err error) {
			if filter.WorkflowID, err = cli.SomeWorkflow(args); err != nil {
				return err
			}
			list, err := client.Collect(c.Holds.Verdicts(ctx, filter))
			if err != nil {
				return err
			}
			slices.Reverse(list)
			return cli.ShowList(a, cli.List[hold.EarlierVerdict]{Things: "verdicts", Columns: []cli.Column[hold.EarlierVerdict]{
				{Title: "At", Cell: func(v hold.EarlierVerdict) string { return cli.LocalTime(v.AtMS) }},
				{Title: "Fingerprint", Cell: func(v hold.EarlierVerdict) string { return v.Fingerprint }},
				{Title: "Workflow", Cell: func(v hold.EarlierVerdict) string { return fmt.Sprint(v.WorkflowID) }},
				{Title: "Jobs", Cell: func(v hold.EarlierVerdict) string { return fmt.Sprint(v.Jobs) }},
				{Title: "Failure", Cell: func(v hold.EarlierVerdict) string { return v.Text() }},
				{Title: "Verdict", Cell: verdictText},
				{Title: "By", Cell: func(v hold.EarlierVerdict) string { return byDoor(v.Author, v.Door) }},
				{Title: "Outcome", Cell: outcomeOfVerdict},
				{Title: "Reason", Cell: func(v hold.EarlierVerdict) string { return v.Reason }},
			}}, list)
		}),
	})
	c.Flags().StringVar(&filter.Fingerprint, "fingerprint", "", "only about jobs that failed in this way")
	return c
}

// verdictText returns what was decided.
func verdictText(v hold.EarlierVerdict) string {
	text := string(v.Action)
	if with := v.With(); with != "" {
		text += " with " + with
	}
	if v.State != hold.Decided {
		text += ", " + string(v.State)
	}
	return text
}

func outcomeOfVerdict(v hold.EarlierVerdict) string {
	if v.State == hold.Rejected {
		return strings.TrimSuffix("rejected by "+v.DecidedBy+": "+v.Note, ": ")
	}
	return v.Outcome
}

// byDoor returns who decided, and how the decision came in.
func byDoor(who, door string) string {
	if door == "" {
		return who
	}
	return strings.TrimSpace(who + " (" + door + ")")
}
