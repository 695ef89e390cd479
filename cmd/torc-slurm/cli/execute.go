package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// NewRoot returns the root command, without subcommands: it has the global flags and the
// groups of the help, and reads the configuration before a subcommand runs.
func NewRoot(a *Factory) *cobra.Command {
	root := &cobra.Command{
		Use:               "torc-slurm",
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.Configure(c) },
		Args:              cobra.ArbitraryArgs,
		RunE:              a.RunGroup,
		Annotations:       Exits(),
		// A short flag before the subcommand is the global one, after it the
		// subcommand's own.
		TraverseChildren: true,
	}
	root.Flags().SortFlags = false
	addGlobalFlags(root, &a.Flags)
	for _, g := range []cobra.Group{
		{ID: GroupLifecycle, Title: "Workflow lifecycle:"},
		{ID: GroupManagement, Title: "Workflow management:"},
		{ID: GroupCompute, Title: "Scheduler and compute:"},
		{ID: GroupAnalysis, Title: "Analysis and debugging:"},
		{ID: GroupServer, Title: "Server administration:"},
		{ID: GroupUtility, Title: "Configuration and utilities:"},
	} {
		root.AddGroup(&g)
	}
	root.SetHelpCommandGroupID(GroupUtility)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("torc-slurm {{.Version}}\n")
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(flagError)
	root.SuggestionsMinimumDistance = 2
	return root
}

// Execute runs the subcommand of root that the arguments name. It returns the
// subcommand's error, an error with ExitUsage if the arguments are wrong, or one with
// ExitInterrupted if the user interrupted the subcommand.
func Execute(a *Factory, root *cobra.Command, args []string) error {
	wrapCommand(a, root)
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(a.Interrupts.Context())
	switch {
	case err == nil:
		return nil
	case !a.running:
		var exit *ExitError
		if !errors.As(err, &exit) && workflow.CodeOf(err) == workflow.CodeInternal {
			err = &ExitError{Status: ExitUsage, Err: err}
		}
	case errors.Is(context.Cause(a.Interrupts.Context()), ErrInterrupted):
		return &ExitError{Status: ExitInterrupted, Err: ErrInterrupted}
	}
	return err
}

// Finish closes the connection to the server, prints err, and returns the exit status of
// the program.
func (a *Factory) Finish(err error) int {
	if closeErr := a.close(); err == nil {
		err = closeErr
	}
	a.reportError(err)
	return ExitStatus(err)
}

// wrapCommand makes c and its subcommands set a.running when they begin to run, because
// cobra does not distinguish its own errors from those of commands. A wrong number of
// arguments is reported with the usage.
func wrapCommand(a *Factory, c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || ExitStatus(err) == ExitUsage {
				return err
			}
			return UsageErrorf("%v; usage: %s", err, c.UseLine())
		}
	}
	if inner := c.RunE; inner != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.running = true
			return inner(c, args)
		}
	}
	for _, sub := range c.Commands() {
		wrapCommand(a, sub)
	}
}
