package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// regeneration makes schedulers for the jobs of a workflow that have not started.
type regeneration struct {
	*remaining
	by      Caller
	request *api.RegenerateRequest

	made []scheduler.Generated // one for each planned scheduler
	api.Regeneration
}

// Regenerate makes Slurm schedulers for the jobs of a workflow that have not started and
// assigns them to the jobs, or, in a dry run, proposes them, with the missing allocations
// and their cost. An existing scheduler of the same shape is used instead. Slurm is asked
// for allocations only if the request submits the workflow; on request a run is started
// before. The call may be repeated: what exists counts. It returns CodeInvalid for jobs that
// fit nowhere and for invalid options, and CodeConflict without a site, in the request or
// here, and for a workflow whose run cannot start.
func (s *Service) Regenerate(ctx context.Context, by Caller, workflowID int64, q *api.RegenerateRequest) (api.Regeneration, error) {
	r := &regeneration{by: by, request: q}
	r.WorkflowID, r.DryRun = workflowID, q.DryRun
	if err := r.prepare(ctx, s); err != nil {
		return r.Regeneration, err
	}
	if q.Submit != nil && q.StartRun && r.PendingJobs > 0 {
		start, err := s.StartRun(ctx, by, workflowID, &api.StartRunRequest{DryRun: q.DryRun})
		if err != nil {
			return r.Regeneration, err
		}
		r.Start = &start
		if start.Started && !q.DryRun { // jobs that had ended may run again in it
			if err := r.prepare(ctx, s); err != nil {
				return r.Regeneration, err
			}
		}
	}
	if !q.DryRun {
		if err := r.create(ctx); err != nil {
			return r.Regeneration, err
		}
	}
	if q.Submit != nil && r.PendingJobs > 0 {
		return r.Regeneration, r.submit(ctx)
	}
	return r.Regeneration, nil
}

// prepare finds the jobs that have not started and plans their schedulers.
func (r *regeneration) prepare(ctx context.Context, s *Service) (err error) {
	r.Schedulers, r.Warnings, r.made = []api.PlannedScheduler{}, []string{}, nil
	r.TotalAllocations, r.LiveAllocations, r.NodeSeconds, r.Charge = 0, 0, 0, 0
	if r.remaining, err = s.remaining(ctx, r.WorkflowID, &r.request.SchedulerOptions); err != nil {
		return err
	}
	if r.PendingJobs = len(r.jobs); r.PendingJobs > 0 {
		if err := r.generate(ctx); err != nil {
			return err
		}
	}
	if !r.request.IgnoreLive {
		if err := r.countLive(ctx); err != nil {
			return err
		}
	}
	r.addUp()
	return nil
}

// generate plans the schedulers.
func (r *regeneration) generate(ctx context.Context) error {
	if err := r.remaining.prepare(ctx); err != nil {
		return err
	}
	r.SiteName, r.SiteTitle = r.site.Name, r.site.Title()
	var (
		warnings []string
		err      error
	)
	if r.made, warnings, err = scheduler.Generate(r.work, r.site, r.options); err != nil {
		return err
	}
	r.Warnings = append(r.Warnings, warnings...)
	for i := range r.made {
		r.plan(&r.made[i])
	}
	return nil
}

// plan adds a scheduler, with the name and id of an existing one of the same shape.
func (r *regeneration) plan(g *scheduler.Generated) {
	d := &g.Scheduler
	p := api.PlannedScheduler{
		Account: d.Account, Partition: g.Partition, Walltime: d.Walltime, Mem: d.Mem, Nodes: d.Nodes,
		NumAllocations: g.Allocations(), HasDependencies: g.Deferred, Reason: g.Reason, ChargePerNodeHour: scheduler.ChargePerNodeHour(g, r.site),
	}
	for _, i := range g.Jobs {
		p.JobIDs, p.JobNames = append(p.JobIDs, r.jobs[i].ID), append(p.JobNames, r.jobs[i].Name)
	}
	if at := slices.IndexFunc(r.known, func(c compute.SlurmScheduler) bool { return c.ID != 0 && sameShape(&c, d) }); at >= 0 {
		p.ID, p.Name = new(r.known[at].ID), r.known[at].Name
	} else {
		p.IsNew = true
		d.Name = unusedName(d.Name, r.known)
		p.Name = d.Name
		r.known = append(r.known, schedulerOn(r.WorkflowID, d))
	}
	r.Schedulers = append(r.Schedulers, p)
}

// unusedName returns an unused name for a scheduler.
func unusedName(name string, known []compute.SlurmScheduler) string {
	unused := name
	for n := 2; slices.ContainsFunc(known, func(c compute.SlurmScheduler) bool { return c.Name == unused }); n++ {
		unused = fmt.Sprintf("%s_%d", name, n)
	}
	return unused
}

// sameShape reports whether a scheduler requests the same allocations.
func sameShape(c *compute.SlurmScheduler, d *workflow.SlurmSchedulerDefinition) bool {
	same := func(stored *string, wanted string) bool {
		return stored == nil && wanted == "" || stored != nil && *stored == wanted
	}
	return c.Account == d.Account && c.Nodes == d.Nodes && c.Walltime == d.Walltime && same(c.Partition, d.Partition) && same(c.QOS, d.QOS) &&
		same(c.Mem, d.Mem) && same(c.Gres, d.Gres) && same(c.Extra, d.Extra) && same(c.Tmp, d.Tmp)
}

// schedulerOn returns a scheduler of a definition as one of a workflow.
func schedulerOn(workflowID int64, d *workflow.SlurmSchedulerDefinition) compute.SlurmScheduler {
	given := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	return compute.SlurmScheduler{
		WorkflowID: workflowID, Name: d.Name, Account: d.Account, Nodes: d.Nodes, Walltime: d.Walltime, NtasksPerNode: d.NtasksPerNode,
		Partition: given(d.Partition), QOS: given(d.QOS), Mem: given(d.Mem), Gres: given(d.Gres), Tmp: given(d.Tmp), Extra: given(d.Extra),
	}
}

// countLive subtracts existing allocations of the same partition that last long enough.
func (r *regeneration) countLive(ctx context.Context) error {
	s := r.service
	live, err := all(func(page store.Page) ([]compute.Allocation, int64, error) {
		return s.Store.Allocations.List(ctx, store.AllocationFilter{WorkflowID: r.WorkflowID, Live: true}, page)
	})
	if err != nil {
		return err
	}
	abandoned, err := s.Store.Allocations.Abandoned(ctx)
	if err != nil {
		return err
	}
	for i := range live {
		a := &live[i]
		if a.CancelMS != 0 || abandoned[a.ID] {
			continue
		}
		r.LiveAllocations++
		for k := range r.Schedulers {
			p := &r.Schedulers[k]
			walltime, err := slurm.ParseDuration(p.Walltime)
			fits := err == nil && a.Request.WalltimeS >= int64(walltime/time.Second) && max(a.Request.Nodes, 1) >= p.Nodes
			if p.NumAllocations > 0 && fits && (a.Request.Partition == "" || a.Request.Partition == p.Partition) {
				p.NumAllocations--
				break
			}
		}
	}
	return nil
}

// addUp sums up the missing allocations and their cost.
func (r *regeneration) addUp() {
	for i := range r.Schedulers {
		p := &r.Schedulers[i]
		if walltime, err := slurm.ParseDuration(p.Walltime); err == nil {
			p.NodeSeconds = p.NumAllocations * p.Nodes * int64(walltime/time.Second)
		}
		r.TotalAllocations += p.NumAllocations
		r.NodeSeconds += p.NodeSeconds
		r.Charge += float64(p.NodeSeconds) / 3600 * p.ChargePerNodeHour
	}
}

// create creates the new schedulers and assigns all to their jobs, in one transaction.
func (r *regeneration) create(ctx context.Context) error {
	assignments := make([]store.SchedulerAssignment, len(r.Schedulers))
	for i := range r.Schedulers {
		p := &r.Schedulers[i]
		c := schedulerOn(r.WorkflowID, &r.made[i].Scheduler)
		if p.ID != nil {
			c.ID, c.Name = *p.ID, p.Name
		}
		assignments[i] = store.SchedulerAssignment{Scheduler: c, JobIDs: p.JobIDs}
	}
	ids, err := r.service.Store.Scheduling.AssignSchedulers(ctx, r.WorkflowID, assignments)
	if err != nil {
		return fmt.Errorf("create Slurm schedulers: %w", err)
	}
	for i, id := range ids {
		r.Schedulers[i].ID = new(id)
	}
	return nil
}
