package slurmcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/outputdir"
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// sacctRow is a Slurm job, or a step of it, as accounting has it.
type sacctRow struct {
	SlurmJobID string `json:"slurm_job_id"`
	JobStep    string `json:"job_step"`
	State      string `json:"state"`
	ExitCode   string `json:"exit_code"`
	Elapsed    string `json:"elapsed"`
	MaxRSS     string `json:"max_rss"`
	CPUTime    string `json:"cpu_time"`
	Nodes      string `json:"nodes"`
}

// SacctReport is the JSON output of slurm sacct.
type SacctReport struct {
	WorkflowID     int64      `json:"workflow_id"`
	TotalSlurmJobs int        `json:"total_slurm_jobs"`
	Summary        []sacctRow `json:"summary"`
	Errors         []string   `json:"errors"`
}

var sacctColumns = cli.List[sacctRow]{Things: "records", Columns: []cli.Column[sacctRow]{
	{Title: "Slurm Job", Cell: func(r sacctRow) string { return r.SlurmJobID }},
	{Title: "Job Step", Cell: func(r sacctRow) string { return r.JobStep }},
	{Title: "State", Cell: func(r sacctRow) string { return r.State }},
	{Title: "Exit Code", Cell: func(r sacctRow) string { return r.ExitCode }},
	{Title: "Elapsed", Cell: func(r sacctRow) string { return r.Elapsed }},
	{Title: "Max RSS", Cell: func(r sacctRow) string { return r.MaxRSS }},
	{Title: "CPU Time", Cell: func(r sacctRow) string { return r.CPUTime }},
	{Title: "Nodes", Cell: func(r sacctRow) string { return r.Nodes }},
}}

func newSacct(a *cli.Factory) *cobra.Command {
	var (
		outputDir string
		save      bool
	)
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   "sacct [WORKFLOW]",
		Short: "Show Slurm's accounting of a workflow's allocations",
		Long: `Show Slurm's accounting records of a workflow's allocations and their steps. sacct is
called once, on this machine.`,
		Example: `  torc-slurm slurm sacct 12
  torc-slurm -f json slurm sacct 12 | jq '.summary[] | select(.state == "OUT_OF_MEMORY")'`,
		Annotations: cli.WithCSV(cli.ServerExits()),
	})
	cmd.Flags().StringVarP(&outputDir, "output-dir", "o", "", "`DIR` for --save-json (default torc_output)")
	cmd.Flags().BoolVar(&save, "save-json", false, "write the records of each Slurm job to sacct_<ID>.json in the output directory")
	cmd.RunE = a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		accounts, err := accounting(ctx, a, c, id)
		if err != nil {
			return err
		}
		if save {
			if err := accounts.save(a.Path(cli.FirstOf(outputDir, a.Config.Client.Run.OutputDir))); err != nil {
				return err
			}
		}
		report := accounts.report()
		if a.Format == cli.FormatJSON {
			return a.WriteJSON(report)
		}
		for _, e := range report.Errors {
			a.Note("warning: %s", e)
		}
		return cli.ShowList(a, sacctColumns, report.Summary)
	})
	return cmd
}

// accounts are Slurm's accounting records of a workflow's allocations.
type accounts struct {
	workflowID int64
	jobs       []slurm.JobID // ascending
	poll       slurm.Accounting
}

// accounting returns the accounting records of all allocations of a workflow.
func accounting(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64) (*accounts, error) {
	all, err := slurmJobsOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	out := &accounts{workflowID: id, jobs: all.ids}
	if len(all.ids) == 0 {
		return out, nil
	}
	out.poll, err = a.SlurmClient().Accounting(ctx, slurm.AccountingQuery{IDs: all.ids, Since: all.since, Duplicates: true})
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "call sacct: %v", err)
	}
	return out, nil
}

// slurmJobs are the Slurm jobs of a workflow, and the earliest time of them.
type slurmJobs struct {
	ids   []slurm.JobID
	since time.Time
}

// slurmJobsOf returns the Slurm jobs that were requested for a workflow, by us or by a client
// of torc.
func slurmJobsOf(ctx context.Context, c *cli.Connection, id int64) (all slurmJobs, err error) {
	w, err := c.Workflows.Get(ctx, id)
	if err != nil {
		return all, err
	}
	// Allocations are younger than their workflow.
	if all.since, err = time.Parse(time.RFC3339Nano, cli.OrEmpty(w.Timestamp)); err != nil {
		all.since = time.Unix(0, 0)
	}
	all.since = all.since.Add(-time.Hour)
	for n, err := range c.ScheduledComputeNodes.List(ctx, client.ScheduledComputeNodeFilter{WorkflowID: id}) {
		if err != nil {
			return all, err
		}
		if job := (slurm.JobID{Number: n.SchedulerID}); n.SchedulerType == compute.SchedulerSlurm && n.SchedulerID > 0 && !slices.Contains(all.ids, job) {
			all.ids = append(all.ids, job)
		}
	}
	slices.SortFunc(all.ids, func(x, y slurm.JobID) int { return int(x.Number - y.Number) })
	return all, nil
}

// unknown returns a line for each Slurm job without accounting records.
func (s *accounts) unknown() []string {
	missing := []string{}
	for _, id := range s.jobs {
		if len(s.poll.Restarts(id)) == 0 {
			missing = append(missing, fmt.Sprintf("there is no accounting record of Slurm job %s", id))
		}
	}
	return missing
}

func (s *accounts) report() SacctReport {
	r := SacctReport{WorkflowID: s.workflowID, TotalSlurmJobs: len(s.jobs), Summary: []sacctRow{}, Errors: s.unknown()}
	for _, x := range s.poll.Records {
		row := sacctRow{
			SlurmJobID: x.ID.Job.String(), JobStep: cli.FirstOf(x.ID.Step, x.Name), State: string(x.State), ExitCode: fmt.Sprintf("%d:%d", x.Exit.Code, x.Exit.Signal),
			Elapsed: slurm.FormatDuration(x.Elapsed), CPUTime: slurm.FormatDuration(x.CPUTime.Truncate(time.Second)), Nodes: x.NodeList,
		}
		if x.MaxRSS > 0 {
			row.MaxRSS = workflow.FormatBytes(x.MaxRSS)
		}
		r.Summary = append(r.Summary, row)
	}
	return r
}

// save writes the records of each Slurm job to a separate file.
func (s *accounts) save(dir string) error {
	if err := outputdir.Make(dir); err != nil {
		return err
	}
	var failed []error
	for _, id := range s.jobs {
		var records []slurm.Record
		for _, r := range s.poll.Records {
			if r.ID.Job == id {
				records = append(records, r)
			}
		}
		text, err := json.MarshalIndent(records, "", "  ")
		if err == nil {
			err = trustedfile.WriteOwn(filepath.Join(dir, fmt.Sprintf("sacct_%s.json", id)), append(text, '\n'), 0o666)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// newStats returns the command that shows the accounting that runners in slurm mode stored.
func newStats(a *cli.Factory) *cobra.Command {
	var job, run, attempt int64
	cmd := &cobra.Command{
		Use:   "stats WORKFLOW",
		Short: "Show Slurm's accounting of the jobs of a workflow",
		Long: `Show Slurm's accounting of attempts of jobs that ran as separate steps (execution mode
slurm). The measurements of runners are in
` + "`torc-slurm results list`" + `.`,
		Example: `  torc-slurm slurm stats 12
  torc-slurm slurm stats 12 --job-id 41`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.WithCSV(cli.ServerExits()),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.Int64Var(&job, "job-id", 0, "only those of this `JOB`")
	f.Int64Var(&run, "run-id", 0, "only those of this `RUN`")
	f.Int64Var(&attempt, "attempt-id", 0, "only those of this `ATTEMPT`")
	cmd.RunE = a.WorkflowView(func(ctx context.Context, c *cli.Connection, id int64) error {
		all, err := client.Collect(c.SlurmStats.List(ctx, client.SlurmStatsFilter{
			WorkflowID: id, JobID: cli.Given(cmd, "job-id", job), RunID: cli.Given(cmd, "run-id", run), AttemptID: cli.Given(cmd, "attempt-id", attempt),
		}))
		if err != nil {
			return err
		}
		elapsed, err := elapsedOf(ctx, c, id)
		if err != nil {
			return err
		}
		return cli.ShowList(a, statsColumns(elapsed), all)
	})
	return cmd
}

// attemptKey names an attempt within a workflow.
type attemptKey struct{ job, run, attempt int64 }

// elapsedOf returns the duration of attempts in seconds.
func elapsedOf(ctx context.Context, c *cli.Connection, id int64) (map[attemptKey]float64, error) {
	elapsed := make(map[attemptKey]float64)
	for r, err := range c.Results.List(ctx, client.ResultFilter{WorkflowID: id, AllRuns: true}) {
		if err != nil {
			return nil, err
		}
		elapsed[attemptKey{r.JobID, r.RunID, max(1, cli.OrZero(r.AttemptID))}] = r.ExecTimeMinutes * 60
	}
	return elapsed, nil
}

func statsColumns(elapsed map[attemptKey]float64) cli.List[api.SlurmStats] {
	type row = api.SlurmStats
	return cli.List[row]{Things: "records", Columns: []cli.Column[row]{
		{Title: "Job ID", Cell: func(s row) string { return fmt.Sprint(s.JobID) }},
		{Title: "Run", Cell: func(s row) string { return fmt.Sprint(s.RunID) }},
		{Title: "Attempt", Cell: func(s row) string { return fmt.Sprint(s.AttemptID) }},
		{Title: "Slurm Job", Cell: func(s row) string { return cli.OrEmpty(s.SlurmJobID) }},
		{Title: "Max RSS", Cell: func(s row) string { return cli.BytesText(s.MaxRSSBytes) }},
		{Title: "Max VM", Cell: func(s row) string { return cli.BytesText(s.MaxVMSizeBytes) }},
		{Title: "Ave CPU (s)", Cell: func(s row) string { return cli.OrEmpty(s.AveCPUSeconds) }},
		{Title: "CPU %", Cell: func(s row) string {
			took := elapsed[attemptKey{s.JobID, s.RunID, s.AttemptID}]
			if s.AveCPUSeconds == nil || took <= 0 {
				return ""
			}
			return cli.PercentText(*s.AveCPUSeconds / took * 100)
		}},
		{Title: "Nodes", Cell: func(s row) string { return cli.OrEmpty(s.NodeList) }},
	}}
}
