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
	"github.com/torc-slurm/torc-slurm/workflow"
)

// dueAction is a triggered action schedule_nodes, with what it still has to
// ask for.
type dueAction struct {
	id        int64
	taken     bool
	trigger   string
	scheduler *workflow.SlurmScheduler
	request   workflow.AllocationRequest
	left      int
}

// carriesOut reports whether the daemon asks for the allocations of an action, be
// it that it has asked.
func (l *look) carriesOut(a *workflow.ActionRecord, c workflow.ScheduleNodes) bool {
	ours := slices.Contains([]string{workflow.TriggerWorkflowStart, workflow.TriggerJobsReady, workflow.TriggerJobsComplete}, a.TriggerType)
	return c.SchedulerType == workflow.SchedulerSlurm && ours && (a.TakenMS != 0 || a.IsPending())
}

// dueOf is what an action of a submitted workflow has to ask for; ok is false
// if it is nothing, or somebody else's.
func (l *look) dueOf(a *workflow.ActionRecord, c workflow.ScheduleNodes) (d dueAction, ok bool) {
	if !l.carriesOut(a, c) {
		return d, false
	}
	d = dueAction{id: a.ID, taken: a.TakenMS != 0, trigger: a.TriggerType, left: int(max(c.NumAllocations, 1))}
	if d.taken {
		d.left -= l.history.of(a.ID).settled(a.TakenMS, l.submission.SubmittedMS)
	}
	if c.SchedulerID != nil {
		d.scheduler = l.pools.schedulerOf(*c.SchedulerID)
	}
	d.request = workflow.AllocationRequest{OneRunnerPerNode: c.StartOneWorkerPerNode, MaxParallelJobs: c.MaxParallelJobs}
	return d, d.left > 0
}

// follow adds what looks after the jobs of an action that has asked for its
// allocations, or does so now: one for all actions of a scheduler.
func (l *look) follow(a *workflow.ActionRecord, c workflow.ScheduleNodes) {
	if c.SchedulerID == nil || l.pools.schedulerOf(*c.SchedulerID) == nil {
		return
	}
	count := max(c.NumAllocations, 1)
	for i := range l.followers {
		if f := &l.followers[i]; *f.config.SchedulerID == *c.SchedulerID {
			f.config.MaxAllocations += count
			f.follows = append(f.follows, a.ID)
			return
		}
	}
	f := autoAction{id: a.ID, config: workflow.ScheduleNodes{SchedulerID: c.SchedulerID, MaxParallelJobs: c.MaxParallelJobs}, follows: []int64{a.ID}}
	f.config.MaxAllocations = count
	l.followers = append(l.followers, f)
}

// settled counts the allocations since a time that need not be asked for again.
// One that Slurm has refused for good settles all, as the others are like it,
// until somebody submits again.
func (h history) settled(sinceMS, submittedMS int64) (n int) {
	for i := range h {
		a := &h[i]
		switch class := refusedFor(a); {
		case a.AskedMS < sinceMS, a.Cause == workflow.AllocationNever, a.Pool != "": // the last was asked for when that was done
		case class == slurm.Permanent && a.AskedMS >= submittedMS:
			return math.MaxInt
		case class == "":
			n++
		}
	}
	return n
}

// complete fills in what the scheduler and the submission say.
func (d *dueAction) complete(l *look) error {
	if d.scheduler == nil {
		return workflow.Errorf(workflow.CodeNotFound, "the Slurm scheduler of action %d is not there any more", d.id)
	}
	t, err := l.pools.ofScheduler(d.scheduler)
	if err != nil {
		return err
	}
	r := t.base
	r.ActionID, r.OneRunnerPerNode, r.MaxParallelJobs = d.id, d.request.OneRunnerPerNode, d.request.MaxParallelJobs
	r.Offer = t.offer(l.largest())
	d.request = l.withOptions(r, d.request.MaxParallelJobs, "")
	return nil
}

// offer is what each node of an allocation has that is asked for as the scheduler
// says. Where its partition is not known, it is taken to suit the largest job.
func (t *target) offer(largest Resources) workflow.AllocationOffer {
	offer := t.Asks
	switch {
	case t.partition == nil:
		offer = offer.most(largest)
	case !t.Shared:
		offer = t.Node
	case offer.MemoryBytes == 0: // Slurm gives a share
		offer.MemoryBytes = t.Node.MemoryBytes / max(t.Node.CPUs, 1) * max(offer.CPUs, 1)
	}
	return workflow.AllocationOffer{CPUs: max(offer.CPUs, 1), MemoryBytes: offer.MemoryBytes, GPUs: offer.GPUs}
}

// largest is the most of each that any job needs.
func (l *look) largest() (most Resources) {
	for i := range l.supply.Demand.Classes {
		c := &l.supply.Demand.Classes[i].Class
		most = most.most(Resources{CPUs: c.CPUs, MemoryBytes: c.MemoryBytes, GPUs: c.GPUs})
	}
	return most
}

// withOptions adds what the submission and the action say of runners.
func (l *look) withOptions(r workflow.AllocationRequest, maxParallel int64, idle string) workflow.AllocationRequest {
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

// planned is the action for the report.
func (d *dueAction) planned() Planned {
	p := Planned{ActionID: d.id, Count: d.left, Request: d.request, Reason: fmt.Sprintf("action %d, %s", d.id, d.trigger)}
	if d.scheduler != nil {
		p.Pool, p.SchedulerID = "scheduler "+d.scheduler.Name, &d.scheduler.ID
	}
	return p
}

// foreseen is what the action is about to ask for, as if it were pending.
func (d *dueAction) foreseen(l *look) []Allocation {
	if d.scheduler == nil {
		return nil
	}
	a := workflow.Allocation{Request: d.request, SchedulerConfigID: &d.scheduler.ID, State: workflow.AllocationIntent, AskedMS: l.now.UnixMilli()}
	out := AllocationOf(&a, nil, false)
	out.ActionID = 0
	return slices.Repeat([]Allocation{out}, d.left)
}

// carryOutDue takes triggered actions and asks for what they want. A crash
// leaves a taken action that has not asked for all: the next look does.
func (l *look) carryOutDue(ctx context.Context) error {
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
			switch taken, err := l.Store.TakeAction(ctx, l.id, d.id); {
			case err != nil:
				return err
			case !taken: // a runner was faster; what it asks for shows in the next look
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
	// What is to be asked for again counts as asked for.
	l.due = waiting
	return l.readJobs(ctx)
}

// refusedForGood reports whether the last refusal was one for good.
func (l *look) refusedForGood() bool {
	n := len(l.report.Refused)
	return n > 0 && l.report.Refused[n-1].Class == slurm.Permanent
}

// holds reports whether Slurm must not be asked yet for what an action wants.
func (l *look) holds(d *dueAction) bool {
	h := cmp.Or(l.claimsHeld(), l.holdOf(l.recent().of(d.id)))
	if h != nil {
		l.wait(Action{Kind: Wait, ActionID: d.id, Pool: "scheduler " + d.scheduler.Name, Until: h.Until, Reason: h.Reason})
	}
	return h != nil
}

// ask asks Slurm for so many allocations, until it says no.
func (l *look) ask(ctx context.Context, want allocation.Want, count int, serialize bool) error {
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
		case a.ID == 0 && !l.overtaken(ctx): // Slurm was not asked: nothing is stored that tells of it
			l.stall(err)
		}
		l.refused(err)
		return nil
	}
	return nil
}

// stall notes that something of our own stands in the way.
func (l *look) stall(err error) {
	l.memory.tries++
	delay := l.pools.set.retryDelay(l.memory.tries)
	l.memory.stall = &Hold{Until: l.now.Add(delay), Reason: err.Error()}
	l.sooner(l.memory.stall.Until)
	l.Log.Warn("cannot ask for an allocation", "workflow_id", l.id, "error", err, "again_in", delay.Round(time.Second))
}

// lastOf is the live Slurm job of a scheduler that was asked for last; 0 if
// there is none.
func (l *look) lastOf(ctx context.Context, schedulerID int64) (last int64, err error) {
	live, err := l.Store.LiveAllocations(ctx)
	for i := range live {
		a := &live[i]
		if a.WorkflowID == l.id && a.SchedulerConfigID != nil && *a.SchedulerConfigID == schedulerID && a.CancelMS == 0 {
			last = max(last, a.SlurmJobID)
		}
	}
	return last, err
}
