// Package scheduler decides how many allocations of which shape to request from Slurm,
// and when. The decision is a pure function of a Snapshot.
package scheduler

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Snapshot has the facts for Plan: one workflow at one moment.
type Snapshot struct {
	Now         time.Time
	Ended       bool  // the workflow is complete or canceled: no job will become ready
	Working     bool  // jobs are running, so others may become ready
	Held        *Hold // claims are held: nothing is requested; Until, if the hold expires
	Demand      []Demand
	Allocations []Allocation
	Pools       []Pool
	Actions     []AutoSchedule
	Settings    Settings
	// Forecast is what the cluster is like. Without its Cluster the plan counts and packs jobs
	// without knowing when allocations start; NoForecast says why.
	Forecast   *forecast.Forecast
	Ahead      []Ahead // the blocked jobs, as far as they are known; they only count with a forecast
	NoForecast string
}

// Kind says what an Action is.
type Kind int

// The kinds.
const (
	Submit  Kind = iota // request Count allocations of Shape
	Probe               // request one, to test whether the pool works again
	Cancel              // cancel the pending Allocation
	Wait                // nothing now; plan again at Until
	Pause               // the pool does not work; the next probe is at Until
	Widen               // let the pending Allocation also start in Partition
	Shorten             // lower the time limit of the pending Allocation to the walltime of Shape
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"submit", "probe", "cancel", "wait", "pause", "widen", "shorten"}[k]
}

// Action is one step of a plan. Actions are to be carried out in order.
type Action struct {
	Kind       Kind
	ActionID   int64     // the AutoSchedule that it belongs to
	Pool       string    // all but Cancel; empty where Wait concerns all of its pools
	Shape      Shape     // Submit, Probe, Shorten
	Count      int       // Submit, Probe
	Allocation int64     // Cancel, Widen, Shorten
	Partition  string    // Widen
	Until      time.Time // Wait, Pause; zero: when something changes
	// Expect is what is expected of each of the allocations of Submit and Probe; nil without a
	// forecast.
	Expect *compute.AllocationExpectation
	Reason string // for people
}

// Decision is what to do now, and where each ready job can run.
type Decision struct {
	Actions  []Action
	Coverage []Coverage
	// Choices are the sets of allocations that were compared, by action: the chosen one, and
	// the best of the others. There are none without a forecast.
	Choices []Choice
	// Doubts are allocations of which nothing tells how long they would be pending. The answer
	// might lead to another choice.
	Doubts []Doubt
}

// Doubt is an allocation about which Slurm should be asked.
type Doubt struct {
	Pool    string
	Shape   Shape
	Request forecast.Request
}

// Plan returns which allocations a workflow needs. Ready jobs without room
// in live and pending allocations are packed into new ones; pending ones for
// which no job is left are canceled. Carrying out its actions and planning
// again at the same moment gives nothing more to do. The same snapshot, in
// any order of its lists, gives the same decision.
func Plan(s Snapshot) Decision {
	p := planner{Snapshot: s, set: s.Settings.withDefaults()}
	p.sort()
	if s.Held != nil && !s.Ended {
		p.hold()
	}
	var o *outlook
	switch {
	case s.Ended:
	case p.foresees():
		p.follow()
		o = p.outlook()
		p.fillOutlook(o)
	default:
		p.fillSupply()
	}
	p.cancelSurplus()
	p.await()
	p.widen()
	p.assign()
	for i := range p.actions {
		p.ask(&p.actions[i], o)
	}
	p.shorten(o)
	p.wake()
	for _, w := range p.wants {
		if w.await > 0 {
			w.cover.Uncovered += w.await
			w.cover.Reason = cmp.Or(w.cover.Reason, awaited)
		}
		p.decision.Coverage = append(p.decision.Coverage, w.cover)
	}
	return p.decision
}

// foresees reports whether there is a forecast.
func (s *Snapshot) foresees() bool { return s.Forecast != nil && s.Forecast.Cluster != nil }

// planner is the state of one call of Plan.
type planner struct {
	Snapshot
	set      Settings
	wants    []*want
	supply   []*Allocation // without those that this plan cancels
	used     map[*Allocation]bool
	actions  []AutoSchedule
	pools    map[string]*Pool
	decision Decision
	waits    map[asking]forecast.Wait // that have been estimated
	taken    *forecast.Forecast       // for all but the first new allocation
	queued   []slot                   // pending allocations that have to queue
	stuck    []forecast.Request       // pending although their resources seem to be free
	blocked  int64                    // jobs that follow the ready ones, one step after the other
	beyond   int64                    // of these, those that have no place among them
}

// want is demand with the places found for it.
type want struct {
	*Demand
	cover Coverage
	open  int64 // ready jobs that need a place, also those that have one
	left  int64 // of these, those without one
	await int64 // others, for which an action is going to request allocations
	later int64 // jobs that will be ready later
	// chains are the jobs that are ready or running, and follows the blocked ones that will run in
	// their places, in jobs of the same length. They only count with a forecast.
	chains, follows int64
	pools           []*Pool // where to request allocations for them, best first
}

func (w *want) uncover(reason string) { w.cover.Uncovered, w.cover.Reason = w.left, reason }

// sort sorts the lists, so that their order in the snapshot does not matter.
func (p *planner) sort() {
	demand := pointers(p.Demand)
	slices.SortStableFunc(demand, compareDemand)
	for _, d := range demand {
		p.wants = append(p.wants, &want{Demand: d, open: d.Ready, left: d.Ready, later: d.Later, cover: Coverage{ClassID: d.ID, Avoid: d.Avoid, Ready: d.Ready}})
	}
	p.supply = pointers(p.Allocations)
	slices.SortStableFunc(p.supply, compareAllocation)
	p.pools = make(map[string]*Pool, len(p.Pools))
	for i := range p.Pools {
		p.pools[p.Pools[i].Name] = &p.Pools[i]
	}
	for _, a := range p.Actions {
		p.actions = append(p.actions, a.withDefaults(p.foresees()))
	}
	slices.SortFunc(p.actions, func(a, b AutoSchedule) int { return cmp.Compare(a.ActionID, b.ActionID) })
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// hold plans while claims are held: no job may be claimed. Pending allocations are
// kept if the hold expires by itself, or says so.
func (p *planner) hold() {
	for _, w := range p.wants {
		if w.left > 0 {
			w.uncover(p.Held.Reason)
		}
		if w.later += w.left; p.Held.lasts() {
			w.later = 0
		}
		w.open, w.left = 0, 0
	}
	p.act(Action{Kind: Wait, Until: p.Held.Until, Reason: p.Held.Reason})
}

// fillSupply finds room for jobs in existing allocations: first for the ready ones,
// then for those that will be ready later.
func (p *planner) fillSupply() {
	p.used = make(map[*Allocation]bool)
	rooms := make([]room, len(p.supply))
	for i, a := range p.supply {
		rooms[i] = a.room(p.Now, p.set.Margins)
	}
	place := func(w *want, n int64) (live, pending int64) {
		for i, a := range p.supply {
			if live+pending == n {
				break
			}
			if !a.admits(w.Demand, p.pools[a.Shape.Pool], p.Now.Add(p.set.RequeuedFor)) {
				continue
			}
			taken := rooms[i].take(w.load(), n-live-pending)
			p.used[a] = p.used[a] || taken > 0
			if a.State == Active {
				live += taken
			} else {
				pending += taken
			}
		}
		return live, pending
	}
	for _, w := range p.wants {
		w.cover.Live, w.cover.Pending = place(w, w.left)
		w.left -= w.cover.Live + w.cover.Pending
	}
	for _, w := range p.wants {
		place(w, w.later)
	}
}

// cancelSurplus cancels the pending allocations for which no job is left. Those
// that a person requested stay until the workflow has ended.
func (p *planner) cancelSurplus() {
	reason := "other live and pending allocations can take all jobs that are ready or will be"
	switch {
	case p.Ended:
		reason = "the workflow has ended"
	case p.Held != nil && p.Held.lasts():
		reason = p.Held.Reason
	}
	p.supply = slices.DeleteFunc(p.supply, func(a *Allocation) bool {
		surplus := a.State == Pending && (p.Ended || a.ActionID != 0 && !p.used[a])
		if surplus {
			why := reason
			if !p.Ended && a.late(p.Now.Add(p.set.RequeuedFor)) {
				why = "Slurm has requeued it and does not start it before " + a.Eligible.Format("15:04:05")
			}
			p.act(Action{Kind: Cancel, ActionID: a.ActionID, Allocation: a.ID, Reason: why})
		}
		return surplus
	})
}

// awaited is why nothing is requested for jobs for which an action will request
// allocations.
const awaited = "an action requests their allocations as soon as its other jobs are ready"

// await leaves jobs to the actions that are going to request allocations for them, as
// long as the actions can still be triggered.
func (p *planner) await() {
	underWay := p.Working
	for _, w := range p.wants {
		underWay = underWay || w.cover.Live+w.cover.Pending > 0 || w.left > w.Awaited
	}
	for _, w := range p.wants {
		if underWay {
			w.await = min(w.left, w.Awaited)
			w.open, w.left = w.open-w.await, w.left-w.await
		}
	}
}

func (p *planner) act(a Action) { p.decision.Actions = append(p.decision.Actions, a) }

// assign finds the pools for ready jobs: those in which a job fits an allocation.
func (p *planner) assign() {
	for _, w := range p.wants {
		if w.open == 0 {
			continue
		}
		if p.Ended {
			w.uncover("the workflow has ended")
			continue
		}
		var refusals []string
		for _, name := range w.Pools {
			pool := p.pools[name]
			if pool == nil || !slices.ContainsFunc(p.actions, func(a AutoSchedule) bool { return a.ActionID == pool.ActionID }) {
				continue
			}
			if why := pool.misfit(w.Demand, &p.set); why != "" {
				refusals = append(refusals, name+": "+why)
			} else {
				w.pools = append(w.pools, pool)
			}
		}
		switch {
		case len(w.pools) > 0, w.left == 0:
		case len(refusals) == 0:
			w.uncover("there is no scheduler or partition that it may use")
		default:
			w.uncover("fits no allocation; " + strings.Join(refusals, "; "))
		}
	}
}

// ask plans the allocations that an action requests.
func (p *planner) ask(a *AutoSchedule, o *outlook) {
	var wants []*want
	for _, w := range p.wants {
		if len(w.pools) > 0 && w.pools[0].ActionID == a.ActionID && (w.left > 0 || o != nil) {
			wants = append(wants, w)
		}
	}
	if len(wants) == 0 || lacking(wants) && p.batch(a, wants) {
		return
	}
	k := p.packBest(a, wants, o)
	if k == nil {
		return
	}
	left, next := a.rate(p.Now)
	if left < len(k.drafts) {
		reason := fmt.Sprintf("max_submit_per_minute is %d", a.MaxSubmitPerMinute)
		for _, f := range k.drafts[left:] {
			k.giveBack(f, reason)
		}
		k.drafts = k.drafts[:left]
		k.limits = append(k.limits, Action{Kind: Wait, Until: next, Reason: reason})
	}
	p.submit(a, k)
	if !k.improves {
		for _, l := range k.limits {
			l.ActionID = a.ActionID
			p.act(l)
		}
	}
	for i, w := range wants {
		k.cover(i, w)
	}
}

// lacking reports whether jobs have no place.
func lacking(wants []*want) bool {
	return slices.ContainsFunc(wants, func(w *want) bool { return w.left > 0 })
}

// packBest packs jobs into new allocations, by the forecast if there is one; nil if nothing
// is to be requested, as all jobs have a place that is good enough.
func (p *planner) packBest(a *AutoSchedule, wants []*want, o *outlook) *packing {
	serial := slices.ContainsFunc(wants, func(w *want) bool { return w.pools[0].Serialize })
	if o == nil || serial {
		if !lacking(wants) {
			return nil
		}
		return p.pack(a, wants)
	}
	if k := p.choose(a, wants, o); k != nil || !lacking(wants) {
		return k
	}
	return p.pack(a, wants)
}

// batch reports whether to wait for more jobs, as long as others may become ready.
func (p *planner) batch(a *AutoSchedule, wants []*want) bool {
	total, oldest := int64(0), p.Now
	more := p.Working
	for _, w := range wants {
		total += w.left
		if w.Since.Before(oldest) {
			oldest = w.Since
		}
	}
	for _, w := range p.wants {
		more = more || w.Later > 0
	}
	due := oldest.Add(a.MaxReadyAge)
	if total >= a.MinReadyJobs || !more || !p.Now.Before(due) {
		return false
	}
	reason := fmt.Sprintf("%s no place; waiting for %d, or until the oldest has waited for %s", workflow.CountOf(int64(total), "ready job has", "ready jobs have"), a.MinReadyJobs, inWords(a.MaxReadyAge))
	p.act(Action{Kind: Wait, ActionID: a.ActionID, Until: due, Reason: reason})
	for _, w := range wants {
		if w.left > 0 {
			w.uncover(reason)
		}
	}
	return true
}

// wake adds a Wait until delayed jobs become ready.
func (p *planner) wake() {
	var next time.Time
	for _, w := range p.wants {
		if !w.Next.IsZero() && (next.IsZero() || w.Next.Before(next)) {
			next = w.Next
		}
	}
	if !next.IsZero() && !p.Ended {
		p.act(Action{Kind: Wait, Until: next, Reason: "delayed jobs become ready then"})
	}
}

// submit adds the drafts as actions; consecutive drafts of one shape become one action.
func (p *planner) submit(a *AutoSchedule, k *packing) {
	for i := 0; i < len(k.drafts); {
		f := k.drafts[i]
		act := Action{Kind: Submit, ActionID: a.ActionID, Pool: f.pool.Name, Shape: f.final(&p.set)}
		if f.probe != "" {
			act.Kind = Probe
		}
		jobs := int64(0)
		for ; i < len(k.drafts) && reflect.DeepEqual(k.drafts[i].final(&p.set), act.Shape); i++ {
			act.Count++
			jobs += k.drafts[i].jobs()
		}
		act.Reason = fmt.Sprintf("%s without a place: %s in %s", countOf(jobs, "ready job"), act.Shape.inWords(act.Count), act.Pool)
		if a.Follows != nil {
			act.Reason += fmt.Sprintf("; the allocations that action %d requested have no room for them", a.ActionID)
		}
		if f.instead != "" {
			act.Reason += "; " + f.instead
		}
		if act.Expect = k.expect(f); act.Expect != nil {
			act.Reason += fmt.Sprintf("; expected to start in about %s (%s)", about(f.wait.Likely), f.wait.Reason)
		}
		if f.probe != "" {
			act.Reason = f.probe + ": trying one; " + act.Reason
		}
		p.act(act)
	}
}
