package main

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

// newFilesCommand groups the commands about files.
func newFilesCommand(a *app) *cobra.Command {
	return newGroup(a, groupManagement, "files", "Files that jobs read and write",
		newFilesCreateCommand(a),
		newFilesListCommand(a),
		newFilesGetCommand(a),
		newFilesUpdateCommand(a),
		newFilesDeleteCommand(a),
		newFilesListRequiredCommand(a),
	)
}

var fileColumns = list[api.File]{things: "files", columns: []column[api.File]{
	{title: "ID", cell: func(f api.File) string { return orEmpty(f.ID) }},
	{title: "Name", cell: func(f api.File) string { return f.Name }},
	{title: "Path", cell: func(f api.File) string { return f.Path }},
	{title: "Modified Time", cell: func(f api.File) string { return modTimeText(f.ModTime) }},
}}

// modTimeText writes seconds since the epoch as a time.
func modTimeText(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	whole, part := math.Modf(*seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC().Format(time.RFC3339)
}

func newFilesCreateCommand(a *app) *cobra.Command {
	var f api.File
	cmd := &cobra.Command{
		Use:               "create [WORKFLOW] --name NAME --path PATH",
		Short:             "Add a file to a workflow",
		Example:           `  torc-slurm files create 12 -n params -p inputs/params.json`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
			f.WorkflowID = id
			var err error
			if f.ModTime, err = modTime(a.path(f.Path)); err != nil {
				return err
			}
			created, err := c.CreateFile(ctx, &f)
			if err != nil {
				return err
			}
			return a.showMessage(created, "Created file %s", orEmpty(created.ID))
		}),
	}
	cmd.Flags().StringVarP(&f.Name, "name", "n", "", "`NAME` of the file in the workflow")
	cmd.Flags().StringVarP(&f.Path, "path", "p", "", "where it is")
	_ = cmd.MarkFlagRequired("name")
	_ = cmd.MarkFlagRequired("path")
	return cmd
}

func newFilesListCommand(a *app) *cobra.Command {
	var (
		listing  listFlags
		producer int64
	)
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the files of a workflow",
		Example: `  torc-slurm files list 12
  torc-slurm -f csv files list 12 --produced-by-job-id 42`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	listing.add(cmd, listShorthands{}, "name", "path", "st_mtime")
	cmd.Flags().Int64Var(&producer, "produced-by-job-id", 0, "only files that this `JOB` writes")
	cmd.RunE = checked(listing.check, a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		files, err := client.Collect(c.Files(ctx, client.FileFilter{
			Page: listing.page, WorkflowID: id, ProducedByJobID: given(cmd, "produced-by-job-id", producer),
		}))
		if err != nil {
			return err
		}
		return showList(a, fileColumns, files)
	}))
	return cmd
}

func newFilesGetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "get FILE",
		Short:       "Show a file",
		Example:     `  torc-slurm files get 7`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("file", func(ctx context.Context, c *connection, id int64) error {
			f, err := c.File(ctx, id)
			if err != nil {
				return err
			}
			return a.showRecord(f, func(w io.Writer) {
				writeFields(w, field{"ID", orEmpty(f.ID)}, field{"Workflow", orEmpty(&f.WorkflowID)}, field{"Name", f.Name},
					field{"Path", f.Path}, field{"Modified", modTimeText(f.ModTime)})
			})
		}),
	}
}

func newFilesUpdateCommand(a *app) *cobra.Command {
	var name, path string
	cmd := &cobra.Command{
		Use:         "update FILE",
		Short:       "Change a file's name or path",
		Example:     `  torc-slurm files update 7 --path inputs/other.json`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("file", func(ctx context.Context, c *connection, id int64) error {
			f, err := c.File(ctx, id)
			if err != nil {
				return err
			}
			f.Name, f.Path = firstOf(name, f.Name), firstOf(path, f.Path)
			if f, err = c.UpdateFile(ctx, id, f); err != nil {
				return err
			}
			return a.showMessage(f, "Updated file %d", id)
		}),
	}
	cmd.Flags().StringVarP(&name, "name", "n", "", "new `NAME`")
	cmd.Flags().StringVarP(&path, "path", "p", "", "new `PATH`")
	cmd.MarkFlagsOneRequired("name", "path")
	return cmd
}

func newFilesDeleteCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "delete FILE",
		Short:       "Take a file out of its workflow",
		Long:        `Take a file out of its workflow. What is on the disk stays.`,
		Example:     `  torc-slurm files delete 7`,
		Args:        cobra.ExactArgs(1),
		Annotations: serverExits(),
		RunE: a.idCommand("file", func(ctx context.Context, c *connection, id int64) error {
			f, err := c.DeleteFile(ctx, id)
			if err != nil {
				return err
			}
			return a.showMessage(f, "Deleted file %d", id)
		}),
	}
}

func newFilesListRequiredCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list-required-existing [WORKFLOW]",
		Short: "List the files that have to be there",
		Long: `List the files that have to be there before a workflow goes on: those that jobs
read and no job writes, and the outputs of completed jobs.`,
		Example: `  torc-slurm files list-required-existing 12
  torc-slurm -f json files list-required-existing 12 | jq -r '.items[].path' | xargs ls -l`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
		RunE: a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			ids, err := c.RequiredExistingFiles(ctx, id)
			if err != nil {
				return err
			}
			required := make(map[int64]bool, len(ids))
			for _, fileID := range ids {
				required[fileID] = true
			}
			var files []api.File
			for f, err := range c.Files(ctx, client.FileFilter{WorkflowID: id}) {
				if err != nil {
					return err
				}
				if required[idOf(f.ID)] {
					files = append(files, f)
				}
			}
			return showList(a, fileColumns, files)
		}),
	}
}
