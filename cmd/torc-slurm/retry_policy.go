package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// newRetryPolicyCommand groups the commands about stored retry policies.
func newRetryPolicyCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "retry-policy", "Stored rules about which failures deserve a retry",
		newRetryPolicyCreateCommand(a), newRetryPolicyGetCommand(a), newRetryPolicyListCommand(a), newRetryPolicyUpdateCommand(a),
		newRetryPolicyDeleteCommand(a), newRetryPolicyLintCommand(a), newRetryPolicySimulateCommand(a),
		newRetryPolicyAttachCommand(a), newRetryPolicyDetachCommand(a), newRetryPolicyQueuesCommand(a),
		newRetryPolicyDefaultCommand(a), newRetryPolicySettingsCommand(a),
	)
}

// addFileFlag gives a command the file that it reads.
func addFileFlag(a *app, c *cobra.Command, file *string, what string) {
	freeLetterF(a, c)
	c.Flags().StringVarP(file, "file", "f", "", "`FILE` with "+what+": YAML, JSON or JSON5; - is the standard input")
	_ = c.MarkFlagFilename("file", "yaml", "yml", "json", "json5")
}

// loadPolicy reads a retry policy from a file and tells the warnings.
func (a *app) loadPolicy(path string) (*workflow.RetryPolicy, error) {
	if path == "" {
		return nil, usageErrorf("say which file has the policy: -f FILE")
	}
	f, err := spec.LoadPolicy(path, a.specOptions(specFlags{}))
	if f != nil {
		a.warnOfPolicies(f.Warnings)
	}
	if err != nil {
		return nil, err
	}
	return f.Policy, nil
}

func (a *app) warnOfPolicies(warnings []*spec.Warning) {
	for _, w := range warnings {
		a.note("warning: %s", strings.TrimRight(w.Render(), "\n"))
	}
}

// takesPolicy gives a command the flag for a file with a policy, which is read
// before the server is looked for.
func (a *app) takesPolicy(cmd *cobra.Command, do func(context.Context, *connection, *workflow.RetryPolicy) error) {
	file := ""
	addFileFlag(a, cmd, &file, "the policy")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := a.loadPolicy(file)
		if err != nil {
			return err
		}
		return a.serverCommand(func(ctx context.Context, c *connection, _ []string) error { return do(ctx, c, p) })(cmd, args)
	}
}

func newRetryPolicyCreateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create -f FILE",
		Short: "Store a retry policy under its name",
		Long: `Store a retry policy under its name. Specifications refer to it by
"retry_policies: [NAME]", and a site attaches it to queues. The file may also have
the form of a cluster scheduler's resource (apiVersion, kind: RetryPolicy,
metadata, spec), which is converted.`,
		Example:     `  torc-slurm retry-policy create -f infra.yaml`,
		Args:        cobra.NoArgs,
		Annotations: serverExits(),
	}
	a.takesPolicy(cmd, func(ctx context.Context, c *connection, p *workflow.RetryPolicy) error {
		stored, err := c.CreateRetryPolicy(ctx, p)
		if err != nil {
			return err
		}
		return a.showMessage(stored, "Created retry policy %s (%s)", stored.Policy.Name, stored.Hash)
	})
	return cmd
}

func newRetryPolicyUpdateCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update -f FILE",
		Short: "Replace what a stored retry policy says",
		Long: `Replace what the stored retry policy of that name says. The next decision is made
by it, without a restart; what its rules have granted goes on to count under their
ids.`,
		Example:     `  torc-slurm retry-policy update -f infra.yaml`,
		Args:        cobra.NoArgs,
		Annotations: serverExits(),
	}
	a.takesPolicy(cmd, func(ctx context.Context, c *connection, p *workflow.RetryPolicy) error {
		stored, err := c.UpdateRetryPolicy(ctx, p)
		if err != nil {
			return err
		}
		return a.showMessage(stored, "Retry policy %s is at version %d (%s)", stored.Policy.Name, stored.Version, stored.Hash)
	})
	return cmd
}

func newRetryPolicyListCommand(a *app) *cobra.Command {
	var listing listFlags
	cmd := &cobra.Command{
		Use:         "list",
		Short:       "List the stored retry policies",
		Example:     `  torc-slurm retry-policy list`,
		Args:        cobra.NoArgs,
		Annotations: serverExits(),
	}
	listing.add(cmd, listShorthands{})
	cmd.RunE = checked(listing.check, a.serverCommand(func(ctx context.Context, c *connection, _ []string) error {
		all, err := client.Collect(c.RetryPolicies(ctx, listing.page))
		if err != nil {
			return err
		}
		return showList(a, list[api.StoredPolicy]{things: "retry policies", columns: []column[api.StoredPolicy]{
			{title: "Name", cell: func(p api.StoredPolicy) string { return p.Policy.Name }},
			{title: "Rules", cell: func(p api.StoredPolicy) string { return fmt.Sprint(len(p.Policy.Rules)) }},
			{title: "Version", cell: func(p api.StoredPolicy) string { return fmt.Sprint(p.Version) }},
			{title: "Hash", cell: func(p api.StoredPolicy) string { return p.Hash }},
			{title: "Updated", cell: func(p api.StoredPolicy) string { return dateOf(p.UpdatedMS) }},
			{title: "Description", cell: func(p api.StoredPolicy) string { return p.Policy.Description }},
		}}, all)
	}))
	return cmd
}

// dateOf is a time for people.
func dateOf(ms int64) string { return time.UnixMilli(ms).Format(time.DateTime) }

func newRetryPolicyGetCommand(a *app) *cobra.Command {
	history := false
	cmd := &cobra.Command{
		Use:   "get NAME",
		Short: "Show a stored retry policy, or who changed it",
		Long: `Show a stored retry policy as a file that "update -f" takes. With --history show
who changed it, when, and to which queues it was attached; this is kept when the
policy has been deleted.`,
		Example: `  torc-slurm retry-policy get infra > infra.yaml
  torc-slurm retry-policy get infra --history`,
		Args:        cobra.ExactArgs(1),
		Annotations: withCSV(serverExits()),
	}
	cmd.Flags().BoolVar(&history, "history", false, "who changed it, oldest first")
	cmd.RunE = a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
		if history {
			changes, err := client.Collect(c.RetryPolicyChanges(ctx, args[0]))
			if err != nil {
				return err
			}
			return showPolicyChanges(a, changes)
		}
		p, err := c.RetryPolicy(ctx, args[0])
		if err != nil {
			return err
		}
		text, err := yaml.MarshalWithOptions(p.Policy, yaml.UseJSONMarshaler(), yaml.IndentSequence(true))
		if err != nil {
			return fmt.Errorf("write retry policy %s: %w", args[0], err)
		}
		return a.showRecord(p, func(w io.Writer) { _, _ = w.Write(text) })
	})
	return cmd
}

func showPolicyChanges(a *app, changes []api.PolicyChange) error {
	return showList(a, list[api.PolicyChange]{things: "changes", columns: []column[api.PolicyChange]{
		{title: "When", cell: func(c api.PolicyChange) string { return dateOf(c.AtMS) }},
		{title: "Who", cell: func(c api.PolicyChange) string { return c.Author }},
		{title: "What", cell: func(c api.PolicyChange) string { return strings.TrimSpace(c.Action + " " + c.Detail) }},
		{title: "Before", cell: func(c api.PolicyChange) string { return c.OldHash }},
		{title: "After", cell: func(c api.PolicyChange) string { return c.NewHash }},
	}}, changes)
}

func newRetryPolicyDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a stored retry policy that nothing refers to",
		Long: `Delete a stored retry policy. It is refused while the policy is attached to a
queue, is the server's default, or belongs to a workflow that has not ended.`,
		Example:     `  torc-slurm retry-policy delete infra`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.serverCommand(func(ctx context.Context, c *connection, args []string) error {
			p, err := c.DeleteRetryPolicy(ctx, args[0])
			if err != nil {
				return err
			}
			return a.showMessage(p, "Deleted retry policy %s", p.Policy.Name)
		}),
	}
}

func newRetryPolicyLintCommand(a *app) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "lint -f FILE",
		Short: "Say all that is wrong with a retry policy in a file",
		Long: `Say all that is wrong with a retry policy in a file, with line and column, and
what is doubtful. With --format json the policy is shown as it would be stored;
that is how a policy in the form of another scheduler is converted.`,
		Example: `  torc-slurm retry-policy lint -f infra.yaml
  torc-slurm --format json retry-policy lint -f theirs.yaml > ours.json`,
		Args:        cobra.NoArgs,
		Annotations: exits(),
	}
	addFileFlag(a, cmd, &file, "the policy")
	cmd.RunE = func(*cobra.Command, []string) error {
		p, err := a.loadPolicy(file)
		if err != nil {
			return err
		}
		return a.showMessage(p, "Nothing is wrong with retry policy %s (%s)", p.Name, p.Hash())
	}
	return cmd
}
