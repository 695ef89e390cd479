package main

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
	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
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

// sacctReport is what slurm sacct says in JSON.
type sacctReport struct {
	WorkflowID     int64      `json:"workflow_id"`
	TotalSlurmJobs int        `json:"total_slurm_jobs"`
	Summary        []sacctRow `json:"summary"`
	Errors         []string   `json:"errors"`
}

var sacctColumns = list[sacctRow]{things: "records", columns: []column[sacctRow]{
	{title: "Slurm Job", cell: func(r sacctRow) string { return r.SlurmJobID }},
	{title: "Job Step", cell: func(r sacctRow) string { return r.JobStep }},
	{title: "State", cell: func(r sacctRow) string { return r.State }},
	{title: "Exit Code", cell: func(r sacctRow) string { return r.ExitCode }},
	{title: "Elapsed", cell: func(r sacctRow) string { return r.Elapsed }},
	{title: "Max RSS", cell: func(r sacctRow) string { return r.MaxRSS }},
	{title: "CPU Time", cell: func(r sacctRow) string { return r.CPUTime }},
	{title: "Nodes", cell: func(r sacctRow) string { return r.Nodes }},
}}

func newSlurmSacctCommand(a *app) *cobra.Command {
	var (
		outputDir string
		save      bool
	)
	cmd := &cobra.Command{
		Use:   "sacct [WORKFLOW]",
		Short: "Show what Slurm accounts for a workflow's allocations",
		Long: `Show what Slurm's accounting has about the allocations of a workflow, and about
their steps. sacct is asked on this machine, once.`,
		Example: `  torc-slurm slurm sacct 12
  torc-slurm -f json slurm sacct 12 | jq '.summary[] | select(.state == "OUT_OF_MEMORY")'`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	cmd.Flags().StringVarP(&outputDir, "output-dir", "o", "", "`DIR` for --save-json (default torc_output)")
	cmd.Flags().BoolVar(&save, "save-json", false, "write the records of each Slurm job to sacct_<ID>.json in the output directory")
	cmd.RunE = a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		accounts, err := a.accounting(ctx, c, id)
		if err != nil {
			return err
		}
		if save {
			if err := accounts.save(a.path(firstOf(outputDir, a.config.Client.Run.OutputDir))); err != nil {
				return err
			}
		}
		report := accounts.report()
		if a.format == formatJSON {
			return a.writeJSON(report)
		}
		for _, e := range report.Errors {
			a.note("warning: %s", e)
		}
		return showList(a, sacctColumns, report.Summary)
	})
	return cmd
}

// accounts is what Slurm's accounting has about a workflow's allocations.
type accounts struct {
	workflowID int64
	jobs       []slurm.JobID // ascending
	look       slurm.Accounting
}

// accounting asks sacct about all allocations of a workflow.
func (a *app) accounting(ctx context.Context, c *connection, id int64) (*accounts, error) {
	all, err := slurmJobsOf(ctx, c, id)
	if err != nil {
		return nil, err
	}
	out := &accounts{workflowID: id, jobs: all.ids}
	if len(all.ids) == 0 {
		return out, nil
	}
	out.look, err = a.slurmClient().Accounting(ctx, slurm.AccountingQuery{IDs: all.ids, Since: all.since, Duplicates: true})
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeUnavailable, "ask sacct: %v", err)
	}
	return out, nil
}

// slurmJobs are the Slurm jobs of a workflow, and since when there can be any.
type slurmJobs struct {
	ids   []slurm.JobID
	since time.Time
}

// slurmJobsOf lists the Slurm jobs that were ever asked for, by us or by a
// client of torc.
func slurmJobsOf(ctx context.Context, c *connection, id int64) (all slurmJobs, err error) {
	w, err := c.Workflow(ctx, id)
	if err != nil {
		return all, err
	}
	// Allocations are younger than their workflow.
	if all.since, err = time.Parse(time.RFC3339Nano, orEmpty(w.Timestamp)); err != nil {
		all.since = time.Unix(0, 0)
	}
	all.since = all.since.Add(-time.Hour)
	for n, err := range c.ScheduledComputeNodes(ctx, client.ScheduledComputeNodeFilter{WorkflowID: id}) {
		if err != nil {
			return all, err
		}
		if job := (slurm.JobID{Number: n.SchedulerID}); n.SchedulerType == workflow.SchedulerSlurm && n.SchedulerID > 0 && !slices.Contains(all.ids, job) {
			all.ids = append(all.ids, job)
		}
	}
	slices.SortFunc(all.ids, func(x, y slurm.JobID) int { return int(x.Number - y.Number) })
	return all, nil
}

// unknown says of which Slurm jobs accounting has nothing.
func (s *accounts) unknown() []string {
	missing := []string{}
	for _, id := range s.jobs {
		if len(s.look.Lives(id)) == 0 {
			missing = append(missing, fmt.Sprintf("accounting has nothing about Slurm job %s", id))
		}
	}
	return missing
}

func (s *accounts) report() sacctReport {
	r := sacctReport{WorkflowID: s.workflowID, TotalSlurmJobs: len(s.jobs), Summary: []sacctRow{}, Errors: s.unknown()}
	for _, x := range s.look.Records {
		row := sacctRow{
			SlurmJobID: x.ID.Job.String(), JobStep: firstOf(x.ID.Step, x.Name), State: string(x.State), ExitCode: fmt.Sprintf("%d:%d", x.Exit.Code, x.Exit.Signal),
			Elapsed: slurm.FormatDuration(x.Elapsed), CPUTime: slurm.FormatDuration(x.CPUTime.Truncate(time.Second)), Nodes: x.NodeList,
		}
		if x.MaxRSS > 0 {
			row.MaxRSS = workflow.FormatBytes(x.MaxRSS)
		}
		r.Summary = append(r.Summary, row)
	}
	return r
}

// save writes the records of each Slurm job to a file of its own.
func (s *accounts) save(dir string) error {
	if err := makeOutputDir(dir); err != nil {
		return err
	}
	var failed []error
	for _, id := range s.jobs {
		var records []slurm.Record
		for _, r := range s.look.Records {
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

// newSlurmStatsCommand shows what runners in slurm mode have stored.
func newSlurmStatsCommand(a *app) *cobra.Command {
	var job, run, attempt int64
	cmd := &cobra.Command{
		Use:   "stats WORKFLOW",
		Short: "Show what Slurm accounted for the jobs of a workflow",
		Long: `Show what Slurm accounted for the attempts of jobs that ran as steps of their own
(execution mode slurm). What runners measured themselves is in
` + "`torc-slurm results list`" + `.`,
		Example: `  torc-slurm slurm stats 12
  torc-slurm slurm stats 12 --job-id 41`,
		Args:              cobra.ExactArgs(1),
		Annotations:       withCSV(serverExits()),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	f := cmd.Flags()
	f.Int64Var(&job, "job-id", 0, "only those of this `JOB`")
	f.Int64Var(&run, "run-id", 0, "only those of this `RUN`")
	f.Int64Var(&attempt, "attempt-id", 0, "only those of this `ATTEMPT`")
	cmd.RunE = a.workflowView(func(ctx context.Context, c *connection, id int64) error {
		all, err := client.Collect(c.SlurmStats(ctx, client.SlurmStatsFilter{
			WorkflowID: id, JobID: given(cmd, "job-id", job), RunID: given(cmd, "run-id", run), AttemptID: given(cmd, "attempt-id", attempt),
		}))
		if err != nil {
			return err
		}
		elapsed, err := elapsedOf(ctx, c, id)
		if err != nil {
			return err
		}
		return showList(a, statsColumns(elapsed), all)
	})
	return cmd
}

// attemptKey names an attempt within a workflow.
type attemptKey struct{ job, run, attempt int64 }

// elapsedOf is how long attempts took, in seconds.
func elapsedOf(ctx context.Context, c *connection, id int64) (map[attemptKey]float64, error) {
	elapsed := make(map[attemptKey]float64)
	for r, err := range c.Results(ctx, client.ResultFilter{WorkflowID: id, AllRuns: true}) {
		if err != nil {
			return nil, err
		}
		elapsed[attemptKey{r.JobID, r.RunID, max(1, idOf(r.AttemptID))}] = r.ExecTimeMinutes * 60
	}
	return elapsed, nil
}

func statsColumns(elapsed map[attemptKey]float64) list[api.SlurmStats] {
	type row = api.SlurmStats
	return list[row]{things: "records", columns: []column[row]{
		{title: "Job ID", cell: func(s row) string { return fmt.Sprint(s.JobID) }},
		{title: "Run", cell: func(s row) string { return fmt.Sprint(s.RunID) }},
		{title: "Attempt", cell: func(s row) string { return fmt.Sprint(s.AttemptID) }},
		{title: "Slurm Job", cell: func(s row) string { return orEmpty(s.SlurmJobID) }},
		{title: "Max RSS", cell: func(s row) string { return bytesText(s.MaxRSSBytes) }},
		{title: "Max VM", cell: func(s row) string { return bytesText(s.MaxVMSizeBytes) }},
		{title: "Ave CPU (s)", cell: func(s row) string { return orEmpty(s.AveCPUSeconds) }},
		{title: "CPU %", cell: func(s row) string {
			took := elapsed[attemptKey{s.JobID, s.RunID, s.AttemptID}]
			if s.AveCPUSeconds == nil || took <= 0 {
				return ""
			}
			return percentText(*s.AveCPUSeconds / took * 100)
		}},
		{title: "Nodes", cell: func(s row) string { return orEmpty(s.NodeList) }},
	}}
}
