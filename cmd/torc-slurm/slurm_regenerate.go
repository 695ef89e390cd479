package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// regenerateFlags are those of slurm regenerate.
type regenerateFlags struct {
	planFlags
	allocateFlags
	partition, walltime string
	include             []string
	submit, dryRun      bool
	once                bool // --submit asks for no more later
	ignoreLive          bool // allocations that are there do not count
	skipChecks          bool
}

func newSlurmRegenerateCommand(a *app) *cobra.Command {
	var flags regenerateFlags
	cmd := &cobra.Command{
		Use:   "regenerate WORKFLOW",
		Short: "Make Slurm schedulers for the jobs that are left",
		Long: `Make Slurm schedulers for the jobs of a workflow that have not begun, as slurm
generate does for a specification, and give them to the jobs. A scheduler of the
same shape that is there already is taken instead.

With --submit the daemon asks for allocations as the jobs need them. Allocations
that are there already count, so the command may be repeated. With --no-auto-schedule, and
for a workflow that was submitted so or has auto_schedule: false, what is missing
for the jobs that are ready is asked for once, and nothing later.`,
		Example: `  torc-slurm slurm regenerate 12 --dry-run
  torc-slurm slurm regenerate 12 --submit
  torc-slurm slurm regenerate 12 --partition long --walltime 2-00:00:00 --submit`,
		Args:              cobra.ExactArgs(1),
		Annotations:       serverExits("6 jobs of the workflow fit no allocation"),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	flags.planFlags.add(cmd)
	flags.allocateFlags.add(cmd, "output-dir")
	f := cmd.Flags()
	f.StringVar(&flags.partition, "partition", "", "`PARTITION` for all jobs (default: the best for each)")
	f.StringVar(&flags.walltime, "walltime", "", "`TIME` limit of all allocations, as sbatch takes it")
	f.StringSliceVar(&flags.include, "include-job-ids", nil, "also these `JOBS`, whatever their status, separated by commas")
	f.BoolVar(&flags.submit, "submit", false, "ask Slurm for what is missing")
	addNoAutoSchedule(f, &flags.once)
	f.BoolVar(&flags.dryRun, "dry-run", false, "only say what would be made")
	f.BoolVar(&flags.skipChecks, "skip-checks", false, "submit although jobs fit no allocation")
	cmd.RunE = checked(flags.check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		r, err := a.regenerate(ctx, c, id, &flags)
		if err != nil {
			return err
		}
		return a.showRecord(r.json(), r.write)
	}))
	return cmd
}

// addNoAutoSchedule adds the flag of commands that submit again.
func addNoAutoSchedule(f *pflag.FlagSet, once *bool) {
	f.BoolVar(once, "no-auto-schedule", false, "ask once for what is missing, and for nothing later (default: as the workflow was submitted)")
}

func (f *regenerateFlags) check() error {
	if _, err := f.limit(); err != nil {
		return err
	}
	return f.planFlags.check()
}

// limit is the walltime of all allocations; 0 if none was given.
func (f *regenerateFlags) limit() (time.Duration, error) {
	if f.walltime == "" {
		return 0, nil
	}
	d, err := slurm.ParseDuration(f.walltime)
	if err != nil || d <= 0 || d == slurm.Unlimited {
		return 0, usageErrorf("--walltime %q is no time that sbatch takes, such as 04:00:00 or 2-12:00:00", f.walltime)
	}
	return d, nil
}

// plannedScheduler is a scheduler that is made, or would be.
type plannedScheduler struct {
	ID              *int64   `json:"id,omitempty"`
	Name            string   `json:"name"`
	Account         string   `json:"account"`
	Partition       string   `json:"partition"`
	Walltime        string   `json:"walltime"`
	Mem             string   `json:"mem"`
	Nodes           int64    `json:"nodes"`
	NumAllocations  int64    `json:"num_allocations"` // that are missing
	JobCount        int      `json:"job_count"`
	JobNames        []string `json:"job_names"`
	HasDependencies bool     `json:"has_dependencies"`
	IsNew           bool     `json:"-"`
	jobs            []int64
}

// regeneration is what slurm regenerate does.
type regeneration struct {
	flags      *regenerateFlags
	workflowID int64
	profile    string
	title      string
	pending    int
	schedulers []plannedScheduler
	live       int64 // allocations that are there, or asked for
	warnings   []string
	plan       *api.SchedulePlan // of --submit
}

// regenerate makes the schedulers, unless it is a dry run.
func (a *app) regenerate(ctx context.Context, c *connection, id int64, flags *regenerateFlags) (*regeneration, error) {
	r := &regeneration{flags: flags, workflowID: id, warnings: []string{}}
	left, err := jobsLeft(ctx, c, id, flags.include)
	if err != nil {
		return nil, err
	}
	r.pending = len(left.jobs)
	var known []api.SlurmScheduler
	if r.pending > 0 {
		if known, err = r.generate(ctx, a, c, left); err != nil {
			return nil, err
		}
	}
	if !flags.ignoreLive {
		if err := r.countLive(ctx, c); err != nil {
			return nil, err
		}
	}
	if flags.dryRun || r.pending == 0 {
		return r, nil
	}
	if err := r.create(ctx, c, known); err != nil {
		return nil, err
	}
	if flags.submit {
		return r, r.ask(ctx, a, c)
	}
	return r, nil
}

// workLeft is the jobs of a workflow that have not begun.
type workLeft struct {
	jobs []api.Job
	work []scheduler.Work // of the jobs
}

// generate plans the schedulers; it returns those that are there.
func (r *regeneration) generate(ctx context.Context, a *app, c *connection, left *workLeft) ([]api.SlurmScheduler, error) {
	site, err := a.site(ctx, r.flags.profile)
	if err != nil {
		return nil, err
	}
	r.profile, r.title = site.Name, site.Title()
	w, err := c.Workflow(ctx, r.workflowID)
	if err != nil {
		return nil, err
	}
	known, err := slurmSchedulersOf(ctx, c, r.workflowID)
	if err != nil {
		return nil, err
	}
	account := r.flags.planFlags
	for _, s := range known {
		account.account = firstOf(account.account, s.Account)
	}
	charged, err := account.accountFor([]byte(w.SlurmDefaults), site)
	if err != nil {
		return nil, err
	}
	options := r.flags.options(charged, w.ExecutionConfig)
	options.Partition, options.Stamp = r.flags.partition, a.Now().Format("20060102_150405")
	if options.Walltime, err = r.flags.limit(); err != nil {
		return nil, err
	}
	groups, warnings, err := scheduler.Generate(left.work, site, options)
	if err != nil {
		return nil, err
	}
	r.warnings = append(r.warnings, warnings...)
	for i := range groups {
		r.schedulers = append(r.schedulers, plannedOf(&groups[i], left.jobs))
	}
	for i := range r.schedulers {
		p := &r.schedulers[i]
		if at := slices.IndexFunc(known, func(s api.SlurmScheduler) bool { return s.ID != nil && sameShape(&s, &groups[i].Scheduler) }); at >= 0 {
			p.ID, p.Name = known[at].ID, orEmpty(known[at].Name)
		} else {
			p.IsNew = true
			s := &groups[i].Scheduler
			s.Name = unusedName(s.Name, known)
			p.Name = s.Name
			known = append(known, schedulerOn(r.workflowID, &groups[i].Scheduler))
		}
	}
	return known, nil
}

// unusedName is a name that no scheduler has yet.
func unusedName(name string, known []api.SlurmScheduler) string {
	unused := name
	for n := 2; slices.ContainsFunc(known, func(s api.SlurmScheduler) bool { return orEmpty(s.Name) == unused }); n++ {
		unused = fmt.Sprintf("%s_%d", name, n)
	}
	return unused
}

func plannedOf(g *scheduler.Generated, jobs []api.Job) plannedScheduler {
	s := &g.Scheduler
	p := plannedScheduler{
		Name: s.Name, Account: s.Account, Partition: g.Partition, Walltime: s.Walltime, Mem: s.Mem, Nodes: s.Nodes,
		NumAllocations: g.Allocations(), JobCount: len(g.Jobs), HasDependencies: g.Deferred,
	}
	for _, i := range g.Jobs {
		p.JobNames = append(p.JobNames, jobs[i].Name)
		p.jobs = append(p.jobs, idOf(jobs[i].ID))
	}
	return p
}

// sameShape reports whether a scheduler asks for the same allocations.
func sameShape(s *api.SlurmScheduler, d *workflow.SlurmSchedulerDefinition) bool {
	return s.Account == d.Account && s.Nodes == d.Nodes && s.Walltime == d.Walltime && orEmpty(s.Partition) == d.Partition && orEmpty(s.QOS) == d.QOS &&
		orEmpty(s.Mem) == d.Mem && orEmpty(s.Gres) == d.Gres && orEmpty(s.Extra) == d.Extra && orEmpty(s.Tmp) == d.Tmp
}

// schedulerOn is a scheduler of a definition as one of a workflow.
func schedulerOn(workflowID int64, d *workflow.SlurmSchedulerDefinition) api.SlurmScheduler {
	given := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return api.SlurmScheduler{
		WorkflowID: workflowID, Name: &d.Name, Account: d.Account, Nodes: d.Nodes, Walltime: d.Walltime, NtasksPerNode: d.NtasksPerNode,
		Partition: given(d.Partition), QOS: given(d.QOS), Mem: given(d.Mem), Gres: given(d.Gres), Tmp: given(d.Tmp), Extra: given(d.Extra),
	}
}

// countLive takes allocations that are there off what is missing: those of the
// same partition that last long enough.
func (r *regeneration) countLive(ctx context.Context, c *connection) error {
	for x, err := range c.Allocations(ctx, liveAllocations(r.workflowID)) {
		if err != nil {
			return err
		}
		if x.CancelMS != 0 || x.RunnersLeft {
			continue
		}
		r.live++
		for i := range r.schedulers {
			p := &r.schedulers[i]
			walltime, err := slurm.ParseDuration(p.Walltime)
			fits := err == nil && x.WalltimeSeconds >= int64(walltime/time.Second) && max(x.Nodes, 1) >= p.Nodes
			if p.NumAllocations > 0 && fits && (x.Partition == "" || x.Partition == p.Partition) {
				p.NumAllocations--
				break
			}
		}
	}
	return nil
}

// create makes the schedulers that are new and gives all to their jobs.
func (r *regeneration) create(ctx context.Context, c *connection, known []api.SlurmScheduler) error {
	for i := range r.schedulers {
		p := &r.schedulers[i]
		if p.IsNew {
			at := slices.IndexFunc(known, func(s api.SlurmScheduler) bool { return s.ID == nil && orEmpty(s.Name) == p.Name })
			created, err := c.CreateSlurmScheduler(ctx, &known[at])
			if err != nil {
				return fmt.Errorf("create Slurm scheduler %s: %w", p.Name, err)
			}
			p.ID = created.ID
		}
		for _, id := range p.jobs {
			job, err := c.Job(ctx, id)
			if err != nil {
				return err
			}
			if orEmpty(job.SchedulerID) == orEmpty(p.ID) {
				continue
			}
			if _, err := c.UpdateJob(ctx, id, &api.Job{WorkflowID: r.workflowID, Name: job.Name, Command: job.Command, SchedulerID: p.ID}); err != nil {
				return fmt.Errorf("give Slurm scheduler %s to job %d: %w", p.Name, id, err)
			}
		}
	}
	return nil
}

// ask has the daemon ask for what the jobs need. What actions would ask for
// besides is not asked for.
func (r *regeneration) ask(ctx context.Context, a *app, c *connection) error {
	dir, err := r.flags.dirOf(ctx, a, c, r.workflowID)
	if err != nil {
		return err
	}
	if err := a.ensureStarted(ctx, c, r.workflowID, false); err != nil {
		return err
	}
	if _, err := a.reviewPending(ctx, c, r.workflowID, true, true); err != nil {
		return err
	}
	request := &api.SubmitRequest{
		OutputDir: dir, MaxParallelJobs: r.flags.maxParallel, Account: r.flags.account, AutoSchedule: &workflow.AutoSchedule{},
		SkipChecks: r.flags.skipChecks,
	}
	if r.flags.once {
		request.NoAutoSchedule = new(true)
	}
	if r.plan, err = c.SubmitWorkflow(ctx, r.workflowID, request); err != nil {
		return fmt.Errorf("submit workflow %d: %w", r.workflowID, err)
	}
	a.noteFitness(r.plan)
	r.warnings = append(r.warnings, r.plan.Refused...)
	if !r.plan.LookedAfter {
		return r.askOnce(ctx, c, dir)
	}
	return withoutAllocation(r.workflowID, r.plan, false, a.prefix())
}

// askOnce asks for what is missing for the jobs that are ready: nobody will ask for more.
func (r *regeneration) askOnce(ctx context.Context, c *connection, dir string) error {
	for _, p := range r.schedulers {
		switch {
		case p.NumAllocations == 0:
			continue
		case p.HasDependencies:
			r.warnings = append(r.warnings, fmt.Sprintf("nothing asks for the %s of %s, whose jobs wait for others: repeat the command when they are ready",
				workflow.CountOf(p.NumAllocations, "allocation", "allocations"), p.Name))
			continue
		}
		answer, err := c.allocate(ctx, r.workflowID, &api.AllocateRequest{
			SchedulerConfigID: idOf(p.ID), Count: p.NumAllocations, OutputDir: dir, MaxParallelJobs: r.flags.maxParallel, SkipChecks: r.flags.skipChecks,
		})
		if err != nil {
			return err
		}
		r.plan.Asked = append(r.plan.Asked, answer.Items...)
		if answer.Refused != "" {
			r.warnings = append(r.warnings, answer.Refused)
		}
	}
	return nil
}

func (r *regeneration) total() (n int64) {
	for _, p := range r.schedulers {
		n += p.NumAllocations
	}
	return n
}

// json is what the command says in JSON; a dry run has keys of its own.
func (r *regeneration) json() any {
	if r.flags.dryRun {
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
		}{true, r.workflowID, r.pending, r.profile, r.title, notNil(r.schedulers), r.total(), r.flags.submit, r.live, r.warnings}
	}
	out := regenerated{
		WorkflowID: r.workflowID, PendingJobs: r.pending, Schedulers: notNil(r.schedulers), TotalAllocations: r.total(),
		Live: r.live, Warnings: r.warnings, Submitted: r.plan != nil,
	}
	if r.plan != nil {
		out.AllocationsSubmitted = int64(len(r.plan.Asked))
		out.AllocationsDeferred = max(0, out.TotalAllocations-out.AllocationsSubmitted)
	}
	return out
}

// regenerated is what slurm regenerate says in JSON.
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

func (r *regeneration) write(w io.Writer) {
	if len(r.schedulers) == 0 {
		fmt.Fprintf(w, "Workflow %d has no job that a scheduler could be made for.\n", r.workflowID)
	}
	for _, p := range r.schedulers {
		verb := map[bool]string{true: "new", false: "there already"}[p.IsNew]
		fmt.Fprintf(w, "%s (%s): %s for %s in partition %s; %s missing\n", p.Name, verb, workflow.CountOf(int64(p.JobCount), "job", "jobs"),
			p.Walltime, p.Partition, workflow.CountOf(p.NumAllocations, "allocation is", "allocations are"))
	}
	if r.live > 0 {
		fmt.Fprintf(w, "%s already\n", workflow.CountOf(r.live, "allocation is there", "allocations are there"))
	}
	for _, warning := range r.warnings {
		fmt.Fprintf(w, "Warning: %s\n", warning)
	}
	switch {
	case r.flags.dryRun:
		fmt.Fprintln(w, "Nothing was changed: this was a dry run.")
	case r.plan != nil && len(r.plan.Asked) > 0:
		fmt.Fprintf(w, "Slurm was asked for %s: %s\n", workflow.CountOf(int64(len(r.plan.Asked)), "allocation", "allocations"), slurmIDs(r.plan.Asked))
	case r.plan != nil && !r.plan.LookedAfter:
		fmt.Fprintln(w, "Slurm is asked for nothing, now and later.")
	case r.plan != nil:
		fmt.Fprintln(w, "Slurm is asked for nothing now; the daemon asks as soon as ready jobs have no place.")
	}
}
