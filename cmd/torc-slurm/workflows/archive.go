package workflows

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// archiveResult is the JSON output of workflows archive.
type archiveResult struct {
	Status           string         `json:"status"` // success, partial_success
	UpdatedWorkflows []int64        `json:"updated_workflows"`
	IsArchived       bool           `json:"is_archived"`
	Errors           []archiveError `json:"errors,omitempty"`
}

// archiveError is a workflow that was not changed.
type archiveError struct {
	WorkflowID int64  `json:"workflow_id"`
	Error      string `json:"error"`
}

func newArchive(a *cli.Factory) *cobra.Command {
	complete := cli.CompleteWorkflows(a, 0)
	return &cobra.Command{
		Use:   "archive true|false [WORKFLOW...]",
		Short: "Archive workflows, or restore them",
		Long: `Archive workflows (true), or restore them from the archive (false). Archived workflows
are not listed and cannot be reset.`,
		Example: `  torc-slurm workflows archive true 12 13
  torc-slurm workflows archive false 12`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: cli.ServerExits("1 some of the workflows could not be changed"),
		ValidArgsFunction: func(c *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"true", "false"}, cobra.ShellCompDirectiveNoFileComp
			}
			return complete(c, args, start)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			archived, err := strconv.ParseBool(args[0])
			if err != nil {
				return cli.UsageErrorf("give true to archive, false to restore; not %q", args[0])
			}
			ids, err := cli.SplitIDs("workflow", args[1:])
			if err != nil {
				return err
			}
			if len(ids) == 0 && !archived {
				return cli.UsageErrorf("say which workflows to take out of the archive; `%s workflows list --archived-only` lists them", cli.Prefix(a))
			}
			return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
				return archive(ctx, a, c, archived, ids)
			})(cmd, args)
		},
	}
}

func archive(ctx context.Context, a *cli.Factory, c *cli.Connection, archived bool, ids []int64) error {
	if len(ids) == 0 {
		id, err := a.WorkflowID(ctx, c, "")
		if err != nil {
			return err
		}
		ids = []int64{id}
	}
	result := archiveResult{Status: "success", UpdatedWorkflows: []int64{}, IsArchived: archived}
	var failed error
	for _, id := range ids {
		if _, err := c.Workflows.Archive(ctx, id, archived); err != nil {
			failed = err
			message, _ := cli.ErrorText(err)
			result.Errors = append(result.Errors, archiveError{id, message})
			continue
		}
		result.UpdatedWorkflows = append(result.UpdatedWorkflows, id)
	}
	if len(result.UpdatedWorkflows) == 0 {
		return failed
	}
	what := "Archived"
	if !archived {
		what = "Restored:"
	}
	if failed != nil {
		result.Status = "partial_success"
		for _, e := range result.Errors {
			a.Note("workflow %d: %s", e.WorkflowID, e.Error)
		}
	}
	if err := a.ShowMessage(result, "%s workflow %s", what, cli.Joined(result.UpdatedWorkflows)); err != nil || failed == nil {
		return err
	}
	return cli.Silent(cli.ExitFailed)
}
