// Package files has the commands about the files of workflows.
package files

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// New returns the group of commands about files.
func New(a *cli.Factory) *cobra.Command {
	return cli.NewGroup(a, cli.GroupManagement, "files", "Files that jobs read and write",
		newCreate(a),
		newList(a),
		newGet(a),
		newUpdate(a),
		newDelete(a),
		newListRequired(a),
	)
}

var fileColumns = cli.List[api.File]{Things: "files", Columns: []cli.Column[api.File]{
	{Title: "ID", Cell: func(f api.File) string { return cli.OrEmpty(f.ID) }},
	{Title: "Name", Cell: func(f api.File) string { return f.Name }},
	{Title: "Path", Cell: func(f api.File) string { return f.Path }},
	{Title: "Modified Time", Cell: func(f api.File) string { return modTimeText(f.ModTime) }},
}}

// modTimeText formats seconds since the epoch as a time; empty for nil.
func modTimeText(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	whole, part := math.Modf(*seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC().Format(time.RFC3339)
}

func newCreate(a *cli.Factory) *cobra.Command {
	var f api.File
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:     "create [WORKFLOW] --name NAME --path PATH",
		Short:   "Add a file to a workflow",
		Example: `  torc-slurm files create 12 -n params -p inputs/params.json`,
		RunE: a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
			f.WorkflowID = id
			var err error
			if f.ModTime, err = cli.ModTime(a.Path(f.Path)); err != nil {
				return err
			}
			created, err := c.Files.Create(ctx, &f)
			if err != nil {
				return err
			}
			return a.ShowMessage(created, "Created file %s", cli.OrEmpty(created.ID))
		}),
	})
	cmd.Flags().StringVarP(&f.Name, "name", "n", "", "`NAME` of the file in the workflow")
	cmd.Flags().StringVarP(&f.Path, "path", "p", "", "`PATH` of the file")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("path")
	return cmd
}

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing  cli.ListFlags
		producer int64
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the files of a workflow",
		Example: `  torc-slurm files list 12
  torc-slurm -f csv files list 12 --produced-by-job-id 42`,
	})
	listing.Add(cmd, cli.ListShorthands{}, "name", "path", "st_mtime")
	cmd.Flags().Int64Var(&producer, "produced-by-job-id", 0, "only files that this `JOB` writes")
	cmd.RunE = cli.Checked(listing.Check, a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		return cli.ShowAll(a, fileColumns, c.Files.List(ctx, client.FileFilter{
			Page: listing.Page, WorkflowID: id, ProducedByJobID: cli.Given(cmd, "produced-by-job-id", producer),
		}))
	}))
	return cmd
}

func newGet(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "get FILE",
		Short:       "Show a file",
		Example:     `  torc-slurm files get 7`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("file", func(ctx context.Context, c *cli.Connection, id int64) error {
			f, err := c.Files.Get(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowRecord(f, func(w io.Writer) {
				cli.WriteFields(w, cli.Field{"ID", cli.OrEmpty(f.ID)}, cli.Field{"Workflow", cli.OrEmpty(&f.WorkflowID)}, cli.Field{"Name", f.Name},
					cli.Field{"Path", f.Path}, cli.Field{"Modified", modTimeText(f.ModTime)})
			})
		}),
	}
}

func newUpdate(a *cli.Factory) *cobra.Command {
	var name, path string
	cmd := &cobra.Command{
		Use:         "update FILE",
		Short:       "Change a file's name or path",
		Example:     `  torc-slurm files update 7 --path inputs/other.json`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("file", func(ctx context.Context, c *cli.Connection, id int64) error {
			f, err := c.Files.Get(ctx, id)
			if err != nil {
				return err
			}
			f.Name, f.Path = cli.FirstOf(name, f.Name), cli.FirstOf(path, f.Path)
			if f, err = c.Files.Update(ctx, id, f); err != nil {
				return err
			}
			return a.ShowMessage(f, "Updated file %d", id)
		}),
	}
	cmd.Flags().StringVarP(&name, "name", "n", "", "new `NAME`")
	cmd.Flags().StringVarP(&path, "path", "p", "", "new `PATH`")
	cmd.MarkFlagsOneRequired("name", "path")
	return cmd
}

func newDelete(a *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:         "delete FILE",
		Short:       "Remove a file from its workflow",
		Long:        `Remove a file from its workflow. The file on disk is kept.`,
		Example:     `  torc-slurm files delete 7`,
		Args:        cobra.ExactArgs(1),
		Annotations: cli.ServerExits(),
		RunE: a.IDCommand("file", func(ctx context.Context, c *cli.Connection, id int64) error {
			f, err := c.Files.Delete(ctx, id)
			if err != nil {
				return err
			}
			return a.ShowMessage(f, "Deleted file %d", id)
		}),
	}
}

func newListRequired(a *cli.Factory) *cobra.Command {
	return cli.OnWorkflow(a, &cobra.Command{
		Use:   "list-required-existing [WORKFLOW]",
		Short: "List the files that must exist",
		Long: `List the files that must exist before a workflow can continue: those that jobs read
and no job writes, and the outputs of completed jobs.`,
		Example: `  torc-slurm files list-required-existing 12
  torc-slurm -f json files list-required-existing 12 | jq -r '.items[].path' | xargs ls -l`,
		Annotations: cli.WithCSV(cli.ServerExits()),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			ids, err := c.Files.RequiredExisting(ctx, id)
			if err != nil {
				return err
			}
			required := make(map[int64]bool, len(ids))
			for _, fileID := range ids {
				required[fileID] = true
			}
			var files []api.File
			for f, err := range c.Files.List(ctx, client.FileFilter{WorkflowID: id}) {
				if err != nil {
					return err
				}
				if required[cli.OrZero(f.ID)] {
					files = append(files, f)
				}
			}
			return cli.ShowList(a, fileColumns, files)
		}),
	})
}
