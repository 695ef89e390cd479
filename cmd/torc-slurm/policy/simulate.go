package policy

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

func newSimulate(a *cli.Factory) *cobra.Command {
	file, since := "", ""
	var workflowID int64
	cmd := &cobra.Command{
		Use:   "simulate -f FILE (--workflow ID | --since DURATION)",
		Short: "Simulate retry policies on recorded attempts",
		Long: `Decide about recorded attempts with the policies of a file instead of those of their
jobs and workflows, and compare the decisions. Failure handlers, policies of queues,
the server's default and its limits stay the same. Nothing is changed.

The file has one policy or a list of policies, in the order in which they are tried.
Attempts after the point where the new policies stop are saved. If the new policies
would have retried where the recorded run did not, the outcome is unknown: these
attempts are only counted as "tried again". Other uncertainties are listed below the
tables.

Circuit breakers are the present ones of the workflows, and the node breaker: which
would have opened, the retries that they would have held, and the attempts that
started although they would have prevented it.`,
		Example: `  torc-slurm retry-policy simulate -f infra.yaml --workflow 12
  torc-slurm --format json retry-policy simulate -f infra.yaml --since 7d`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(cli.ExitInvalidSpec),
	}
	cli.AddFileFlag(a, cmd, &file, "the policy, or a list of them")
	cmd.Flags().Int64VarP(&workflowID, "workflow", "w", 0, "`ID` of the workflow whose attempts are simulated")
	cmd.Flags().StringVar(&since, "since", "", "simulate jobs with an attempt that ended in the last `DURATION`: 7d, 12h, P7D")
	cmd.MarkFlagsOneRequired("workflow", "since")
	cmd.MarkFlagsMutuallyExclusive("workflow", "since")
	complete := cli.CompleteWorkflows(a, 1)
	_ = cmd.RegisterFlagCompletionFunc("workflow", func(c *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return complete(c, nil, start)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request := api.RetrySimulationRequest{WorkflowID: &workflowID}
		if cmd.Flags().Changed("since") {
			span, err := cli.ParseSpan("since", since)
			if err != nil {
				return err
			}
			ms := a.Now().Add(-span).UnixMilli()
			request = api.RetrySimulationRequest{SinceMS: &ms}
		}
		if file == "" {
			return cli.UsageErrorf("give the file with the policies: -f FILE")
		}
		policies, warnings, err := spec.LoadPolicies(file, specfile.Options(a, specfile.Flags{}))
		warnOfPolicies(a, warnings)
		if err != nil {
			return err
		}
		request.Policies = policies
		return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
			s, err := c.RetryPolicies.Simulate(ctx, request)
			if err != nil {
				return err
			}
			return a.ShowRecord(s, func(w io.Writer) { writeSimulation(w, s, a.TableWidth()) })
		})(cmd, args)
	}
	return cmd
}

// writeSimulation writes the recorded and the simulated decisions side by side.
func writeSimulation(w io.Writer, s *retry.RetrySimulation, width int) {
	var rows [][]string
	add := func(what string, recorded, simulated int64) {
		rows = append(rows, []string{what, fmt.Sprint(recorded), fmt.Sprint(simulated), fmt.Sprintf("%+d", simulated-recorded)})
	}
	r, n := &s.Recorded, &s.Simulated
	add("Retries, counted", r.Retries.Counted, n.Retries.Counted)
	add("Retries, free", r.Retries.Free, n.Retries.Free)
	add("Attempts", r.Attempts, n.Attempts)
	rows = append(rows, []string{"Core-hours", fmt.Sprintf("%.1f", r.CoreHours), fmt.Sprintf("%.1f", n.CoreHours), fmt.Sprintf("%+.1f", n.CoreHours-r.CoreHours)})
	rows = append(rows, []string{"Delays before retries", spanText(r.DelaySeconds), spanText(n.DelaySeconds), signedSpan(n.DelaySeconds - r.DelaySeconds)})
	add("Completed", r.Outcomes.Completed, n.Outcomes.Completed)
	add("Failed", r.Outcomes.Failed, n.Outcomes.Failed)
	add("Held", r.Outcomes.Held, n.Outcomes.Held)
	add("Canceled", r.Outcomes.Canceled, n.Outcomes.Canceled)
	add("Open", r.Outcomes.Open, n.Outcomes.Open)
	add("Tried again, outcome unknown", r.Outcomes.TriedAgain, n.Outcomes.TriedAgain)
	fmt.Fprintf(w, "Sequences of attempts: %d\n", s.Sequences)
	cli.WriteTable(w, []string{"", "Recorded", "Simulated", "Difference"}, rows, width)
	if len(s.Rules) > 0 {
		rows = nil
		for _, g := range s.Rules {
			rows = append(rows, []string{g.Rule, grantsText(g.Recorded), grantsText(g.Simulated)})
		}
		cli.WriteTable(w, []string{"Retries granted by", "Recorded", "Simulated"}, rows, width)
	}
	if len(s.Breakers) > 0 {
		rows = nil
		for _, b := range s.Breakers {
			rows = append(rows, []string{workflowOrAll(b.WorkflowID), b.Reason, string(b.Action), cli.LocalTime(b.SinceMS), cli.LocalTime(b.UntilMS), fmt.Sprint(b.Held), fmt.Sprint(b.Kept)})
		}
		cli.WriteTable(w, []string{"Workflow", "Breaker that would have opened", "Action", "Since", "Until", "Held", "Kept from starting"}, rows, width)
		if more := s.BreakersOpened - int64(len(s.Breakers)); more > 0 {
			fmt.Fprintf(w, "And %s.\n", workflow.CountOf(more, "more time", "more times"))
		}
	}
	for _, note := range s.Notes {
		fmt.Fprintf(w, "Note: %s\n", cli.Printable(note))
	}
}

// spanText formats a time in seconds.
func spanText(s float64) string { return workflow.FormatDuration(cli.Seconds(s)) }

// signedSpan formats a difference of times in seconds.
func signedSpan(s float64) string {
	if s < 0 {
		return spanText(s)
	}
	return "+" + spanText(s)
}

// grantsText formats retries as "3" or, with free ones, "3 + 2 free".
func grantsText(n workflow.RuleCount) string {
	if n.Free == 0 {
		return fmt.Sprint(n.Counted)
	}
	return fmt.Sprintf("%d + %d free", n.Counted, n.Free)
}
