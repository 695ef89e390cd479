package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/client"
)

// listFlags say which part of a list is wanted, and in which order.
type listFlags struct {
	page     client.Page
	sortable []string
}

// listShorthands are the letters of these flags; torc's differ from noun to
// noun.
type listShorthands struct{ offset, sortBy, reverse string }

// add gives a command that shows a list the flags. Without sortable fields there
// is one order.
func (l *listFlags) add(c *cobra.Command, s listShorthands, sortable ...string) {
	c.Annotations = withCSV(c.Annotations)
	f := c.Flags()
	f.Int64VarP(&l.page.Limit, "limit", "l", 0, "show at most so many (0: all)")
	f.Int64VarP(&l.page.Offset, "offset", s.offset, 0, "leave out so many at the beginning")
	if len(sortable) == 0 {
		return
	}
	l.sortable = append([]string{"id"}, sortable...)
	f.StringVarP(&l.page.SortBy, "sort-by", s.sortBy, "", "sort by this field (default id)")
	f.BoolVarP(&l.page.Reverse, "reverse-sort", s.reverse, false, "in descending order")
	completeWords(c, "sort-by", l.sortable...)
}

// check refuses what the server would refuse or ignore.
func (l *listFlags) check() error {
	switch {
	case l.page.Limit < 0:
		return usageErrorf("--limit %d: it cannot be negative", l.page.Limit)
	case l.page.Offset < 0:
		return usageErrorf("--offset %d: it cannot be negative", l.page.Offset)
	case l.page.SortBy != "" && !slices.Contains(l.sortable, l.page.SortBy):
		return usageErrorf("--sort-by %s: the fields are %s", l.page.SortBy, strings.Join(l.sortable, ", "))
	}
	return nil
}

// completeWords offers words as values of a flag.
func completeWords(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// freeLetterS frees the letter of --standalone, which all commands have, for a
// flag of this one; --standalone keeps its name, and its letter before the
// command.
func freeLetterS(a *app, c *cobra.Command) {
	c.Flags().BoolVar(&a.flags.standalone, "standalone", a.flags.standalone, "")
	_ = c.Flags().MarkHidden("standalone") // it has just been made
}

// freeLetterF does the same with the letter of --format.
func freeLetterF(a *app, c *cobra.Command) {
	c.Flags().StringVar(&a.flags.format, "format", a.flags.format, "")
	_ = c.Flags().MarkHidden("format") // it has just been made
}

// serverCommand makes the body of a command that talks to the server.
func (a *app) serverCommand(body func(ctx context.Context, c *connection, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.connect(cmd.Context())
		if err != nil {
			return err
		}
		return body(cmd.Context(), c, args)
	}
}

// workflowCommand is serverCommand for a command that changes the workflow of
// its first argument, which may be left out.
func (a *app) workflowCommand(body func(ctx context.Context, c *connection, workflowID int64) error) func(*cobra.Command, []string) error {
	return a.aboutWorkflow(a.workflowID, body)
}

// workflowView is workflowCommand for a command that only shows something.
func (a *app) workflowView(body func(ctx context.Context, c *connection, workflowID int64) error) func(*cobra.Command, []string) error {
	return a.aboutWorkflow(a.latestWorkflowID, body)
}

func (a *app) aboutWorkflow(
	find func(context.Context, *connection, string) (int64, error), body func(context.Context, *connection, int64) error,
) func(*cobra.Command, []string) error {
	return a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
		id, err := find(ctx, c, firstArg(args))
		if err != nil {
			return err
		}
		return body(ctx, c, id)
	})
}

// idCommand is serverCommand for a command whose only argument is the id of a
// thing.
func (a *app) idCommand(thing string, body func(ctx context.Context, c *connection, id int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := parseID(thing, args[0])
		if err != nil {
			return err
		}
		return a.serverCommand(func(ctx context.Context, c *connection, _ []string) error { return body(ctx, c, id) })(cmd, args)
	}
}

// jobCommand is serverCommand for a command whose arguments are jobs, by id or
// by name.
func (a *app) jobCommand(workflowText *string, body func(ctx context.Context, c *connection, ids []int64) error) func(*cobra.Command, []string) error {
	return a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
		var ids []int64
		for _, arg := range args {
			for ref := range strings.SplitSeq(arg, ",") {
				id, err := a.jobID(ctx, c, ref, *workflowText)
				if err != nil {
					return err
				}
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
		return body(ctx, c, ids)
	})
}

// addJobArguments has a command take one job or, with many, several ones, with
// the flag that says of which workflow.
func (a *app) addJobArguments(c *cobra.Command, workflowText *string, many bool) {
	c.Args = cobra.ExactArgs(1)
	complete := a.completeJobs(workflowText)
	c.ValidArgsFunction = complete
	if many {
		c.Args = cobra.MinimumNArgs(1)
		c.ValidArgsFunction = func(c *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return complete(c, nil, start)
		}
	}
	a.addWorkflowFlag(c, workflowText)
}

// splitIDs reads ids, some of which may be joined by commas, and drops
// repetitions.
func splitIDs(thing string, texts []string) ([]int64, error) {
	var ids []int64
	seen := make(map[int64]bool)
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			id, err := parseID(thing, strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			if !seen[id] {
				ids = append(ids, id)
			}
			seen[id] = true
		}
	}
	return ids, nil
}

// yesOrNoVar adds a flag whose value is a word of its own: --ephemeral false.
func yesOrNoVar(f *pflag.FlagSet, p *bool, name, usage string) {
	f.BoolVar(p, name, false, usage)
	f.Lookup(name).NoOptDefVal = ""
}

// given is the value of a flag, nil if it was not given.
func given[T any](cmd *cobra.Command, flag string, value T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// checked runs a check of the flags before the body of a command, so that a
// mistake is told without a server.
func checked(check func() error, body func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(); err != nil {
			return err
		}
		return body(cmd, args)
	}
}
