// Package policy has the commands about retry policies and circuit breakers.
package policy

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// New returns the group of commands about retry policies.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "retry-policy", "Stored rules that decide which failures are retried",
		newCreate(a), newGet(a), newList(a), newUpdate(a),
		newDelete(a), newLint(a), newSimulate(a),
		newAttach(a), newDetach(a), newQueues(a),
		newDefault(a), newSettings(a),
	)
}

// loadPolicy reads a retry policy from a file and prints its warnings.
func loadPolicy(a *cli.Factory, path string) (*workflow.RetryPolicy, error) {
	if path == "" {
		return nil, cli.UsageErrorf("give the file with the policy: -f FILE")
	}
	f, err := spec.LoadPolicy(path, specfile.Options(a, specfile.Flags{}))
	if f != nil {
		warnOfPolicies(a, f.Warnings)
	}
	if err != nil {
		return nil, err
	}
	return f.Policy, nil
}

func warnOfPolicies(a *cli.Factory, warnings []*spec.Warning) {
	for _, w := range warnings {
		a.Note("warning: %s", strings.TrimRight(w.Render(), "\n"))
	}
}

// takesPolicy adds the flag for a file with a policy to a command. The file is read before
// the command connects to the server.
func takesPolicy(a *cli.Factory, cmd *cobra.Command, do func(context.Context, *cli.Connection, *workflow.RetryPolicy) error) {
	file := ""
	cli.AddFileFlag(a, cmd, &file, "the policy")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := loadPolicy(a, file)
		if err != nil {
			return err
		}
		return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error { return do(ctx, c, p) })(cmd, args)
	}
}

func newCreate(a *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create -f FILE",
		Short: "Store a retry policy under its name",
		Long: `Store a retry policy under its name. Specifications refer to it by
"retry_policies: [NAME]", and a site attaches it to queues. The file may also have
the form of a cluster scheduler's resource (apiVersion, kind: RetryPolicy,
metadata, spec), which is converted.`,
		Example:     `  torc-slurm retry-policy create -f infra.yaml`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
	}
	takesPolicy(a, cmd, func(ctx context.Context, c *cli.Connection, p *workflow.RetryPolicy) error {
		stored, err := c.RetryPolicies.Create(ctx, p)
		if err != nil {
			return err
		}
		return a.ShowMessage(stored, "Created retry policy %s (%s)", stored.Policy.Name, stored.Hash)
	})
	return cmd
}

func newUpdate(a *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update -f FILE",
		Short: "Replace a stored retry policy",
		Long: `Replace the stored retry policy of that name. It applies from the next decision on,
without a restart. Retries that its rules have granted still count under the ids of
the rules.`,
		Example:     `  torc-slurm retry-policy update -f infra.yaml`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
	}
	takesPolicy(a, cmd, func(ctx context.Context, c *cli.Connection, p *workflow.RetryPolicy) error {
		stored, err := c.RetryPolicies.Update(ctx, p)
		if err != nil {
			return err
		}
		return a.ShowMessage(stored, "Retry policy %s is at version %d (%s)", stored.Policy.Name, stored.Version, stored.Hash)
	})
	return cmd
}

var storedPolicyColumns = cli.List[api.StoredPolicy]{Things: "retry policies", Columns: []cli.Column[api.StoredPolicy]{
	{Title: "Name", Cell: func(p api.StoredPolicy) string { return p.Policy.Name }},
	{Title: "Rules", Cell: func(p api.StoredPolicy) string { return fmt.Sprint(len(p.Policy.Rules)) }},
	{Title: "Version", Cell: func(p api.StoredPolicy) string { return fmt.Sprint(p.Version) }},
	{Title: "Hash", Cell: func(p api.StoredPolicy) string { return p.Hash }},
	{Title: "Updated", Cell: func(p api.StoredPolicy) string { return dateOf(p.UpdatedMS) }},
	{Title: "Description", Cell: func(p api.StoredPolicy) string { return p.Policy.Description }},
}}

func newList(a *cli.Factory) *cobra.Command {
	var listing cli.ListFlags
	cmd := &cobra.Command{
		Use:         "list",
		Short:       "List the stored retry policies",
		Example:     `  torc-slurm retry-policy list`,
		Args:        cobra.NoArgs,
		Annotations: cli.ServerExits(),
	}
	listing.Add(cmd, cli.ListShorthands{})
	cmd.RunE = cli.Checked(listing.Check, a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
		return cli.ShowAll(a, storedPolicyColumns, c.RetryPolicies.List(ctx, listing.Page))
	}))
	return cmd
}

// dateOf formats a Unix time in milliseconds as local date and time.
func dateOf(ms int64) string { return time.UnixMilli(ms).Format(time.DateTime) }

func newGet(a *cli.Factory) *cobra.Command {
	history := false
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Show a stored retry policy, or its changes",
		Long: `Show a stored retry policy as a file for "update -f". With --history show who changed
it, when, and to which queues it was attached; the history is kept after the policy
has been deleted.`,
		Example: `  torc-slurm retry-policy get infra > infra.yaml
  torc-slurm retry-policy get infra --history`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.WithCSV(cli.ServerExits()),
	}
	cmd.Flags().BoolVar(&history, "history", false, "who changed it, oldest first")
	cmd.RunE = a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
		if history {
			return cli.ShowAll(a, policyChangeColumns, c.RetryPolicies.Changes(ctx, args[0]))
		}
		p, err := c.RetryPolicies.Get(ctx, args[0])
		if err != nil {
			return err
		}
		text, err := yaml.MarshalWithOptions(p.Policy, yaml.UseJSONMarshaler(), yaml.IndentSequence(true))
		if err != nil {
			return fmt.Errorf("write retry policy %s: %w", args[0], err)
		}
		return a.ShowRecord(p, func(w io.Writer) { _, _ = w.Write(text) })
	})
	return cmd
}

var policyChangeColumns = cli.List[api.PolicyChange]{Things: "changes", Columns: []cli.Column[api.PolicyChange]{
	{Title: "When", Cell: func(c api.PolicyChange) string { return dateOf(c.AtMS) }},
	{Title: "Who", Cell: func(c api.PolicyChange) string { return c.Author }},
	{Title: "What", Cell: func(c api.PolicyChange) string { return strings.TrimSpace(c.Action + " " + c.Detail) }},
	{Title: "Before", Cell: func(c api.PolicyChange) string { return c.OldHash }},
	{Title: "After", Cell: func(c api.PolicyChange) string { return c.NewHash }},
}}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an unused stored retry policy",
		Long: `Delete a stored retry policy. This is rejected while the policy is attached to a
queue, is the server's default, or is used by a workflow that has not ended.`,
		Example:     `  torc-slurm retry-policy delete infra`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.ServerCommand(func(ctx context.Context, c *cli.Connection, args []string) error {
			p, err := c.RetryPolicies.Delete(ctx, args[0])
			if err != nil {
				return err
			}
			return a.ShowMessage(p, "Deleted retry policy %s", p.Policy.Name)
		}),
	}
}

func newLint(a *cli.Factory) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "lint -f FILE",
		Short: "Check a retry policy in a file",
		Long: `Check a retry policy in a file, and report all errors and warnings with line and
column. --format json shows the policy as it would be stored; use it to convert a
policy in the form of another scheduler.`,
		Example: `  torc-slurm retry-policy lint -f infra.yaml
  torc-slurm --format json retry-policy lint -f theirs.yaml > ours.json`,
		Args:        cobra.NoArgs,
		Annotations: cli.Exits(),
	}
	cli.AddFileFlag(a, cmd, &file, "the policy")
	cmd.RunE = func(*cobra.Command, []string) error {
		p, err := loadPolicy(a, file)
		if err != nil {
			return err
		}
		return a.ShowMessage(p, "Retry policy %s (%s) is valid", p.Name, p.Hash())
	}
	return cmd
}
