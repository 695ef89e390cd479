package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// execute runs the command that the arguments name.
func execute(a *cli.Factory) error {
	if err := checkName(a); err != nil {
		return err
	}
	root := newRoot(a)
	wrapCommand(a, root)
	root.SetArgs(arguments(a))
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(a.Interrupts.Context())
	switch {
	case err == nil:
		return nil
	case !a.Running:
		var exit *cli.ExitError
		if !errors.As(err, &exit) && workflow.CodeOf(err) == workflow.CodeInternal {
			err = &cli.ExitError{Status: cli.ExitUsage, Err: err}
		}
	case errors.Is(context.Cause(a.Interrupts.Context()), cli.ErrInterrupted):
		return &cli.ExitError{Status: cli.ExitInterrupted, Err: cli.ErrInterrupted}
	}
	return err
}

// wrapCommand notes when a command begins to run; cobra does not tell its own errors
// from those of commands. A wrong number of arguments is told with the usage.
func wrapCommand(a *cli.Factory, c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || cli.ExitStatus(err) == cli.ExitUsage {
				return err
			}
			return cli.UsageErrorf("%v; usage: %s", err, c.UseLine())
		}
	}
	if inner := c.RunE; inner != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.Running = true
			return inner(c, args)
		}
	}
	for _, sub := range c.Commands() {
		wrapCommand(a, sub)
	}
}
