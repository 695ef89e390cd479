package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
)

func newJobsListCommand(a *app) *cobra.Command {
	var (
		listing   listFlags
		status    string
		upstream  int64
		relations bool
		exclude   []string
	)
	cmd := &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the jobs of a workflow",
		Example: `  torc-slurm jobs list 12
  torc-slurm jobs list 12 -s failed -x command
  torc-slurm -f csv jobs list 12 > jobs.csv
  torc-slurm -f json jobs list 12 --include-relationships`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits(),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		filter := client.JobFilter{Page: listing.page, UpstreamJobID: given(cmd, "upstream-job-id", upstream), IncludeRelationships: relations}
		if status != "" {
			s, err := parseStatus(status)
			if err != nil {
				return err
			}
			filter.Status = &s
		}
		if err := listing.check(); err != nil {
			return err
		}
		return a.workflowView(func(ctx context.Context, c *connection, id int64) error {
			filter.WorkflowID = id
			return a.listJobs(ctx, c, filter, exclude)
		})(cmd, args)
	}
	listing.add(cmd, listShorthands{}, jobSortable...)
	freeLetterS(a, cmd)
	f := cmd.Flags()
	f.StringVarP(&status, "status", "s", "", "only jobs in this status")
	f.Int64Var(&upstream, "upstream-job-id", 0, "only jobs that depend on this one")
	f.BoolVar(&relations, "include-relationships", false, "with the ids of dependencies, files and user data (json)")
	f.StringArrayVarP(&exclude, "exclude", "x", nil, "leave out this column; may be repeated")
	completeWords(cmd, "status", statusNames()...)
	return cmd
}

func (a *app) listJobs(ctx context.Context, c *connection, filter client.JobFilter, exclude []string) error {
	columns, err := withoutColumns(jobColumns(nil, a.Now()), exclude)
	if err != nil {
		return err
	}
	jobs, err := client.Collect(c.Jobs(ctx, filter))
	if err != nil {
		return err
	}
	running := slices.ContainsFunc(jobs, func(j api.Job) bool { return j.ComputeNodeID != nil })
	if running && a.format != formatJSON {
		nodes, err := nodeNames(ctx, c, filter.WorkflowID)
		if err != nil {
			return err
		}
		if columns, err = withoutColumns(jobColumns(nodes, a.Now()), exclude); err != nil {
			return err
		}
	}
	return showList(a, columns, jobs)
}

// nodeNames are the hosts of a workflow's active compute nodes.
func nodeNames(ctx context.Context, c *connection, workflowID int64) (map[int64]string, error) {
	active := true
	names := make(map[int64]string)
	for n, err := range c.ComputeNodes(ctx, client.ComputeNodeFilter{WorkflowID: workflowID, IsActive: &active}) {
		if err != nil {
			return nil, err
		}
		names[idOf(n.ID)] = n.Hostname
	}
	return names, nil
}

func jobColumns(nodes map[int64]string, now time.Time) list[api.Job] {
	return list[api.Job]{things: "jobs", columns: []column[api.Job]{
		{title: "ID", cell: func(j api.Job) string { return orEmpty(j.ID) }},
		{title: "Name", cell: func(j api.Job) string { return j.Name }},
		{title: "Status", cell: func(j api.Job) string { return statusOf(j).String() }},
		{title: "Priority", cell: func(j api.Job) string { return orEmpty(j.Priority) }},
		{title: "Compute Node", cell: func(j api.Job) string { return nodes[idOf(j.ComputeNodeID)] }},
		{title: "Elapsed", cell: func(j api.Job) string { return elapsedSince(j.StartTime, now) }},
		{title: "Command", cell: func(j api.Job) string { return j.Command }},
	}}
}

// withoutColumns leaves out the columns with these titles, in any case and
// with - or _ for a space.
func withoutColumns[T any](l list[T], titles []string) (list[T], error) {
	plain := strings.NewReplacer("-", " ", "_", " ")
	for _, title := range titles {
		at := slices.IndexFunc(l.columns, func(c column[T]) bool { return strings.EqualFold(c.title, plain.Replace(title)) })
		if at < 0 {
			var known []string
			for _, c := range l.columns {
				known = append(known, c.title)
			}
			return l, usageErrorf("there is no column %q to leave out; there are %s", title, joined(known))
		}
		l.columns = slices.Delete(slices.Clone(l.columns), at, at+1)
	}
	return l, nil
}
