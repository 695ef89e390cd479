package workflows

import (
	"context"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

// exportVersion is that of the format of exported workflows.
const exportVersion = "1.0"

// workflowDocument is a whole workflow as a file: its rows as the API has them.
// Ids are those of the server that it came from; they only connect the rows
// with each other.
type workflowDocument struct {
	ExportVersion        string                     `json:"export_version"`
	ExportedAt           string                     `json:"exported_at"`
	Workflow             api.Workflow               `json:"workflow"`
	Files                []api.File                 `json:"files"`
	UserData             []api.UserData             `json:"user_data"`
	ResourceRequirements []api.ResourceRequirements `json:"resource_requirements"`
	SlurmSchedulers      []api.SlurmScheduler       `json:"slurm_schedulers"`
	FailureHandlers      []api.FailureHandler       `json:"failure_handlers"`
	Stages               []api.Stage                `json:"stages,omitempty"`
	Jobs                 []api.Job                  `json:"jobs"`
	Actions              []api.Action               `json:"workflow_actions"`
	ComputeNodes         []api.ComputeNode          `json:"compute_nodes,omitempty"`
	Results              []api.Result               `json:"results,omitempty"`
	Events               []api.Event                `json:"events,omitempty"`
}

// readDocument reads all of a workflow except its history.
func readDocument(ctx context.Context, c *cli.Connection, id int64) (*workflowDocument, error) {
	w, err := c.Workflows.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &workflowDocument{ExportVersion: exportVersion, Workflow: *w}
	for _, read := range []func() error{
		func() (err error) {
			d.Files, err = client.Collect(c.Files.List(ctx, client.FileFilter{WorkflowID: id}))
			return err
		},
		func() (err error) {
			d.UserData, err = client.Collect(c.UserData.List(ctx, client.UserDataFilter{WorkflowID: id}))
			return err
		},
		func() (err error) {
			d.ResourceRequirements, err = client.Collect(c.ResourceRequirements.List(ctx, client.ResourceRequirementsFilter{WorkflowID: id}))
			return err
		},
		func() (err error) {
			d.SlurmSchedulers, err = client.Collect(c.SlurmSchedulers.List(ctx, client.SlurmSchedulerFilter{WorkflowID: id}))
			return err
		},
		func() (err error) {
			d.FailureHandlers, err = client.Collect(c.FailureHandlers.List(ctx, id, client.Page{}))
			return err
		},
		func() (err error) {
			d.Jobs, err = client.Collect(c.Jobs.List(ctx, client.JobFilter{WorkflowID: id, IncludeRelationships: true}))
			return err
		},
		func() (err error) {
			d.Stages, err = c.Workflows.Stages(ctx, id)
			return err
		},
		func() (err error) {
			d.Actions, err = c.Actions.List(ctx, id)
			return err
		},
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// readHistory adds results and events.
func (d *workflowDocument) readHistory(ctx context.Context, c *cli.Connection, id int64, results, events bool) (err error) {
	if results {
		if d.ComputeNodes, err = client.Collect(c.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: id})); err != nil {
			return err
		}
		if d.Results, err = client.Collect(c.Results.List(ctx, client.ResultFilter{WorkflowID: id, AllRuns: true})); err != nil {
			return err
		}
	}
	if events {
		d.Events, err = client.Collect(c.Events.List(ctx, client.EventFilter{WorkflowID: id}))
	}
	return err
}
