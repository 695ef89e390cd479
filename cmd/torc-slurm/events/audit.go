package events

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// NewAudit returns the command that lists who changed what.
func NewAudit(a *cli.Factory) *cobra.Command {
	f := audit.Filter{Limit: 100}
	since, door := "", ""
	var doors []string
	for _, d := range audit.Doors() {
		doors = append(doors, string(d))
	}
	c := &cobra.Command{
		Use:   "audit [WORKFLOW]",
		Short: "List who changed what, when and by which door",
		Long: `List the latest changes of a workflow, or of all workflows and retry policies: who made
them, when, and how they came in:

  cli     the command line
  api     another client of the HTTP API
  mcp     an AI agent that a user works with, in the name of that user
  agent   an AI agent that torc-slurm started
  job     a running job
  rule    nobody: a rule, a circuit breaker or a deadline; only with --rules

Clients name their door themselves. Listed are changes of workflows, jobs, requirements,
schedulers, actions, holds, proposals and policies, not of files, user data and results.
What users changed is kept for 180 days after their workflow is deleted.`,
		Example: `  torc-slurm audit
  torc-slurm audit 12 --rules
  torc-slurm audit --door mcp --since 7d
  torc-slurm -f json audit --user ann --limit 1000`,
		GroupID:           cli.GroupAnalysis,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
	}
	c.Flags().StringVar(&since, "since", "", "only those of the last `DURATION`: 7d, 12h, P7D")
	c.Flags().StringVar(&f.User, "user", "", "only those of this user")
	c.Flags().StringVar(&door, "door", "", "only those that came in by this door: "+strings.Join(doors, ", "))
	c.Flags().BoolVar(&f.Rules, "rules", false, "also what rules, circuit breakers and deadlines did")
	c.Flags().Int64VarP(&f.Limit, "limit", "l", f.Limit, "the latest so many, at most 10000")
	cli.CompleteWords(c, "door", doors...)
	c.RunE = cli.Checked(func() error {
		if f.Door = audit.Door(door); door != "" && !slices.Contains(audit.Doors(), f.Door) {
			return cli.UsageErrorf("unknown door %q: use %s", door, strings.Join(doors, ", "))
		}
		if f.Limit < 1 || f.Limit > 10_000 {
			return cli.UsageErrorf("--limit %d is not between 1 and 10000", f.Limit)
		}
		if since == "" {
			return nil
		}
		span, err := cli.ParseSpan("since", since)
		f.SinceMS = a.Now().Add(-span).UnixMilli()
		return err
	}, a.ServerCommand(func(ctx context.Context, conn *cli.Connection, args []string) (err error) {
		if f.WorkflowID, err = cli.SomeWorkflow(args); err != nil {
			return err
		}
		entries, err := conn.Events.Audit(ctx, f)
		if err != nil {
			return err
		}
		slices.Reverse(entries)
		return cli.ShowList(a, auditColumns, entries)
	}))
	return c
}

var auditColumns = cli.List[audit.Entry]{Things: "changes", Columns: []cli.Column[audit.Entry]{
	{Title: "Time", Cell: func(e audit.Entry) string { return cli.LocalTime(e.AtMS) }},
	{Title: "Who", Cell: func(e audit.Entry) string { return e.User }},
	{Title: "Door", Cell: func(e audit.Entry) string { return string(e.Door) }},
	{Title: "Workflow", Cell: func(e audit.Entry) string {
		if e.WorkflowID == 0 {
			return ""
		}
		return fmt.Sprint(e.WorkflowID)
	}},
	{Title: "Change", Cell: func(e audit.Entry) string { return strings.ReplaceAll(e.Action, "_", " ") }},
	{Title: "Details", Cell: func(e audit.Entry) string { return e.Text }},
}}
