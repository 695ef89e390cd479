package jobs

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newList(a *cli.Factory) *cobra.Command {
	var (
		listing   cli.ListFlags
		status    string
		upstream  int64
		relations bool
		exclude   []string
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "list [WORKFLOW]",
		Short: "List the jobs of a workflow",
		Example: `  torc-slurm jobs list 12
  torc-slurm jobs list 12 -s failed -x command
  torc-slurm -f csv jobs list 12 > jobs.csv
  torc-slurm -f json jobs list 12 --include-relationships`,
	})
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		filter := client.JobFilter{Page: listing.Page, UpstreamJobID: cli.Given(cmd, "upstream-job-id", upstream), IncludeRelationships: relations}
		if status != "" {
			s, err := apidata.ParseStatus(status)
			if err != nil {
				return err
			}
			filter.Status = &s
		}
		if err := listing.Check(); err != nil {
			return err
		}
		return a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
			filter.WorkflowID = id
			return listJobs(ctx, a, c, filter, exclude)
		})(cmd, args)
	}
	listing.Add(cmd, cli.ListShorthands{}, jobSortable...)
	cli.FreeLetterS(a, cmd)
	f := cmd.Flags()
	f.StringVarP(&status, "status", "s", "", "only jobs in this status")
	f.Int64Var(&upstream, "upstream-job-id", 0, "only jobs that depend on this one")
	f.BoolVar(&relations, "include-relationships", false, "with the ids of dependencies, files and user data (json)")
	f.StringArrayVarP(&exclude, "exclude", "x", nil, "leave out this column; may be repeated")
	cli.CompleteWords(cmd, "status", apidata.StatusNames()...)
	return cmd
}

func listJobs(ctx context.Context, a *cli.Factory, c *cli.Connection, filter client.JobFilter, exclude []string) error {
	columns, err := withoutColumns(apidata.JobColumns(nil, a.Now()), exclude)
	if err != nil {
		return err
	}
	jobs, err := client.Collect(c.Jobs.List(ctx, filter))
	if err != nil {
		return err
	}
	running := slices.ContainsFunc(jobs, func(j api.Job) bool { return j.ComputeNodeID != nil })
	if running && a.Format != cli.FormatJSON {
		nodes, err := apidata.NodeNames(ctx, c, filter.WorkflowID)
		if err != nil {
			return err
		}
		if columns, err = withoutColumns(apidata.JobColumns(nodes, a.Now()), exclude); err != nil {
			return err
		}
	}
	return cli.ShowList(a, columns, jobs)
}

// withoutColumns removes the columns with these titles, in any case and with - or _ for a
// space. An unknown title is a usage error.
func withoutColumns[T any](l cli.List[T], titles []string) (cli.List[T], error) {
	plain := strings.NewReplacer("-", " ", "_", " ")
	for _, title := range titles {
		at := slices.IndexFunc(l.Columns, func(c cli.Column[T]) bool { return strings.EqualFold(c.Title, plain.Replace(title)) })
		if at < 0 {
			var known []string
			for _, c := range l.Columns {
				known = append(known, c.Title)
			}
			return l, cli.UsageErrorf("unknown column %q: the columns are %s", title, cli.Joined(known))
		}
		l.Columns = slices.Delete(slices.Clone(l.Columns), at, at+1)
	}
	return l, nil
}
