package holds

import (
	"context"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func newSuggestPolicy(a *cli.Factory) *cobra.Command {
	minJobs := int64(3)
	c := cli.OnWorkflow(a, &cobra.Command{
		Use:   "suggest-policy [WORKFLOW]",
		Short: "Write a retry policy that decides as was decided before",
		Long: `Write a retry policy to standard output that decides about failures as the verdicts about
held jobs did, of a workflow or of all. Failures are retried if at least four fifths of
the retries succeeded, and fail if at most one fifth did or if they were always given up.
Others have no rule: a person or an agent decides again. The comments say what each rule
follows from.

"retry-policy simulate" shows what the policy would have changed, and "retry-policy create"
stores it.`,
		Example: `  torc-slurm holds suggest-policy > learned.yaml
  torc-slurm retry-policy simulate -f learned.yaml --since 30d
  torc-slurm retry-policy create -f learned.yaml`,
		Annotations: cli.ServerExits("1 the verdicts give no rule"),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
			id, err := cli.SomeWorkflow(args)
			if err != nil {
				return err
			}
			if minJobs < 1 {
				return cli.UsageErrorf("--min-jobs %d: it must be at least 1", minJobs)
			}
			s, err := c.Holds.SuggestPolicy(ctx, id, minJobs)
			if err != nil {
				return err
			}
			var text []byte
			if s.Policy != nil {
				if text, err = yaml.MarshalWithOptions(s.Policy, yaml.UseJSONMarshaler(), yaml.IndentSequence(true)); err != nil {
					return fmt.Errorf("write the policy: %w", err)
				}
			}
			if err := a.ShowRecord(s, func(w io.Writer) { writeSuggestion(w, s, text) }); err != nil {
				return err
			}
			if s.Policy == nil {
				return cli.Silent(cli.ExitFailed)
			}
			return nil
		}),
	})
	c.Flags().Int64Var(&minJobs, "min-jobs", minJobs, "so many jobs must have failed alike for a rule")
	return c
}

// writeSuggestion writes the policy, and what its rules follow from as comments.
func writeSuggestion(w io.Writer, s *hold.SuggestedPolicy, policy []byte) {
	if len(s.Rules) == 0 {
		fmt.Fprintln(w, "# Nothing was decided about held jobs yet.")
	}
	for _, r := range s.Rules {
		id := r.Fingerprint
		if r.Rule != nil {
			id = r.Rule.ID
		}
		fmt.Fprintf(w, "# %s: %s\n", id, cli.Printable(r.Because))
	}
	_, _ = w.Write(policy) // the caller sees errors of the stream
}
