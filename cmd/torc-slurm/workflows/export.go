package workflows

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newExport(a *cli.Factory) *cobra.Command {
	var (
		output          string
		results, events bool
	)
	cmd := &cobra.Command{
		Use:   "export [WORKFLOW]",
		Short: "Write a workflow as a portable file",
		Long: `Write a workflow as JSON that "workflows import" reads, on this server or another
one: its jobs and what belongs to them, and, if wanted, results and events. Files
on the disk are not part of it.`,
		Example: `  torc-slurm workflows export 12 -o sweep.json
  torc-slurm workflows export 12 --include-results | gzip > sweep.json.gz`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		RunE: a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			d, err := readDocument(ctx, c, id)
			if err != nil {
				return err
			}
			if err := d.readHistory(ctx, c, id, results, events); err != nil {
				return err
			}
			d.ExportedAt = a.Now().UTC().Format(time.RFC3339)
			if output == "" || output == "-" {
				return writeDocument(a.Stdout, d)
			}
			path := a.Path(output)
			if err := writeDocumentFile(path, d); err != nil {
				return err
			}
			return a.ShowMessage(exportResult{true, id, d.Workflow.Name, path, len(d.Jobs), len(d.Files), len(d.UserData)},
				"Exported workflow %d (%s) to %s", id, workflow.CountOf(int64(len(d.Jobs)), "job", "jobs"), output)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "write to this `FILE` instead of standard output")
	f.BoolVar(&results, "include-results", false, "with the results of all runs")
	f.BoolVar(&events, "include-events", false, "with the events")
	return cmd
}

// exportResult is the JSON output of workflows export when it writes to a file.
type exportResult struct {
	Success      bool   `json:"success"`
	WorkflowID   int64  `json:"workflow_id"`
	WorkflowName string `json:"workflow_name"`
	Path         string `json:"path"`
	Jobs         int    `json:"jobs"`
	Files        int    `json:"files"`
	UserData     int    `json:"user_data"`
}

func writeDocument(w io.Writer, d *workflowDocument) error {
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write workflow %q: %w", d.Workflow.Name, err)
	}
	return out.Flush()
}

// writeDocumentFile writes beside the file and renames, so that there is never
// half a file.
func writeDocumentFile(path string, d *workflowDocument) error {
	part := path + ".part"
	f, err := trustedfile.OpenOwn(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // environments may have secrets
	if err != nil {
		return cli.UsageErrorf("cannot write the workflow: %v", err)
	}
	defer os.Remove(part)
	err = writeDocument(f, d)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(part, path)
}
