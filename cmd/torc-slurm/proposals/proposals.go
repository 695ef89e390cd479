// Package proposals has the commands about proposed changes.
package proposals

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// New returns the group of commands about proposed changes.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "proposals", "Decide about changes that an agent or a user has proposed",
		newList(a), newShow(a), newApply(a), newReject(a))
}

func newList(a *cli.Factory) *cobra.Command {
	var flags cli.ListFlags
	state := ""
	c := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List proposed changes",
		Long: `List the open proposals of a workflow, or of all. A proposal is open until somebody
applies or rejects it, or until it expires.`,
		Example: `  torc-slurm proposals list
  torc-slurm proposals list 12 --state applied
  torc-slurm -f json proposals list | jq '.items[].id'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
	}
	flags.Add(c, cli.ListShorthands{})
	c.Flags().StringVar(&state, "state", string(proposal.Open), "only those that are `STATE`: open, applied, rejected, expired, or all")
	words := []string{"all"}
	for _, s := range proposal.States() {
		words = append(words, string(s))
	}
	cli.CompleteWords(c, "state", words...)
	c.RunE = cli.Checked(func() error {
		if !slices.Contains(words, state) {
			return cli.UsageErrorf("--state: %q is not one of %s", state, strings.Join(words, ", "))
		}
		return flags.Check()
	}, a.ServerCommand(func(ctx context.Context, conn *cli.Connection, args []string) error {
		id, err := cli.SomeWorkflow(args)
		if err != nil {
			return err
		}
		filter := client.ProposalFilter{Page: flags.Page, WorkflowID: id, State: proposal.State(state)}
		if state == "all" {
			filter.State = ""
		}
		return cli.ShowAll(a, columns, conn.Proposals.List(ctx, filter))
	}))
	return c
}

var columns = cli.List[proposal.Proposal]{Things: "proposals", Columns: []cli.Column[proposal.Proposal]{
	{Title: "ID", Cell: func(p proposal.Proposal) string { return fmt.Sprint(p.ID) }},
	{Title: "Workflow", Cell: func(p proposal.Proposal) string { return workflowOf(&p) }},
	{Title: "State", Cell: func(p proposal.Proposal) string { return string(p.State) }},
	{Title: "Author", Cell: func(p proposal.Proposal) string { return authorOf(&p) }},
	{Title: "Change", Cell: func(p proposal.Proposal) string { return p.Title }},
	{Title: "Core-hours", Cell: func(p proposal.Proposal) string { return coreHours(&p) }},
	{Title: "Reason", Cell: func(p proposal.Proposal) string { return p.Reason }},
	{Title: "Expires", Cell: func(p proposal.Proposal) string { return cli.LocalTime(p.ExpiresMS) }},
}}

func workflowOf(p *proposal.Proposal) string {
	if p.WorkflowID == 0 {
		return "new"
	}
	return fmt.Sprint(p.WorkflowID)
}

func authorOf(p *proposal.Proposal) string {
	if p.Door == "" || p.Door == "api" {
		return p.Author
	}
	return p.Author + " (" + p.Door + ")"
}

// coreHours returns the most that jobs may use because of a proposal.
func coreHours(p *proposal.Proposal) string {
	if p.CPUSeconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(p.CPUSeconds)/3600)
}

func newShow(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "show PROPOSAL",
		Short:       "Show what a proposal changes of each job, and why",
		Example:     `  torc-slurm proposals show 3`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("proposal", func(ctx context.Context, c *cli.Connection, id int64) error {
			p, err := c.Proposals.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(p, func(w io.Writer) { write(w, p, 0) })
		}),
	}
}

// write writes a proposal with the changes of some of its jobs; 0: all.
func write(w io.Writer, p *proposal.Proposal, jobs int) {
	cost := ""
	if p.CPUSeconds > 0 {
		cost = "at most " + coreHours(p) + " core-hours"
	}
	decided := ""
	if p.DecidedMS != 0 {
		decided = fmt.Sprintf("%s by %s", cli.LocalTime(p.DecidedMS), p.DecidedBy)
	}
	cli.WriteFields(w, cli.Field{"Proposal", fmt.Sprint(p.ID)}, cli.Field{"Workflow", workflowOf(p)}, cli.Field{"State", string(p.State)},
		cli.Field{"Change", p.Title}, cli.Field{"Cost", cost}, cli.Field{"Author", authorOf(p)}, cli.Field{"Reason", p.Reason}, cli.Field{"Evidence", p.Evidence},
		cli.Field{"Proposed", cli.LocalTime(p.CreatedMS)}, cli.Field{"Expires", cli.LocalTime(p.ExpiresMS)}, cli.Field{"Decided", decided}, cli.Field{"Note", p.Note})
	if len(p.Jobs) == 0 {
		return
	}
	fmt.Fprintln(w, "Jobs:")
	for i := range p.Jobs {
		if jobs > 0 && i == jobs {
			fmt.Fprintf(w, "  … and %s more\n", workflow.CountOf(int64(len(p.Jobs)-i), "job", "jobs"))
			break
		}
		j := &p.Jobs[i]
		changes := strings.Join(j.Changes, ", ")
		if changes == "" {
			changes = "stays " + j.Status.String()
		}
		fmt.Fprintf(w, "  %s (%d): %s\n", cli.Printable(j.Name), j.JobID, cli.Printable(changes))
	}
}

// shownJobs is how many jobs are shown before a question.
const shownJobs = 20

func newApply(a *cli.Factory) *cobra.Command {
	noPrompts := false
	c := &cobra.Command{
		Use:   "apply PROPOSAL",
		Short: "Carry out a proposal",
		Long: `Carry out a proposal, all of it or nothing. It is checked again: that it is open, that
its jobs are as they were when it was proposed, and that the effect on each job is the
one that "proposals show" has. On a terminal you see it and are asked first.`,
		Example: `  torc-slurm proposals apply 3
  torc-slurm proposals apply 3 --no-prompts`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
	}
	cli.AddNoPrompts(c.Flags(), &noPrompts)
	c.RunE = a.IDCommand("proposal", func(ctx context.Context, conn *cli.Connection, id int64) error {
		p, err := conn.Proposals.Get(ctx, id)
		if err != nil {
			return err
		}
		if !noPrompts && a.Format != cli.FormatJSON {
			write(a.Stderr, p, shownJobs)
		}
		if ok, err := a.Confirm(noPrompts, "Apply it?"); !ok || err != nil {
			return err
		}
		if p, err = conn.Proposals.Apply(ctx, id); err != nil {
			return err
		}
		return a.ShowMessage(p, "Applied proposal %d: %s (workflow %d)", p.ID, p.Title, p.WorkflowID)
	})
	return c
}

func newReject(a *cli.Factory) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use:         "reject PROPOSAL",
		Short:       "Close a proposal without carrying it out",
		Example:     `  torc-slurm proposals reject 3 --reason "the input is broken, a retry does not help"`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
	}
	c.Flags().StringVar(&reason, "reason", "", "why; its author sees it")
	c.RunE = a.IDCommand("proposal", func(ctx context.Context, conn *cli.Connection, id int64) error {
		p, err := conn.Proposals.Reject(ctx, id, reason)
		if err != nil {
			return err
		}
		return a.ShowMessage(p, "Rejected proposal %d", p.ID)
	})
	return c
}
