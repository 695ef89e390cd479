package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/client"
)

// ListFlags select a part of a list and its order.
type ListFlags struct {
	Page     client.Page
	Sortable []string
}

// ListShorthands are the short names of these flags; torc's differ from noun to noun.
type ListShorthands struct{ Offset, SortBy, Reverse string }

// Add adds the flags to a command that shows a list. Without sortable fields the list has
// one order.
func (l *ListFlags) Add(c *cobra.Command, s ListShorthands, sortable ...string) {
	c.Annotations = WithCSV(c.Annotations)
	f := c.Flags()
	f.Int64VarP(&l.Page.Limit, "limit", "l", 0, "show at most this many (0: all)")
	f.Int64VarP(&l.Page.Offset, "offset", s.Offset, 0, "skip this many at the beginning")
	if len(sortable) == 0 {
		return
	}
	l.Sortable = append([]string{"id"}, sortable...)
	f.StringVarP(&l.Page.SortBy, "sort-by", s.SortBy, "", "sort by this field (default id)")
	f.BoolVarP(&l.Page.Reverse, "reverse-sort", s.Reverse, false, "in descending order")
	CompleteWords(c, "sort-by", l.Sortable...)
}

// Check returns a usage error for values that the server rejects or ignores.
func (l *ListFlags) Check() error {
	switch {
	case l.Page.Limit < 0:
		return UsageErrorf("--limit %d: it cannot be negative", l.Page.Limit)
	case l.Page.Offset < 0:
		return UsageErrorf("--offset %d: it cannot be negative", l.Page.Offset)
	case l.Page.SortBy != "" && !slices.Contains(l.Sortable, l.Page.SortBy):
		return UsageErrorf("--sort-by %s: the fields are %s", l.Page.SortBy, strings.Join(l.Sortable, ", "))
	}
	return nil
}

// CompleteWords completes the value of a flag to words.
func CompleteWords(c *cobra.Command, flag string, words ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// FreeLetterS frees the short name of the global flag --standalone for a flag of c. The
// short name still works before the command.
func FreeLetterS(a *Factory, c *cobra.Command) {
	c.Flags().BoolVar(&a.Flags.Standalone, "standalone", a.Flags.Standalone, "")
	_ = c.Flags().MarkHidden("standalone") // it exists, so there is no error
}

// FreeLetterF does the same with the short name of --format.
func FreeLetterF(a *Factory, c *cobra.Command) {
	c.Flags().StringVar(&a.Flags.Format, "format", a.Flags.Format, "")
	_ = c.Flags().MarkHidden("format") // it exists, so there is no error
}

// ServerCommand returns the RunE of a command that calls the server.
func (a *Factory) ServerCommand(body func(ctx context.Context, c *Connection, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := a.Connect(cmd.Context())
		if err != nil {
			return err
		}
		return body(cmd.Context(), c, args)
	}
}

// WorkflowCommand is ServerCommand for a command that changes the workflow of its first
// argument, which is optional.
func (a *Factory) WorkflowCommand(body func(ctx context.Context, c *Connection, workflowID int64) error) func(*cobra.Command, []string) error {
	return a.aboutWorkflow(a.WorkflowID, body)
}

// OnWorkflow makes a command take a workflow, which is optional, and returns it. Unless the
// command has its own exit statuses, they are those of a command that calls the server.
func OnWorkflow(a *Factory, c *cobra.Command) *cobra.Command {
	c.Args, c.ValidArgsFunction = cobra.MaximumNArgs(1), CompleteWorkflows(a, 1)
	if c.Annotations == nil {
		c.Annotations = ServerExits()
	}
	return c
}

// WorkflowView is WorkflowCommand for a command that changes nothing.
func (a *Factory) WorkflowView(body func(ctx context.Context, c *Connection, workflowID int64) error) func(*cobra.Command, []string) error {
	return a.aboutWorkflow(a.LatestWorkflowID, body)
}

func (a *Factory) aboutWorkflow(
	find func(context.Context, *Connection, string) (int64, error), body func(context.Context, *Connection, int64) error,
) func(*cobra.Command, []string) error {
	return a.ServerCommand(func(ctx context.Context, c *Connection, args []string) error {
		id, err := find(ctx, c, FirstArg(args))
		if err != nil {
			return err
		}
		return body(ctx, c, id)
	})
}

// IDCommand is ServerCommand for a command whose only argument is the id of a thing.
func (a *Factory) IDCommand(thing string, body func(ctx context.Context, c *Connection, id int64) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := ParseID(thing, args[0])
		if err != nil {
			return err
		}
		return a.ServerCommand(func(ctx context.Context, c *Connection, _ []string) error { return body(ctx, c, id) })(cmd, args)
	}
}

// JobCommand is ServerCommand for a command whose arguments are jobs, by id or by name.
func (a *Factory) JobCommand(workflowText *string, body func(ctx context.Context, c *Connection, ids []int64) error) func(*cobra.Command, []string) error {
	return a.ServerCommand(func(ctx context.Context, c *Connection, args []string) error {
		var ids []int64
		for _, arg := range args {
			for ref := range strings.SplitSeq(arg, ",") {
				id, err := a.JobID(ctx, c, ref, *workflowText)
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

// AddJobArguments makes a command accept a job or, with many, several jobs, and adds the
// flag for their workflow.
func (a *Factory) AddJobArguments(c *cobra.Command, workflowText *string, many bool) {
	c.Args = cobra.ExactArgs(1)
	complete := CompleteJobs(a, workflowText)
	c.ValidArgsFunction = complete
	if many {
		c.Args = cobra.MinimumNArgs(1)
		c.ValidArgsFunction = func(c *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return complete(c, nil, start)
		}
	}
	AddWorkflowFlag(a, c, workflowText)
}

// SplitIDs parses ids, which may be joined by commas, and drops duplicates.
func SplitIDs(thing string, texts []string) ([]int64, error) {
	var ids []int64
	seen := make(map[int64]bool)
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			id, err := ParseID(thing, strings.TrimSpace(part))
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

// YesOrNoVar adds a flag that needs a value: --ephemeral false.
func YesOrNoVar(f *pflag.FlagSet, p *bool, name, usage string) {
	f.BoolVar(p, name, false, usage)
	f.Lookup(name).NoOptDefVal = ""
}

// Given returns the value of a flag; nil if the flag was not given.
func Given[T any](cmd *cobra.Command, flag string, value T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &value
}

// Checked runs a check of the flags before the body of a command, so that a usage error
// needs no server.
func Checked(check func() error, body func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(); err != nil {
			return err
		}
		return body(cmd, args)
	}
}

// AddWorkflowFlag adds -w, the workflow of a job.
func AddWorkflowFlag(a *Factory, c *cobra.Command, text *string) {
	c.Flags().StringVarP(text, "workflow", "w", "", "`ID` of the workflow (default: your latest)")
	complete := CompleteWorkflows(a, 1)
	_ = c.RegisterFlagCompletionFunc("workflow", func(c *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return complete(c, nil, start)
	})
}
