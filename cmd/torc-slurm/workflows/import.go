package workflows

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// importResult is the JSON output of workflows import.
type importResult struct {
	Success      bool   `json:"success"`
	WorkflowID   int64  `json:"workflow_id"`
	WorkflowName string `json:"workflow_name"`
	Jobs         int    `json:"jobs"`
	Files        int    `json:"files"`
	UserData     int    `json:"user_data"`
	Results      int    `json:"results"`
	Events       int    `json:"events"`
}

func newImport(a *cli.Factory) *cobra.Command {
	var (
		name                    string
		skipResults, skipEvents bool
	)
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a workflow from a file that export has written",
		Long: `Make a new workflow from a file that "workflows export" has written; - reads it
from standard input. The workflow belongs to you and has new ids. Its jobs are
uninitialized, whatever they were; results and events come along as history.`,
		Example: `  torc-slurm workflows import sweep.json --name "sweep, again"
  gunzip -c sweep.json.gz | torc-slurm workflows import - --skip-events`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits("3 there is no such file", "6 the file is not an exported workflow"),
		ValidArgsFunction: cli.CompletePaths,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := readDocumentFile(a, args[0])
			if err != nil {
				return err
			}
			d.Workflow.Name, d.Workflow.User = cli.FirstOf(name, d.Workflow.Name), a.User()
			if skipResults {
				d.Results = nil
			}
			if skipEvents {
				d.Events = nil
			}
			return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
				return importDocument(ctx, a, c, d)
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "other `NAME` of the workflow")
	f.BoolVar(&skipResults, "skip-results", false, "leave out results")
	f.BoolVar(&skipEvents, "skip-events", false, "leave out events")
	return cmd
}

// readDocumentFile reads an exported workflow.
func readDocumentFile(a *cli.Factory, name string) (*workflowDocument, error) {
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(a.Path(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, workflow.Errorf(workflow.CodeNotFound, "there is no file %s", name)
		case err != nil:
			return nil, cli.UsageErrorf("cannot read the workflow: %v", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d := new(workflowDocument)
	err = json.Unmarshal(text, d)
	major, _, _ := strings.Cut(d.ExportVersion, ".")
	ours, _, _ := strings.Cut(exportVersion, ".")
	switch {
	case err != nil:
		return nil, notExported("%s is not an exported workflow: %v", name, err)
	case d.ExportVersion == "" || d.Workflow.Name == "":
		return nil, notExported("%s is not an exported workflow: it has no export_version or no workflow", name)
	case major != ours:
		return nil, notExported("%s has the format %s; this program reads %s", name, d.ExportVersion, exportVersion)
	}
	return d, nil
}

func notExported(format string, args ...any) error {
	return &cli.ExitError{Status: cli.ExitInvalidSpec, Err: workflow.Errorf(workflow.CodeInvalid, format, args...)}
}

func importDocument(ctx context.Context, a *cli.Factory, c *cli.Connection, d *workflowDocument) error {
	def, err := d.definition()
	if err != nil {
		return &cli.ExitError{Status: cli.ExitInvalidSpec, Err: err}
	}
	created, err := c.Workflows.CreateDefinition(ctx, def, rand.Text())
	if err != nil {
		return err
	}
	id := created.WorkflowID
	if err := d.writeHistory(ctx, c, id); err != nil {
		return fmt.Errorf("workflow %d was made, but not all of its history: %w", id, err)
	}
	return a.ShowMessage(importResult{true, id, def.Name, len(d.Jobs), len(d.Files), len(d.UserData), len(d.Results), len(d.Events)},
		"Imported workflow %d (%s)", id, workflow.CountOf(int64(len(d.Jobs)), "job", "jobs"))
}

// writeHistory adds the results, with the compute nodes that they are of, and
// the events.
func (d *workflowDocument) writeHistory(ctx context.Context, c *cli.Connection, id int64) error {
	if len(d.Results) > 0 {
		if err := d.writeResults(ctx, c, id); err != nil {
			return err
		}
	}
	for _, e := range d.Events {
		if len(e.Data) == 0 || string(e.Data) == "null" {
			continue // its data was removed
		}
		if _, err := c.Events.Create(ctx, id, e.Data); err != nil {
			return err
		}
	}
	return nil
}

func (d *workflowDocument) writeResults(ctx context.Context, c *cli.Connection, id int64) error {
	ids, err := c.Jobs.IDs(ctx, id)
	if err != nil {
		return err
	}
	if len(ids) != len(d.Jobs) {
		return fmt.Errorf("workflow %d has %d jobs instead of %d", id, len(ids), len(d.Jobs))
	}
	jobs := make(map[int64]int64, len(ids)) // from old to new; both are in the order of the jobs
	for i, j := range d.Jobs {
		jobs[cli.OrZero(j.ID)] = ids[i]
	}
	nodes := make(map[int64]int64)
	inactive := false
	for _, n := range d.ComputeNodes {
		old := cli.OrZero(n.ID)
		n.ID, n.WorkflowID, n.IsActive, n.SchedulerConfigID, n.Scheduler = nil, id, &inactive, nil, nil
		created, err := c.ComputeNodes.Create(ctx, &n)
		if err != nil {
			return err
		}
		nodes[old] = cli.OrZero(created.ID)
	}
	for _, r := range d.Results {
		job, node := jobs[r.JobID], nodes[r.ComputeNodeID]
		if job == 0 || node == 0 {
			return workflow.Errorf(workflow.CodeInvalid, "result %d is of a job or a compute node that the file does not have", cli.OrZero(r.ID))
		}
		r.ID, r.JobName, r.Cause, r.WorkflowID, r.JobID, r.ComputeNodeID = nil, nil, nil, id, job, node
		if _, err := c.Results.Create(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}
