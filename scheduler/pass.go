package scheduler

import (
	"cmp"
	"context"
	"strings"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// pass is one pass over a workflow: it reads the facts, plans, and carries out the plan.
type pass struct {
	*Scheduler
	memory     *memory
	id         int64
	now        time.Time
	dry        bool
	limits     *workflow.AutoSchedule // of a dry pass
	submission *compute.Submission    // nil: it was not submitted
	site       knownSite
	seen       bool // the site is from an earlier pass

	workflow workflow.Workflow
	records  []action.Record
	supply   store.Supply
	history  history
	pools    *pools
	due      []dueAction
	// followers request replacements for actions that have requested their allocations.
	followers []autoAction
	nowhere   map[demandID]string // why there is no pool for jobs

	report *Report
}

// newAction is the id of the action that a submission would create.
const newAction = -1

// read reads the facts.
func (l *pass) read(ctx context.Context) (err error) {
	if l.workflow, err = l.Store.Workflows.Get(ctx, l.id); err != nil {
		return err
	}
	if l.submission == nil {
		if l.submission, err = l.Store.Scheduling.Submission(ctx, l.id); err != nil {
			return err
		}
	}
	if l.records, err = l.Store.Actions.List(ctx, l.id); err != nil {
		return err
	}
	schedulers, _, err := l.Store.SlurmSchedulers.List(ctx, l.id, store.Page{Limit: maxSchedulers})
	if err != nil {
		return err
	}
	if l.history, err = l.Store.Actions.AskedAllocations(ctx, l.id); err != nil {
		return err
	}
	l.pools = &pools{workflow: &l.workflow, schedulers: schedulers, targets: map[string]*target{}, set: l.Settings.withDefaults()}
	l.pools.set.Margins = placement.MarginsOf(l.workflow.ExecutionConfig)
	l.report = &Report{WorkflowID: l.id, At: l.now, Next: l.now.Add(l.Tick), Ended: l.ended()}
	if l.submission != nil && !l.ended() {
		if err := l.readActions(ctx); err != nil {
			return err
		}
	}
	return l.readJobs(ctx)
}

// maxSchedulers is more than any workflow has.
const maxSchedulers = 100_000

// ended reports whether no job of the run will become ready.
func (l *pass) ended() bool {
	if l.workflow.Compensating {
		return false
	}
	return l.workflow.IsCanceled || l.workflow.Verdict != "" && !l.workflow.ComputeNodeIgnoreWorkflowCompletion
}

// readActions finds the actions that request allocations, and their pools.
func (l *pass) readActions(ctx context.Context) error {
	l.pools.options = l.submission.Options
	asks := false
	for i := range l.records {
		a := &l.records[i]
		if a.ActionType != action.ScheduleNodes {
			continue
		}
		config, err := a.ScheduleNodes()
		if err != nil {
			return err
		}
		asks = true
		if a.IsAutoSchedule() {
			if l.replacesLost() {
				l.pools.actions = append(l.pools.actions, autoAction{id: a.ID, config: config})
			}
			continue
		}
		if d, ok := l.dueOf(a, config); ok {
			l.due = append(l.due, d)
		}
		if l.carriesOut(a, config) && l.replacesLost() {
			l.follow(a, config)
		}
	}
	if l.dry && (!asks || l.limits != nil) && l.replacesLost() {
		l.foreseeAction()
	}
	l.report.AutoSchedule = len(l.pools.actions) > 0
	l.report.RequestsMore = l.report.AutoSchedule || len(l.followers) > 0
	l.pools.actions = append(l.pools.actions, l.followers...)
	if !l.seen {
		l.site = l.findSite(ctx)
	}
	l.pools.site, l.pools.siteReason = l.site.site, l.site.reason
	return ctx.Err()
}

// replacesLost reports whether the daemon requests replacements, beyond the requests that
// actions make once.
func (l *pass) replacesLost() bool {
	return l.workflow.Policy.AutoSchedules() && !l.submission.Options.NoAutoSchedule
}

// knownSite is what the cluster offers, or why this is not known.
type knownSite struct {
	site   *siteconfigs.Site
	reason string
}

func (s *Scheduler) findSite(ctx context.Context) knownSite {
	if s.Site == nil {
		return knownSite{reason: "no site is configured for the daemon"}
	}
	site, err := s.Site(ctx)
	if err != nil {
		return knownSite{site: site, reason: err.Error()}
	}
	return knownSite{site: site}
}

// foreseeAction changes the actions as a submission would.
func (l *pass) foreseeAction() {
	if len(l.pools.actions) == 0 {
		l.pools.actions = append(l.pools.actions, autoAction{id: newAction})
	}
	if l.limits != nil {
		l.pools.actions[0].config.AutoSchedule = *l.limits
	}
}

// readJobs reads allocations, jobs and the state of the run again, since calls of Slurm
// may have taken time.
func (l *pass) readJobs(ctx context.Context) (err error) {
	if l.supply, err = l.Store.Scheduling.Supply(ctx, l.id, l.Lead); err != nil {
		return err
	}
	l.workflow, l.history = l.supply.Workflow, l.supply.Asked
	l.report.Ended = l.ended()
	return nil
}

// overtaken reports whether the run has been canceled or is over by now, so that its
// requests are no longer needed.
func (l *pass) overtaken(ctx context.Context) bool {
	w, err := l.Store.Workflows.Get(ctx, l.id)
	return workflow.CodeOf(err) == workflow.CodeNotFound || err == nil && (w.IsCanceled && !w.Compensating || w.RunID != l.submission.RunID)
}

// snapshot returns the facts for Plan.
func (l *pass) snapshot() Snapshot {
	s := Snapshot{Now: l.now, Ended: l.ended(), Working: l.supply.Demand.Running > 0, Held: l.claimsHeld(), Settings: l.pools.set}
	l.nowhere = map[demandID]string{}
	for _, c := range l.supply.Demand.Classes {
		d := DemandOf(c, nil, l.now)
		d.Avoid = union(d.Avoid, l.supply.Demand.Excluded)
		id := idOf(&d)
		if since, known := l.memory.since[id]; known {
			d.Since = since
		}
		names, why := l.pools.find(&d)
		if d.Pools = names; why != "" {
			l.nowhere[id] = why
		}
		s.Demand = append(s.Demand, d)
	}
	left := map[int64]time.Time{}
	for i := range l.supply.Live {
		if a := &l.supply.Live[i]; a.WorkflowID == l.id && !a.IsDuplicate {
			out := l.allocation(a)
			l.mayReturn(&out, left)
			s.Allocations = append(s.Allocations, out)
		}
	}
	l.memory.left = left
	for _, d := range l.due {
		s.Allocations = append(s.Allocations, d.foreseen(l)...)
	}
	for _, t := range l.pools.targets {
		l.guard(t)
		t.Node.Slots = l.slots(t.ActionID)
		s.Pools = append(s.Pools, t.Pool)
	}
	for _, a := range l.pools.actions {
		s.Actions = append(s.Actions, l.autoSchedule(a))
	}
	return s
}

// claimsHeld returns what holds the claims of the workflow; nil if nothing does.
func (l *pass) claimsHeld() *Hold {
	held := l.supply.Demand.Held
	if len(held) == 0 {
		return nil
	}
	h := &Hold{Reason: held.Reason(), Keep: held.KeepPending()}
	if until := held.UntilMS(); until != 0 {
		h.Until = time.UnixMilli(until)
	}
	return h
}

// slots returns how many jobs a runner runs at a time in the allocations of an action; 0:
// as many as fit.
func (l *pass) slots(action int64) (n int64) {
	for _, a := range l.pools.actions {
		if a.id == action {
			n = a.config.MaxParallelJobs
		}
	}
	return cmp.Or(n, l.submission.Options.MaxParallelJobs)
}

func idOf(d *Demand) demandID { return demandID{d.ID, strings.Join(d.Avoid, ",")} }

// allocation returns a stored allocation for the plan. Those of other actions count like
// a person's.
func (l *pass) allocation(a *compute.Allocation) Allocation {
	load := l.supply.Loads[a.ID]
	a = l.withOffer(a)
	out := AllocationOf(a, load, l.silent(load))
	isAuto := false
	for _, x := range l.pools.actions {
		isAuto = isAuto || x.id == out.ActionID && (x.follows == nil || a.Request.Pool != "")
	}
	if !isAuto {
		out.ActionID = 0
	}
	out.Widened, out.Fixed = out.Widened || l.memory.narrow[a.ID], l.memory.fixed[a.ID]
	out.Shortened = l.memory.shortened[a.ID]
	if out.State == Pending && l.Expected != nil {
		out.Expected = l.Expected(a.SlurmJobID)
	}
	if out.Requeued && l.Eligible != nil {
		out.Eligible = l.Eligible(a.SlurmJobID)
	}
	return out
}

// mayReturn marks an allocation whose runners are gone as returning, where Slurm restarts
// allocations by itself, until a poll has shown its state. Left is when that was first
// seen.
func (l *pass) mayReturn(a *Allocation, left map[int64]time.Time) {
	set := &l.pools.set
	load := l.supply.Loads[a.ID]
	if !set.Requeue || a.State != Active || load == nil || load.Left == 0 || len(load.Runners) > 0 || !a.End.IsZero() && a.End.Before(l.now.Add(time.Minute)) {
		return
	}
	since, known := l.memory.left[a.ID]
	if !known {
		since = l.now
		if l.Poll != nil && !l.seen && !l.dry {
			l.Poll()
		}
	}
	left[a.ID] = since
	if until := since.Add(set.ReturnFor); l.now.Before(until) {
		a.State, a.Shape.Nodes = Returning, a.Shape.Nodes+load.Left
		l.sooner(until)
	}
}

// withOffer returns an allocation with what its nodes should have, which is not stored
// for requests by hand.
func (l *pass) withOffer(a *compute.Allocation) *compute.Allocation {
	if a.Request.Offer.CPUs > 0 || a.SchedulerConfigID == nil {
		return a
	}
	c := l.pools.schedulerOf(*a.SchedulerConfigID)
	if c == nil {
		return a
	}
	t, err := l.pools.ofScheduler(c)
	if err != nil {
		return a
	}
	known := *a
	known.Request.Offer = t.offer(largest(l.supply.Demand.Classes))
	return &known
}

// silent reports whether all runners have been silent for too long.
func (l *pass) silent(load *store.AllocationLoad) bool {
	if load == nil || len(load.Runners) == 0 || l.Silence == nil {
		return false
	}
	for _, r := range load.Runners {
		if l.Silence(r.RunnerID) < l.Silent {
			return false
		}
	}
	return true
}

// guard fills in the results of earlier requests in a pool.
func (l *pass) guard(t *target) {
	h := l.recent().in(t.Name, l.pools.followedBy(t.ActionID))
	t.Failures = h.failures()
	t.Hold = l.holdOf(h)
	if l.pools.site == nil {
		return
	}
	account := l.pools.site.Account(t.base.Account)
	if account.MaxSubmitJobs > 0 {
		room := int(account.MaxSubmitJobs)
		for i := range l.supply.Live {
			if l.pools.site.Account(l.supply.Live[i].Request.Account).Name == account.Name {
				room--
			}
		}
		t.Room = new(max(room, 0))
	}
}

// recent returns the requests since the workflow was last submitted: submitting again
// means that the user wants another try.
func (l *pass) recent() history { return l.history.from(l.submission.SubmittedMS) }

// holdOf returns what holds back requests with such a history; nil if nothing does.
func (l *pass) holdOf(h history) *Hold {
	for _, hold := range []*Hold{l.memory.stall, h.hold(&l.pools.set)} {
		if hold != nil && l.now.Before(hold.Until) {
			return hold
		}
	}
	return nil
}

// autoSchedule returns an action with its limits and its recent requests.
func (l *pass) autoSchedule(a autoAction) AutoSchedule {
	c := &a.config
	out := AutoSchedule{
		ActionID: a.id, MinReadyJobs: c.MinReadyJobs, MaxAllocations: int(c.MaxAllocations), MaxSubmitPerMinute: int(c.MaxSubmitPerMinute),
		GiveUpAfter: int(c.GiveUpAfter), Prefer: Preference(cmp.Or(l.submission.Options.Prefer, c.Prefer)), Submitted: l.history.of(a.id).submitted(l.now.Add(-time.Minute)),
	}
	for _, x := range l.history.of(a.id) {
		if x.Cause == compute.AllocationCanceled && x.Refusal == "" && !x.Worked {
			out.Canceled = append(out.Canceled, time.UnixMilli(x.EndMS))
		}
	}
	if a.follows != nil {
		out.Follows = c.SchedulerID
	}
	if seconds, err := workflow.ParseRuntime(c.MaxReadyAge); err == nil {
		out.MaxReadyAge = time.Duration(seconds) * time.Second
	}
	return out
}
