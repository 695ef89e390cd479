// Package schedulergen creates Slurm schedulers for the remaining jobs of a workflow, and has
// the flags for planning them.
package schedulergen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// RegenerateFlags are the flags of slurm regenerate.
type RegenerateFlags struct {
	PlanFlags
	allocate.Flags
	Partition, Walltime string
	Include             []string
	Submit, DryRun      bool
	Once                bool // --submit requests nothing later
	IgnoreLive          bool // plan as if there were no allocations
	SkipChecks          bool
}

// AddNoAutoSchedule adds the flag --no-auto-schedule of commands that submit again.
func AddNoAutoSchedule(f *pflag.FlagSet, once *bool) {
	f.BoolVar(once, "no-auto-schedule", false, "request missing allocations once, and none later (default: as the workflow was submitted)")
}

// Check returns a usage error for values with which nothing can be planned.
func (f *RegenerateFlags) Check() error {
	if _, err := f.Limit(); err != nil {
		return err
	}
	return f.PlanFlags.Check()
}

// Limit returns the walltime of all allocations, 0 if none was given, or a usage error.
func (f *RegenerateFlags) Limit() (time.Duration, error) {
	if f.Walltime == "" {
		return 0, nil
	}
	d, err := slurm.ParseDuration(f.Walltime)
	if err != nil || d <= 0 || d == slurm.Unlimited {
		return 0, cli.UsageErrorf("--walltime %q is not a time limit for sbatch, such as 04:00:00 or 2-12:00:00", f.Walltime)
	}
	return d, nil
}

// plannedScheduler is a scheduler that was created, or that a dry run would create.
type plannedScheduler struct {
	ID              *int64   `json:"id,omitempty"`
	Name            string   `json:"name"`
	Account         string   `json:"account"`
	Partition       string   `json:"partition"`
	Walltime        string   `json:"walltime"`
	Mem             string   `json:"mem"`
	Nodes           int64    `json:"nodes"`
	NumAllocations  int64    `json:"num_allocations"` // missing allocations
	JobCount        int      `json:"job_count"`
	JobNames        []string `json:"job_names"`
	HasDependencies bool     `json:"has_dependencies"`
	IsNew           bool     `json:"-"`
}

// Regeneration is the result of slurm regenerate.
type Regeneration struct {
	flags      *RegenerateFlags
	workflowID int64
	profile    string
	title      string
	pending    int
	schedulers []plannedScheduler
	live       int64 // existing and requested allocations
	warnings   []string
	plan       *api.SchedulePlan // of --submit
}

// Regenerate makes the daemon create the schedulers, unless it is a dry run, and with --submit
// start a run, if jobs wait for one, and request allocations. It returns what was done, with an
// error if jobs were submitted and no allocation will come of it.
func Regenerate(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags *RegenerateFlags) (*Regeneration, error) {
	request, siteErr, err := flags.request(ctx, a)
	if err != nil {
		return nil, err
	}
	if flags.Submit && !flags.DryRun {
		if err := flags.addSubmission(ctx, a, c, id, request); err != nil {
			return nil, err
		}
	}
	answer, err := c.Workflows.Regenerate(ctx, id, request)
	if err != nil {
		return nil, Refusal(err, siteErr)
	}
	r := &Regeneration{flags: flags, workflowID: id}
	if r.take(answer); r.plan == nil {
		return r, nil
	}
	allocate.NoteFitness(a, r.plan)
	return r, allocate.NoAllocation(a, r.plan)
}

// take stores the daemon's answer.
func (r *Regeneration) take(answer *api.Regeneration) {
	r.profile, r.title, r.pending, r.live = answer.SiteName, answer.SiteTitle, answer.PendingJobs, answer.LiveAllocations
	r.warnings, r.plan = answer.Warnings, answer.Submission
	for _, p := range answer.Schedulers {
		r.schedulers = append(r.schedulers, plannedScheduler{
			ID: p.ID, Name: p.Name, Account: p.Account, Partition: p.Partition, Walltime: p.Walltime, Mem: p.Mem, Nodes: p.Nodes,
			NumAllocations: p.NumAllocations, JobCount: len(p.JobIDs), JobNames: p.JobNames, HasDependencies: p.HasDependencies,
			IsNew: p.IsNew,
		})
	}
}

// request returns the request to the daemon; siteErr says why the site of this machine is
// unknown. err is a usage error, or that of an unknown --profile.
func (f *RegenerateFlags) request(ctx context.Context, a *cli.Factory) (q *api.RegenerateRequest, siteErr, err error) {
	q = &api.RegenerateRequest{DryRun: f.DryRun, IgnoreLive: f.IgnoreLive}
	if q.SchedulerOptions, siteErr, err = f.Request(ctx, a); err != nil {
		return nil, nil, err
	}
	q.Partition = f.Partition
	if q.IncludeJobIDs, err = cli.SplitIDs("job", f.Include); err != nil {
		return nil, nil, err
	}
	limit, err := f.Limit()
	q.WalltimeSeconds = int64(limit / time.Second)
	return q, siteErr, err
}

// Refusal returns an error of the daemon as commands report it. If the daemon knows no site
// either, it is siteErr. If the options do not suit the jobs, it is a usage error.
func Refusal(err, siteErr error) error {
	var refusal *client.APIError
	switch {
	case !errors.As(err, &refusal):
		return err
	case refusal.Status == http.StatusConflict && siteErr != nil:
		return siteErr
	case refusal.Status == http.StatusUnprocessableEntity && refusal.Detail.Error != api.KindUnfit:
		return &cli.ExitError{Status: cli.ExitUsage, Err: err}
	}
	return err
}

// addSubmission adds what --submit requests, once the files that jobs read exist: that a run
// starts, and that the daemon requests what the jobs need, instead of actions.
func (f *RegenerateFlags) addSubmission(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, q *api.RegenerateRequest) error {
	dir, err := f.DirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	if _, err := runstart.Check(ctx, a, c, id); err != nil {
		return err
	}
	q.StartRun = true
	q.Submit = &api.SubmitRequest{OutputDir: dir, MaxParallelJobs: f.MaxParallel, Account: f.account, Prefer: f.Prefer, SkipChecks: f.SkipChecks}
	if f.Once {
		q.Submit.NoAutoSchedule = new(true)
	}
	return nil
}

func (r *Regeneration) total() (n int64) {
	for _, p := range r.schedulers {
		n += p.NumAllocations
	}
	return n
}

// JSON returns the JSON output of the command; a dry run has other keys.
func (r *Regeneration) JSON() any {
	if r.flags.DryRun {
		return struct {
			DryRun           bool               `json:"dry_run"`
			WorkflowID       int64              `json:"workflow_id"`
			PendingJobs      int                `json:"pending_jobs"`
			Profile          string             `json:"profile_name"`
			ProfileTitle     string             `json:"profile_display_name"`
			Planned          []plannedScheduler `json:"planned_schedulers"`
			TotalAllocations int64              `json:"total_allocations"`
			WouldSubmit      bool               `json:"would_submit"`
			Live             int64              `json:"live_allocations"`
			Warnings         []string           `json:"warnings"`
		}{true, r.workflowID, r.pending, r.profile, r.title, cli.NotNil(r.schedulers), r.total(), r.flags.Submit, r.live, r.warnings}
	}
	out := regenerated{
		WorkflowID: r.workflowID, PendingJobs: r.pending, Schedulers: cli.NotNil(r.schedulers), TotalAllocations: r.total(),
		Live: r.live, Warnings: r.warnings, Submitted: r.plan != nil,
	}
	if r.plan != nil {
		out.AllocationsSubmitted = int64(len(r.plan.Requested))
		out.AllocationsDeferred = max(0, out.TotalAllocations-out.AllocationsSubmitted)
	}
	return out
}

// regenerated is the JSON output of slurm regenerate.
type regenerated struct {
	WorkflowID           int64              `json:"workflow_id"`
	PendingJobs          int                `json:"pending_jobs"`
	Schedulers           []plannedScheduler `json:"schedulers_created"`
	TotalAllocations     int64              `json:"total_allocations"`
	AllocationsSubmitted int64              `json:"allocations_submitted"`
	AllocationsDeferred  int64              `json:"allocations_deferred"`
	Live                 int64              `json:"live_allocations"`
	Warnings             []string           `json:"warnings"`
	Submitted            bool               `json:"submitted"`
}

// Write writes what was created, or would be, as text.
func (r *Regeneration) Write(w io.Writer) {
	if len(r.schedulers) == 0 {
		fmt.Fprintf(w, "Workflow %d has no job that needs a scheduler.\n", r.workflowID)
	}
	for _, p := range r.schedulers {
		verb := map[bool]string{true: "new", false: "existing"}[p.IsNew]
		fmt.Fprintf(w, "%s (%s): %s for %s in partition %s; %s missing\n", p.Name, verb, workflow.CountOf(int64(p.JobCount), "job", "jobs"),
			p.Walltime, p.Partition, workflow.CountOf(p.NumAllocations, "allocation is", "allocations are"))
	}
	if r.live > 0 {
		fmt.Fprintf(w, "%s already\n", workflow.CountOf(r.live, "allocation exists", "allocations exist"))
	}
	for _, warning := range r.warnings {
		fmt.Fprintf(w, "Warning: %s\n", warning)
	}
	switch {
	case r.flags.DryRun:
		fmt.Fprintln(w, "Nothing was changed: this was a dry run.")
	case r.plan != nil && len(r.plan.Requested) > 0:
		fmt.Fprintf(w, "Requested %s from Slurm: %s\n", workflow.CountOf(int64(len(r.plan.Requested)), "allocation", "allocations"), allocate.SlurmIDs(r.plan.Requested))
	case r.plan != nil && !r.plan.RequestsMore:
		fmt.Fprintln(w, "Nothing is requested from Slurm, now or later.")
	case r.plan != nil:
		fmt.Fprintln(w, "Nothing is requested from Slurm now; the daemon requests allocations when ready jobs do not fit existing ones.")
	}
}
