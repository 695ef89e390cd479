package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// dueAction is a triggered action schedule_nodes, with what it still has to
// request.
type dueAction struct {
	id        int64
	taken     bool
	trigger   string
	scheduler *compute.SlurmScheduler
	request   compute.AllocationRequest
	left      int
}

// carriesOut reports whether the daemon requests the allocations of an action, or has
// requested them.
func (l *pass) carriesOut(a *action.Record, c action.NodesConfig) bool {
	ours := slices.Contains([]string{action.TriggerWorkflowStart, action.TriggerJobsReady, action.TriggerJobsComplete}, a.TriggerType)
	return c.SchedulerType == compute.SchedulerSlurm && ours && (a.TakenMS != 0 || a.IsPending())
}

// dueOf returns what an action of a submitted workflow has to request; ok is false
// if it is nothing, or not carried out by the daemon.
func (l *pass) dueOf(a *action.Record, c action.NodesConfig) (d dueAction, ok bool) {
	if !l.carriesOut(a, c) {
		return d, false
	}
	d = dueAction{id: a.ID, taken: a.TakenMS != 0, trigger: a.TriggerType, left: int(c.Count())}
	if d.taken {
		d.left -= l.history.of(a.ID).settled(a.TakenMS, l.submission.SubmittedMS)
	}
	if c.SchedulerID != nil {
		d.scheduler = l.pools.schedulerOf(*c.SchedulerID)
	}
	d.request = compute.AllocationRequest{OneRunnerPerNode: c.StartOneWorkerPerNode, MaxParallelJobs: c.MaxParallelJobs}
	return d, d.left > 0
}

// follow adds a follower for the jobs of an action that has requested its
// allocations, or does so now: one follower for all actions of a scheduler.
func (l *pass) follow(a *action.Record, c action.NodesConfig) {
	if c.SchedulerID == nil || l.pools.schedulerOf(*c.SchedulerID) == nil {
		return
	}
	count := c.Count()
	for i := range l.followers {
		if f := &l.followers[i]; *f.config.SchedulerID == *c.SchedulerID {
			f.config.MaxAllocations += count
			f.follows = append(f.follows, a.ID)
			return
		}
	}
	f := autoAction{id: a.ID, config: action.NodesConfig{SchedulerID: c.SchedulerID, MaxParallelJobs: c.MaxParallelJobs}, follows: []int64{a.ID}}
	f.config.MaxAllocations = count
	l.followers = append(l.followers, f)
}

// settled returns how many allocations since a time need not be requested again. A
// permanent refusal settles all, as the other requests are the same,
// until somebody submits again.
func (h history) settled(sinceMS, submittedMS int64) (n int) {
	for i := range h {
		a := &h[i]
		switch class := refusedFor(a); {
		case a.AskedMS < sinceMS, a.Cause == compute.AllocationNever, a.Pool != "": // planned after the action was carried out
		case class == slurm.Permanent && a.AskedMS >= submittedMS:
			return math.MaxInt
		case class == "":
			n++
		}
	}
	return n
}

// complete fills in the request from the scheduler and the submission.
func (d *dueAction) complete(l *pass) error {
	if d.scheduler == nil {
		return workflow.Errorf(workflow.CodeNotFound, "the Slurm scheduler of action %d no longer exists", d.id)
	}
	t, err := l.pools.ofScheduler(d.scheduler)
	if err != nil {
		return err
	}
	r := t.base
	r.ActionID, r.OneRunnerPerNode, r.MaxParallelJobs = d.id, d.request.OneRunnerPerNode, d.request.MaxParallelJobs
	r.Offer = t.offer(largest(l.supply.Demand.Classes))
	d.request = l.withOptions(r, d.request.MaxParallelJobs, "")
	return nil
}

// offer returns what each node of an allocation has that is requested as the scheduler
// says. If its partition is not known, it is assumed to suit the largest job.
func (t *target) offer(largest Resources) compute.AllocationOffer {
	offer := t.Asks
	switch {
	case t.partition == nil:
		offer = offer.most(largest)
	case !t.Shared:
		offer = t.Node
	case offer.MemoryBytes == 0: // Slurm allocates a share
		offer.MemoryBytes = t.Node.MemoryBytes / max(t.Node.CPUs, 1) * max(offer.CPUs, 1)
	}
	return compute.AllocationOffer{CPUs: max(offer.CPUs, 1), MemoryBytes: offer.MemoryBytes, GPUs: offer.GPUs}
}

// largest returns the maximum of each resource that any job of some classes needs.
func largest(classes []store.ClassDemand) (most Resources) {
	for i := range classes {
		c := &classes[i].Class
		most = most.most(Resources{CPUs: c.CPUs, MemoryBytes: c.MemoryBytes, GPUs: c.GPUs})
	}
	return most
}

// withOptions adds the options for runners of the submission and the action.
func (l *pass) withOptions(r compute.AllocationRequest, maxParallel int64, idle string) compute.AllocationRequest {
	o := &l.submission.Options
	r.OutputDir, r.MaxParallelJobs = o.OutputDir, cmp.Or(maxParallel, o.MaxParallelJobs)
	if seconds, err := workflow.ParseRuntime(idle); err == nil {
		r.IdleTimeoutS = seconds
	}
	if c := l.workflow.ExecutionConfig; c != nil && r.OneRunnerPerNode {
		r.SrunMPI = c.SrunMPI
	}
	return r
}

// planned returns the action for the report.
func (d *dueAction) planned() Planned {
	p := Planned{ActionID: d.id, Count: d.left, Request: d.request, Reason: fmt.Sprintf("action %d, %s", d.id, d.trigger)}
	if d.scheduler != nil {
		p.Pool, p.SchedulerID = "scheduler "+d.scheduler.Name, &d.scheduler.ID
	}
	return p
}

// foreseen returns what the action is about to request, as pending allocations.
func (d *dueAction) foreseen(l *pass) []Allocation {
	if d.scheduler == nil {
		return nil
	}
	a := compute.Allocation{Request: d.request, SchedulerConfigID: &d.scheduler.ID, State: compute.AllocationIntent, AskedMS: l.now.UnixMilli()}
	out := AllocationOf(&a, nil, false)
	out.ActionID = 0
	return slices.Repeat([]Allocation{out}, d.left)
}

// carryOutDue takes triggered actions and requests their allocations. After a crash the
// next pass requests what a taken action has not requested yet.
func (l *pass) carryOutDue(ctx context.Context) error {
	var waiting []dueAction
	for i := range l.due {
		d := &l.due[i]
		if err := d.complete(l); err != nil {
			l.refused(err)
			continue
		}
		if l.holds(d) {
			waiting = append(waiting, *d)
			continue
		}
		if !d.taken {
			switch taken, err := l.Store.Actions.Take(ctx, l.id, d.id); {
			case err != nil:
				return err
			case !taken: // a runner was faster; the next pass sees its requests
				continue
			}
		}
		l.report.Planned = append(l.report.Planned, d.planned())
		want := allocation.Want{WorkflowID: l.id, RunID: &l.submission.RunID, SchedulerConfigID: &d.scheduler.ID, Request: d.request, Why: d.planned().Reason}
		asked := len(l.report.Asked)
		if err := l.ask(ctx, want, d.left, d.scheduler.SerializeAllocations); err != nil {
			return err
		}
		if d.left -= len(l.report.Asked) - asked; d.left > 0 && !l.refusedForGood() {
			waiting = append(waiting, *d)
		}
	}
	if len(l.due) == 0 {
		return nil
	}
	// Allocations that are to be requested again count as requested.
	l.due = waiting
	return l.readJobs(ctx)
}

// refusedForGood reports whether the last refusal was permanent.
func (l *pass) refusedForGood() bool {
	n := len(l.report.Refused)
	return n > 0 && l.report.Refused[n-1].Class == slurm.Permanent
}

// holds reports whether the allocations of an action must not be requested yet.
func (l *pass) holds(d *dueAction) bool {
	h := cmp.Or(l.claimsHeld(), l.holdOf(l.recent().of(d.id)))
	if h != nil {
		l.wait(Action{Kind: Wait, ActionID: d.id, Pool: "scheduler " + d.scheduler.Name, Until: h.Until, Reason: h.Reason})
	}
	return h != nil
}

// ask requests a number of allocations, until Slurm refuses one.
func (l *pass) ask(ctx context.Context, want allocation.Want, count int, serialize bool) error {
	for range count {
		if serialize {
			after, err := l.lastOf(ctx, *want.SchedulerConfigID)
			if err != nil {
				return err
			}
			want.Request.After = after
		}
		a, err := l.Submitter.Submit(ctx, want)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			l.report.Asked = append(l.report.Asked, a)
			l.memory.stall, l.memory.tries = nil, 0
			continue
		case a.ID == 0 && !l.overtaken(ctx): // Slurm was not called: nothing is stored about it
			l.stall(err)
		}
		l.refused(err)
		return nil
	}
	return nil
}

// stall records an error of our own that prevents requests for some time.
func (l *pass) stall(err error) {
	l.memory.tries++
	delay := l.pools.set.retryDelay(l.memory.tries)
	l.memory.stall = &Hold{Until: l.now.Add(delay), Reason: err.Error()}
	l.sooner(l.memory.stall.Until)
	l.Log.Warn("cannot request an allocation", "workflow_id", l.id, "error", err, "again_in", delay.Round(time.Second))
}

// lastOf returns the latest live Slurm job of a scheduler; 0 if there is none.
func (l *pass) lastOf(ctx context.Context, schedulerID int64) (last int64, err error) {
	live, err := l.Store.Allocations.Live(ctx)
	for i := range live {
		a := &live[i]
		if a.WorkflowID == l.id && a.SchedulerConfigID != nil && *a.SchedulerConfigID == schedulerID && a.CancelMS == 0 {
			last = max(last, a.SlurmJobID)
		}
	}
	return last, err
}
