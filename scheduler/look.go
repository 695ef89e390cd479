package scheduler

import (
	"cmp"
	"context"
	"strings"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// look is one look at a workflow.
type look struct {
	*Scheduler
	memory     *memory
	id         int64
	now        time.Time
	dry        bool
	limits     *workflow.AutoSchedule // of a dry look
	submission *workflow.Submission   // nil: it was not submitted
	site       knownSite
	seen       bool // the site is as an earlier look saw it

	workflow workflow.Workflow
	records  []workflow.ActionRecord
	supply   store.Supply
	history  history
	pools    *pools
	due      []dueAction
	// followers look after the jobs of actions that have asked for their allocations.
	followers []autoAction
	nowhere   map[demandID]string // why there is no pool for jobs

	report *Report
}

// newAction is the id of the action that a submission would make.
const newAction = -1

// read gathers what is known.
func (l *look) read(ctx context.Context) (err error) {
	if l.workflow, err = l.Store.Workflow(ctx, l.id); err != nil {
		return err
	}
	if l.submission == nil {
		if l.submission, err = l.Store.Submission(ctx, l.id); err != nil {
			return err
		}
	}
	if l.records, err = l.Store.Actions(ctx, l.id); err != nil {
		return err
	}
	schedulers, _, err := l.Store.SlurmSchedulers(ctx, l.id, store.Page{Limit: maxSchedulers})
	if err != nil {
		return err
	}
	if l.history, err = l.Store.AskedAllocations(ctx, l.id); err != nil {
		return err
	}
	l.pools = &pools{workflow: &l.workflow, schedulers: schedulers, targets: map[string]*target{}, set: l.Settings.withDefaults()}
	l.pools.set.Margins = workflow.MarginsOf(l.workflow.ExecutionConfig)
	l.report = &Report{WorkflowID: l.id, At: l.now, Next: l.now.Add(l.Tick), Ended: l.ended()}
	if l.submission != nil && !l.ended() {
		if err := l.readActions(ctx); err != nil {
			return err
		}
	}
	return l.readJobs(ctx)
}

// maxSchedulers is more than a workflow has.
const maxSchedulers = 100_000

// ended reports whether no job of the run will be ready any more.
func (l *look) ended() bool {
	if l.workflow.Compensating {
		return false
	}
	return l.workflow.IsCanceled || l.workflow.Verdict != "" && !l.workflow.ComputeNodeIgnoreWorkflowCompletion
}

// readActions finds what asks for allocations, and where it may.
func (l *look) readActions(ctx context.Context) error {
	l.pools.options = l.submission.Options
	asks := false
	for i := range l.records {
		a := &l.records[i]
		if a.ActionType != workflow.ActionScheduleNodes {
			continue
		}
		config, err := a.ScheduleNodes()
		if err != nil {
			return err
		}
		asks = true
		if a.IsAutoSchedule() {
			if l.looksAfter() {
				l.pools.actions = append(l.pools.actions, autoAction{id: a.ID, config: config})
			}
			continue
		}
		if d, ok := l.dueOf(a, config); ok {
			l.due = append(l.due, d)
		}
		if l.carriesOut(a, config) && l.looksAfter() {
			l.follow(a, config)
		}
	}
	if l.dry && (!asks || l.limits != nil) && l.looksAfter() {
		l.foreseeAction()
	}
	l.report.AutoSchedule = len(l.pools.actions) > 0
	l.report.LookedAfter = l.report.AutoSchedule || len(l.followers) > 0
	l.pools.actions = append(l.pools.actions, l.followers...)
	if !l.seen {
		l.site = l.findSite(ctx)
	}
	l.pools.site, l.pools.siteReason = l.site.site, l.site.reason
	return ctx.Err()
}

// looksAfter reports whether the daemon asks for more than actions ask for once.
func (l *look) looksAfter() bool {
	return l.workflow.Policy.LooksAfter() && !l.submission.Options.NoAutoSchedule
}

// knownSite is what the cluster offers, or why that is not known.
type knownSite struct {
	site   *siteconfigs.Site
	reason string
}

func (s *Scheduler) findSite(ctx context.Context) knownSite {
	if s.Site == nil {
		return knownSite{reason: "the daemon does not look for one"}
	}
	site, err := s.Site(ctx)
	if err != nil {
		return knownSite{site: site, reason: err.Error()}
	}
	return knownSite{site: site}
}

// foreseeAction does what a submission would do to the actions.
func (l *look) foreseeAction() {
	if len(l.pools.actions) == 0 {
		l.pools.actions = append(l.pools.actions, autoAction{id: newAction})
	}
	if l.limits != nil {
		l.pools.actions[0].config.AutoSchedule = *l.limits
	}
}

// readJobs reads allocations and jobs, and how the run is by now: the cluster may
// have been asked since.
func (l *look) readJobs(ctx context.Context) (err error) {
	if l.supply, err = l.Store.Supply(ctx, l.id, l.Lead); err != nil {
		return err
	}
	l.workflow, l.history = l.supply.Workflow, l.supply.Asked
	l.report.Ended = l.ended()
	return nil
}

// overtaken reports whether the run that is looked at is canceled or over by now:
// what was to be asked for in it is of no use any more.
func (l *look) overtaken(ctx context.Context) bool {
	w, err := l.Store.Workflow(ctx, l.id)
	return workflow.CodeOf(err) == workflow.CodeNotFound || err == nil && (w.IsCanceled && !w.Compensating || w.RunID != l.submission.RunID)
}

// snapshot is what Plan looks at.
func (l *look) snapshot() Snapshot {
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

// claimsHeld is what holds the claims of the workflow; nil if nothing does.
func (l *look) claimsHeld() *Hold {
	held := l.supply.Demand.Held
	if len(held) == 0 {
		return nil
	}
	h := &Hold{Reason: held.Reason()}
	if until := held.UntilMS(); until != 0 {
		h.Until = time.UnixMilli(until)
	}
	return h
}

// slots is how many jobs a runner runs at a time in what an action asks for; 0:
// as many as fit.
func (l *look) slots(action int64) (n int64) {
	for _, a := range l.pools.actions {
		if a.id == action {
			n = a.config.MaxParallelJobs
		}
	}
	return cmp.Or(n, l.submission.Options.MaxParallelJobs)
}

func idOf(d *Demand) demandID { return demandID{d.ID, strings.Join(d.Avoid, ",")} }

// allocation is a stored one to plan with. Those that other actions have asked
// for are as good as a person's.
func (l *look) allocation(a *workflow.Allocation) Allocation {
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
	out.Widened = out.Widened || l.memory.narrow[a.ID]
	if out.Requeued && l.Eligible != nil {
		out.Eligible = l.Eligible(a.SlurmJobID)
	}
	return out
}

// mayReturn has an allocation whose runners are gone waited for, where Slurm starts
// allocations again by itself, until it has been looked at what becomes of it.
// Left is what is remembered of it.
func (l *look) mayReturn(a *Allocation, left map[int64]time.Time) {
	set := &l.pools.set
	load := l.supply.Loads[a.ID]
	if !set.Requeue || a.State != Active || load == nil || load.Left == 0 || len(load.Runners) > 0 || !a.End.IsZero() && a.End.Before(l.now.Add(time.Minute)) {
		return
	}
	since, known := l.memory.left[a.ID]
	if !known {
		since = l.now
		if l.Look != nil && !l.seen && !l.dry {
			l.Look()
		}
	}
	left[a.ID] = since
	if until := since.Add(set.ReturnFor); l.now.Before(until) {
		a.State, a.Shape.Nodes = Returning, a.Shape.Nodes+load.Left
		l.sooner(until)
	}
}

// withOffer is an allocation with what its nodes should have. Nobody has worked
// that out for one that was asked for by hand.
func (l *look) withOffer(a *workflow.Allocation) *workflow.Allocation {
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
	known.Request.Offer = t.offer(l.largest())
	return &known
}

// silent reports whether nothing was heard of any runner for too long.
func (l *look) silent(load *store.AllocationLoad) bool {
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

// guard fills in what has come of earlier requests in a pool.
func (l *look) guard(t *target) {
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

// recent is what was asked for since somebody submitted the workflow, be it
// again: whoever does that wants it tried.
func (l *look) recent() history { return l.history.from(l.submission.SubmittedMS) }

// holdOf is what holds back requests with such a history now.
func (l *look) holdOf(h history) *Hold {
	for _, hold := range []*Hold{l.memory.stall, h.hold(&l.pools.set)} {
		if hold != nil && l.now.Before(hold.Until) {
			return hold
		}
	}
	return nil
}

// autoSchedule is an action with its limits and what it has asked for lately.
func (l *look) autoSchedule(a autoAction) AutoSchedule {
	c := &a.config
	out := AutoSchedule{
		ActionID: a.id, MinReadyJobs: c.MinReadyJobs, MaxAllocations: int(c.MaxAllocations), MaxSubmitPerMinute: int(c.MaxSubmitPerMinute),
		GiveUpAfter: int(c.GiveUpAfter), Submitted: l.history.of(a.id).submitted(l.now.Add(-time.Minute)),
	}
	if a.follows != nil {
		out.Follows = c.SchedulerID
	}
	if seconds, err := workflow.ParseRuntime(c.MaxReadyAge); err == nil {
		out.MaxReadyAge = time.Duration(seconds) * time.Second
	}
	return out
}
