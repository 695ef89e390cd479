package scheduler

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// carryOut carries out the decisions of the pass.
func (l *pass) carryOut(ctx context.Context) error {
	if err := l.carryOutDue(ctx); err != nil {
		return err
	}
	foresightOf(l).recordStarted(l.supply.Live)
	d, err := l.decide(ctx)
	if err != nil {
		return err
	}
	refusedIn := map[string]bool{} // pools in which Slurm has just refused a request
	for _, a := range d.Actions {
		switch a.Kind {
		case Cancel:
			canceled, err := l.Store.Allocations.CancelPending(ctx, a.Allocation, a.Reason)
			if err != nil {
				return err
			}
			if canceled {
				foresightOf(l).recordCanceled(l.supply.Live, a.Allocation)
				l.report.Canceled = append(l.report.Canceled, a)
			}
		case Widen:
			if err := l.widen(ctx, a); err != nil {
				return err
			}
		case Shorten:
			if err := carryOutShorten(ctx, l, a); err != nil {
				return err
			}
		case Submit, Probe:
			if refusedIn[a.Pool] {
				continue
			}
			p := l.planned(a)
			l.report.Planned = append(l.report.Planned, p)
			refusals := len(l.report.Refused)
			want := allocation.Want{WorkflowID: l.id, RunID: &l.submission.RunID, SchedulerConfigID: p.SchedulerID, Request: p.Request, Why: a.Reason}
			if err := l.ask(ctx, want, a.Count, a.Shape.Serialize); err != nil {
				return err
			}
			refusedIn[a.Pool] = len(l.report.Refused) > refusals
		default:
			l.wait(a)
		}
	}
	if len(l.report.Refused) > 0 {
		if err := l.replan(ctx); err != nil {
			return err
		}
	}
	l.remember()
	return l.note(ctx)
}

// replan reports where the jobs can run after a refusal of Slurm.
func (l *pass) replan(ctx context.Context) error {
	if err := l.readJobs(ctx); err != nil {
		return err
	}
	l.report.Covered, l.report.Waits = nil, nil
	d, err := l.decide(ctx)
	if err != nil {
		return err
	}
	for _, a := range d.Actions {
		switch a.Kind {
		case Wait, Pause:
			l.wait(a)
		case Submit, Probe: // in another pool
			l.sooner(l.now)
		}
	}
	return nil
}

// foresee reports what the pass would do.
func (l *pass) foresee(ctx context.Context) error {
	for i := range l.due {
		d := &l.due[i]
		if err := d.complete(l); err != nil {
			l.refused(err)
			d.scheduler = nil
			continue
		}
		if l.holds(d) {
			d.scheduler = nil
			continue
		}
		l.report.Planned = append(l.report.Planned, d.planned())
	}
	d, err := l.decide(ctx)
	if err != nil {
		return err
	}
	for _, a := range d.Actions {
		switch a.Kind {
		case Cancel:
			l.report.Canceled = append(l.report.Canceled, a)
		case Submit, Probe:
			l.report.Planned = append(l.report.Planned, l.planned(a))
		case Wait, Pause:
			l.wait(a)
		}
	}
	return nil
}

// decide plans, and reports where the ready jobs can run.
func (l *pass) decide(ctx context.Context) (Decision, error) {
	s := l.snapshot()
	d := Plan(s)
	if err := foresightOf(l).add(ctx, &s, &d); err != nil {
		return d, err
	}
	if s.Forecast != nil {
		f := foresightOf(l)
		if d = Plan(s); f.renew(ctx, &s, &d) {
			d = Plan(s)
		}
		if f.resolve(ctx, &s, d.Doubts, l.pools.targets) {
			d = Plan(s)
		}
	}
	l.report.Choices, l.report.NoForecast = d.Choices, s.NoForecast
	classes := map[int64]placement.Class{}
	for i := range s.Demand {
		classes[s.Demand[i].ID] = s.Demand[i].Class
	}
	for _, c := range d.Coverage {
		if c.Ready == 0 {
			continue
		}
		if why := l.nowhere[idOfCoverage(&c)]; why != "" && c.Uncovered > 0 && !l.report.Ended {
			c.Reason = why
		}
		l.report.Covered = append(l.report.Covered, Covered{Class: classes[c.ClassID], Coverage: c})
	}
	return d, nil
}

func idOfCoverage(c *Coverage) demandID {
	d := Demand{Class: placement.Class{ID: c.ClassID}, Avoid: c.Avoid}
	return idOf(&d)
}

// planned returns what an action of the plan requests.
func (l *pass) planned(a Action) Planned {
	t := l.pools.targets[a.Pool]
	p := Planned{ActionID: a.ActionID, Pool: a.Pool, SchedulerID: t.SchedulerID, Count: a.Count, Reason: a.Reason, Probe: a.Kind == Probe}
	for _, x := range l.pools.actions {
		if x.id == a.ActionID {
			p.Request = l.withOptions(t.request(&a.Shape), x.config.MaxParallelJobs, x.config.IdleTimeout)
			p.Request.Expected = a.expectation(t)
		}
	}
	return p
}

func (l *pass) refused(err error) { l.report.Refused = append(l.report.Refused, refusalOf(err)) }

// wait reports why nothing is requested, and schedules the next pass.
func (l *pass) wait(a Action) {
	l.report.Waits = append(l.report.Waits, a)
	if !a.Until.IsZero() {
		l.sooner(a.Until)
	}
}

func (l *pass) sooner(at time.Time) {
	if at.Before(l.report.Next) {
		l.report.Next = at
	}
}

// remember stores since when jobs have had no place.
func (l *pass) remember() {
	since := map[demandID]time.Time{}
	for i := range l.report.Covered {
		c := &l.report.Covered[i].Coverage
		if c.Uncovered == 0 {
			continue
		}
		id := idOfCoverage(c)
		since[id] = l.now
		if earlier, known := l.memory.since[id]; known {
			since[id] = earlier
		}
	}
	l.memory.since = since
}

// note writes an event when a pool does not work, or jobs fit nowhere, once for as
// long as that lasts.
func (l *pass) note(ctx context.Context) error {
	noted := map[string]bool{}
	write := func(key string, kind workflow.EventType, p compute.SchedulingPayload) error {
		noted[key] = true
		if l.memory.noted[key] {
			return nil
		}
		return l.Store.Scheduling.Note(ctx, l.id, kind, p)
	}
	for _, w := range l.report.Waits {
		if w.Kind != Pause {
			continue
		}
		err := write("pause "+w.Pool, compute.EventSchedulingPaused, compute.SchedulingPayload{ActionID: w.ActionID, Pool: w.Pool, UntilMS: msOf(w.Until), Reason: w.Reason})
		if err != nil {
			return err
		}
	}
	for i := range l.report.Covered {
		c := &l.report.Covered[i].Coverage
		id := idOfCoverage(c)
		if l.nowhere[id] == "" || c.Uncovered == 0 || !l.report.RequestsMore {
			continue
		}
		err := write(fmt.Sprintf("blocked %d %s", id.class, id.avoid), compute.EventSchedulingBlocked, compute.SchedulingPayload{Jobs: c.Uncovered, Reason: c.Reason})
		if err != nil {
			return err
		}
	}
	l.memory.noted = maps.Clone(noted)
	return nil
}

func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
