package policy

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newDefault(a *cli.Factory) *cobra.Command {
	builtIn := false
	cmd := &cobra.Command{
		Use:   "default [NAME]",
		Short: "Show or set the default retry policy",
		Long: `Set the stored retry policy that decides when no rule of a workflow covers a failure;
--built-in restores the built-in policy. Without a name, show the default.`,
		Example: `  torc-slurm retry-policy default infra
  torc-slurm retry-policy default --built-in`,
		Args:        cobra.MaximumNArgs(1),
		Annotations: cli.ServerExits(),
	}
	cmd.Flags().BoolVar(&builtIn, "built-in", false, "restore the built-in policy")
	cmd.RunE = a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		if builtIn && len(args) > 0 {
			return cli.UsageErrorf("give a name or --built-in, not both")
		}
		s, err := c.RetryPolicies.Settings(ctx)
		if err != nil {
			return err
		}
		if builtIn || len(args) > 0 {
			s.DefaultPolicy = cli.FirstArg(args)
			if err := c.RetryPolicies.SetSettings(ctx, s); err != nil {
				return err
			}
		}
		if s.DefaultPolicy == "" {
			return a.ShowMessage(s, "The default is the built-in policy")
		}
		return a.ShowMessage(s, "The default is the retry policy %s", s.DefaultPolicy)
	})
	return cmd
}

// settingsFlags change the server's settings for retries.
type settingsFlags struct {
	file, limit, enabled string
	history              bool
	nodes                nodeBreakerFlags
}

// nodeBreakerFlags change the node breaker of all workflows.
type nodeBreakerFlags struct {
	enabled, within, duration string
	threshold                 int64 // 0: as it is
}

func newSettings(a *cli.Factory) *cobra.Command {
	var flags settingsFlags
	cmd := &cobra.Command{
		Use:   "settings",
		Short: "Show or change the retry settings of all workflows",
		Long: `Show or change the retry settings of all workflows. Changes apply from the next
decision on. --global-max-retries limits the counted retries of each job, whatever
its workflow allows; 0 stops all retries at once. The node breaker makes all
workflows avoid a node on which a number of runners were lost, or processes could not
be started, within a time; flags that are not given keep their values.`,
		Example: `  torc-slurm retry-policy settings --global-max-retries 0
  torc-slurm retry-policy settings --global-max-retries none --enabled true
  torc-slurm retry-policy settings --node-breaker-threshold 3 --node-breaker-within 10m --node-breaker-for 4h
  torc-slurm retry-policy settings --node-breaker false
  torc-slurm retry-policy settings --history`,
		Args:        cobra.NoArgs,
		Annotations: cli.WithCSV(cli.ServerExits()),
	}
	cli.AddFileFlag(a, cmd, &flags.file, "all settings")
	cmd.Flags().StringVar(&flags.limit, "global-max-retries", "", "at most `N` counted retries of a job in a run; none removes the limit")
	cmd.Flags().StringVar(&flags.enabled, "enabled", "", "true or false: whether retry policies apply, besides failure handlers and the built-in policy")
	cmd.Flags().BoolVar(&flags.history, "history", false, "who changed them, oldest first")
	cli.CompleteWords(cmd, "enabled", "true", "false")
	flags.nodes.add(cmd)
	for _, change := range []string{"file", "global-max-retries", "enabled", "node-breaker", "node-breaker-threshold", "node-breaker-within", "node-breaker-for"} {
		cmd.MarkFlagsMutuallyExclusive("history", change)
	}
	check := func() error {
		switch {
		case a.Format == cli.FormatCSV && !flags.history:
			return cli.UsageErrorf("csv is for lists: add --history")
		case cmd.Flags().Changed("node-breaker-threshold") && flags.nodes.threshold < 1:
			return cli.UsageErrorf("--node-breaker-threshold %d: the minimum is 1; --node-breaker false disables it", flags.nodes.threshold)
		}
		return nil
	}
	cmd.RunE = cli.Checked(check, a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
		if flags.history {
			return cli.ShowAll(a, policyChangeColumns, c.RetryPolicies.SettingsChanges(ctx))
		}
		s, err := changeSettings(ctx, a, c, &flags)
		if err != nil {
			return err
		}
		return a.ShowRecord(s, func(w io.Writer) { writeSettings(w, s) })
	}))
	return cmd
}

// changeSettings applies the flags and returns the settings.
func changeSettings(ctx context.Context, a *cli.Factory, c *cli.Connection, flags *settingsFlags) (*workflow.RetrySettings, error) {
	s, err := c.RetryPolicies.Settings(ctx)
	if err != nil || *flags == (settingsFlags{}) {
		return s, err
	}
	if flags.file != "" {
		if s, err = spec.LoadRetrySettings(flags.file, specfile.Options(a, specfile.Flags{})); err != nil {
			return nil, err
		}
	}
	switch n, err := strconv.ParseInt(flags.limit, 10, 64); {
	case flags.limit == "none":
		s.GlobalMaxRetries = nil
	case flags.limit != "" && (err != nil || n < 0):
		return nil, cli.UsageErrorf("--global-max-retries %q is neither a number nor none", flags.limit)
	case flags.limit != "":
		s.GlobalMaxRetries = &n
	}
	if flags.enabled != "" {
		enabled, err := strconv.ParseBool(flags.enabled)
		if err != nil {
			return nil, cli.UsageErrorf("--enabled %q is neither true nor false", flags.enabled)
		}
		s.Enabled = &enabled
	}
	if s.NodeBreaker, err = flags.nodes.change(s.NodeBreaker); err != nil {
		return nil, err
	}
	return s, c.RetryPolicies.SetSettings(ctx, s)
}

func (n *nodeBreakerFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&n.enabled, "node-breaker", "", "true or false: whether nodes with repeated failures are avoided")
	f.Int64Var(&n.threshold, "node-breaker-threshold", 0, "after `N` lost runners or failed starts on a node")
	f.StringVar(&n.within, "node-breaker-within", "", "that happened within this `DURATION`: 30m, PT1H")
	f.StringVar(&n.duration, "node-breaker-for", "", "for this `DURATION`: 1h, PT4H")
	cli.CompleteWords(cmd, "node-breaker", "true", "false")
}

// change returns the breaker with the flags applied.
func (n *nodeBreakerFlags) change(b *workflow.NodeBreaker) (*workflow.NodeBreaker, error) {
	if *n == (nodeBreakerFlags{}) {
		return b, nil
	}
	changed := workflow.NodeBreaker{}
	if b != nil {
		changed = *b
	}
	if n.enabled != "" {
		enabled, err := strconv.ParseBool(n.enabled)
		if err != nil {
			return nil, cli.UsageErrorf("--node-breaker %q is neither true nor false", n.enabled)
		}
		changed.Enabled = &enabled
	}
	changed.Threshold = cli.OrDefault(n.threshold, changed.Threshold)
	changed.Within, changed.For = cli.OrDefault(n.within, changed.Within), cli.OrDefault(n.duration, changed.For)
	return &changed, nil
}

func writeSettings(w io.Writer, s *workflow.RetrySettings) {
	limit, policy, backoff := "none of the server's", "built in", "none"
	if s.GlobalMaxRetries != nil {
		limit = fmt.Sprint(*s.GlobalMaxRetries)
	}
	if s.DefaultPolicy != "" {
		policy = s.DefaultPolicy
	}
	if b := s.DefaultBackoff; b != nil {
		backoff = fmt.Sprintf("initial %s, max %s", b.Initial, b.Max)
	}
	cli.WriteFields(w, cli.Field{"Enabled", fmt.Sprint(s.PoliciesEnabled())}, cli.Field{"Global max retries", limit},
		cli.Field{"Default policy", policy}, cli.Field{"Default backoff", backoff}, cli.Field{"Node breaker", nodeBreakerText(s.NodeBreaker)})
}

// nodeBreakerText describes the node breaker, with its defaults.
func nodeBreakerText(n *workflow.NodeBreaker) string {
	b, on := n.Breaker()
	if !on {
		return "off"
	}
	return fmt.Sprintf("after %s within %s, for %s", workflow.CountOf(b.Threshold, "failure", "failures"),
		workflow.FormatDuration(b.Window()), workflow.FormatDuration(b.Duration()))
}
