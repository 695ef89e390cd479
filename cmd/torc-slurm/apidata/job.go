package apidata

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// StatusOf is the status of a job; the server always sends it.
func StatusOf(j api.Job) workflow.JobStatus {
	if j.Status == nil {
		return workflow.Uninitialized
	}
	return *j.Status
}

// StatusNames are the names of the job statuses.
func StatusNames() []string {
	var names []string
	for _, s := range workflow.JobStatuses() {
		names = append(names, s.String())
	}
	return names
}

// ParseStatus reads a job status of the user's.
func ParseStatus(text string) (workflow.JobStatus, error) {
	s, err := workflow.ParseJobStatus(text)
	if err != nil {
		return 0, cli.UsageErrorf("unknown job status %q: the statuses are %s", text, cli.Joined(StatusNames()))
	}
	return s, nil
}

// CountParts lists the counts that are not zero, in the order of a job's life
// from its end.
func CountParts(c api.JobCounts) []string {
	var parts []string
	for _, p := range []struct {
		n    int64
		what workflow.JobStatus
	}{
		{c.Completed, workflow.Completed}, {c.Failed, workflow.Failed}, {c.Terminated, workflow.Terminated},
		{c.Canceled, workflow.Canceled}, {c.PendingFailed, workflow.PendingFailed}, {c.Running, workflow.Running},
		{c.Pending, workflow.Pending}, {c.Ready, workflow.Ready}, {c.Blocked, workflow.Blocked},
		{c.Uninitialized, workflow.Uninitialized}, {c.Disabled, workflow.Disabled},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return parts
}

// NodeNames are the hosts of a workflow's active compute nodes.
func NodeNames(ctx context.Context, c *cli.Connection, workflowID int64) (map[int64]string, error) {
	active := true
	names := make(map[int64]string)
	for n, err := range c.ComputeNodes.List(ctx, client.ComputeNodeFilter{WorkflowID: workflowID, IsActive: &active}) {
		if err != nil {
			return nil, err
		}
		names[cli.OrZero(n.ID)] = n.Hostname
	}
	return names, nil
}

// JobColumns are how jobs are listed; nodes has the hosts of compute nodes.
func JobColumns(nodes map[int64]string, now time.Time) cli.List[api.Job] {
	return cli.List[api.Job]{Things: "jobs", Columns: []cli.Column[api.Job]{
		{Title: "ID", Cell: func(j api.Job) string { return cli.OrEmpty(j.ID) }},
		{Title: "Name", Cell: func(j api.Job) string { return j.Name }},
		{Title: "Status", Cell: func(j api.Job) string { return StatusOf(j).String() }},
		{Title: "Priority", Cell: func(j api.Job) string { return cli.OrEmpty(j.Priority) }},
		{Title: "Compute Node", Cell: func(j api.Job) string { return nodes[cli.OrZero(j.ComputeNodeID)] }},
		{Title: "Elapsed", Cell: func(j api.Job) string { return cli.ElapsedSince(j.StartTime, now) }},
		{Title: "Command", Cell: func(j api.Job) string { return j.Command }},
	}}
}
