package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// Choice is a set of allocations that a plan could request, and what is expected of it.
type Choice struct {
	Text       string        // the allocations, for people
	Count      int           // of allocations; 0: nothing is requested
	Start      time.Duration // until the first of them starts
	Completion time.Duration // until the ready jobs have ended
	Remaining  int64         // ready jobs for which it has no room
	CPUSeconds int64         // that the allocations with these jobs have
	IdleShare  float64       // the part of CPUSeconds that no job uses, 0 to 1
	Chosen     bool
	Reason     string // why it was chosen, or why not
}

// Preference says what a plan prefers where it can choose.
type Preference string

// The preferences.
const (
	PreferTime     Preference = "time"     // the jobs end as soon as possible
	PreferBalanced Preference = "balanced" // soon, but without much idle time of allocations
	PreferCost     Preference = "cost"     // few idle core-hours, even if the jobs end later
)

// tolerance returns how much later than is possible the jobs may end, to use less.
func (p Preference) tolerance(soonest int64) int64 {
	switch p {
	case PreferTime:
		return soonest/50 + 5
	case PreferCost:
		return soonest + 60
	}
	return soonest*15/100 + 15
}

// How much sooner the jobs must end, so that more is requested although all have a place, and how
// long requests are left alone before.
const (
	gainPart    = 4 // one part of so many
	gainLeast   = 3 * time.Minute
	calmFor     = 3 * time.Minute
	regretFor   = 20 * time.Minute
	replaceable = 5 * time.Minute
)

// option is one choice that is being evaluated.
type option struct {
	packing  *packing
	replaces []*Allocation // pending ones that it cancels
	slots    []slot        // the existing allocations without these, and the new ones
	by       int64         // the second by which the jobs are expected to end
	left     int64
	held     int64 // CPU seconds of allocations
	used     int64 // of jobs
	idle     bool  // one of its new allocations would have no job
	Choice
}

// chooser compares the sets of allocations that an action could request.
type chooser struct {
	*planner
	action  *AutoSchedule
	asked   []*want // whose jobs may be in new allocations
	outlook *outlook
	loads   []load  // of the jobs of all wants
	counts  []int64 // how many of each are ready
	must    bool    // jobs have no place
}

// choose returns the packing with the best prospects for an action; nil if nothing should be
// requested. It records all choices.
func (p *planner) choose(a *AutoSchedule, wants []*want, o *outlook) *packing {
	c := &chooser{planner: p, action: a, asked: wants, outlook: o, must: lacking(wants)}
	c.loads, c.counts = p.loads()
	none := c.evaluate(&option{slots: o.slots})
	if !c.must && (!c.calm() || none.by <= int64(gainLeast/time.Second)) {
		return nil
	}
	least := int64(0) // by then, the jobs that have a place end
	if c.must && !c.calm() {
		least, _ = level(o.slots, startLikely, c.loads, c.counts)
	}
	options := append([]*option{none}, c.options(none.by, least)...)
	best := c.best(none, options)
	shown := len(p.decision.Choices)
	c.record(options, best, none)
	if best == none {
		return nil
	}
	c.doubt(best, options)
	c.extend(best.packing)
	best.packing.improves, best.packing.choice = !c.must, &best.Choice
	if n := len(p.decision.Choices); n > shown+1 {
		best.packing.instead = &p.decision.Choices[shown+1]
	}
	for _, s := range best.replaces {
		c.replace(s, fmt.Sprintf("new allocations are expected to end the jobs in %s instead of %s", about(best.Completion), about(none.Completion)))
	}
	return best.packing
}

// options returns the choices that are worth a comparison with each other, and with one that ends
// the jobs by some second. They do not aim at ending them before another.
func (c *chooser) options(soonest, least int64) (options []*option) {
	for _, v := range c.variants() {
		for _, by := range append([]int64{least}, ladder(c.asked)...) {
			if by < max(least, 1) {
				continue
			}
			if x := c.option(v, by); x != nil {
				if c.evaluate(x); !x.idle {
					options = append(options, x)
					soonest = min(soonest, x.by)
				}
			}
			if by > 4*soonest {
				break
			}
		}
	}
	return options
}

// best returns the best option: one that cancels nothing, unless another beats it.
func (c *chooser) best(none *option, options []*option) *option {
	kept, replaced := split(options)
	best := pick(kept, c.action.Prefer)
	if !c.must && !best.beats(none) {
		best = none
	}
	if x := pick(replaced, c.action.Prefer); x != nil && x.left <= best.left && x.starts() && x.beats(best) {
		if left, _ := c.action.rate(c.Now); len(x.packing.drafts) <= left { // all at once
			best = x
		}
	}
	return best
}

// doubtsOf is about how many options Slurm is asked, the chosen one included.
const doubtsOf = 3

// doubt adds the first allocation of the chosen option, and of others that are about as good,
// if it would have to queue for a time of which nothing is known.
func (c *chooser) doubt(best *option, options []*option) {
	rivals := slices.Clone(options)
	slices.SortStableFunc(rivals, func(a, b *option) int { return cmp.Compare(a.by, b.by) })
	type size struct {
		walltime   time.Duration
		cpus, gpus int64
	}
	known := map[size]bool{}
	for _, x := range append([]*option{best}, rivals...) {
		if len(known) == doubtsOf || x.by > 2*best.by {
			break
		}
		i := slices.IndexFunc(x.slots, func(s slot) bool { return s.draft != nil && !s.free && s.wait.Assumed })
		if i < 0 {
			continue
		}
		f := x.slots[i].draft
		shape := f.final(&c.set)
		if key := (size{shape.Walltime, shape.Node.CPUs, shape.Node.GPUs}); !known[key] {
			known[key] = true
			c.decision.Doubts = append(c.decision.Doubts, Doubt{Pool: f.pool.Name, Shape: shape, Request: c.request(&shape, f.pool.Place)})
		}
	}
}

// beats reports whether the jobs end so much sooner than with the other option that it is
// worth more requests, or the place of pending allocations in the queue.
func (x *option) beats(other *option) bool {
	return x.by <= other.by-max(other.by/gainPart, int64(gainLeast/time.Second))
}

// starts reports whether the resources of all new allocations are free. What pending ones lose is
// certain, and how long others would queue is not.
func (x *option) starts() bool {
	return !slices.ContainsFunc(x.slots, func(s slot) bool { return s.draft != nil && !s.free })
}

// split separates the options that cancel pending allocations.
func split(options []*option) (kept, replaced []*option) {
	for _, x := range options {
		if len(x.replaces) > 0 {
			replaced = append(replaced, x)
		} else {
			kept = append(kept, x)
		}
	}
	return kept, replaced
}

// calm reports whether the latest request of the action, or of a person, is some time ago, and
// nothing had to be canceled lately. Else nothing is requested for jobs that have a place.
func (c *chooser) calm() bool {
	for _, s := range c.supply {
		if c.action.counts(s) && c.Now.Sub(s.Asked) < calmFor {
			return false
		}
	}
	lately := func(times []time.Time, d time.Duration) bool {
		return slices.ContainsFunc(times, func(at time.Time) bool { return c.Now.Sub(at) < d })
	}
	return !lately(c.action.Submitted, calmFor) && !lately(c.action.Canceled, regretFor)
}

// loads returns what a job of each want uses, and how many of each are ready.
func (p *planner) loads() ([]load, []int64) {
	loads, counts := make([]load, len(p.wants)), make([]int64, len(p.wants))
	for i, w := range p.wants {
		loads[i], counts[i] = w.load(), w.open
	}
	return loads, counts
}

// variant is a way to shape new allocations.
type variant struct {
	by        time.Duration       // until when their jobs end as planned, from now
	fits      bool                // each is as large as the largest vacancy, as long as there are any
	spare     bool                // in the second pool of the jobs rather than in the first
	nodes     int64               // of each; 0: as the pool says
	jobs      int64               // each has room for so many side by side; 0: as many as a node has
	vacancies *forecast.Vacancies // what is free for them
	replaces  []*Allocation
	first     bool // the next allocation is the first of the variant
}

// order returns the pools of jobs in the order in which the variant tries them.
func (v *variant) order(pools []*Pool) []*Pool {
	if !v.spare || len(pools) < 2 {
		return pools
	}
	return pools[1:2]
}

// widest is how many nodes an allocation has at most, unless its jobs need more.
const widest = 64

// variants returns the ways to shape new allocations that are worth a try.
func (c *chooser) variants() []variant {
	all := []variant{{}, {fits: true}}
	if slices.ContainsFunc(c.asked, func(w *want) bool { return len(w.pools) > 1 }) {
		all = append(all, variant{spare: true}, variant{spare: true, fits: true})
	}
	if pool := c.asked[0].pools[0]; pool.SchedulerID == nil && pool.Nodes == 0 && len(pool.Required) == 0 && !pool.Failures.Wide {
		for n := int64(2); n <= widest && (pool.MaxNodes == 0 || n <= pool.MaxNodes); n *= 2 {
			all = append(all, variant{nodes: n})
		}
	}
	if pool := c.asked[0].pools[0]; pool.Shared && pool.SchedulerID == nil {
		for _, n := range [...]int64{1, 2, 4} {
			if each := c.asked[0].each().times(n); pool.Node.holds(each) > 1 {
				all = append(all, variant{jobs: n})
			}
		}
	}
	if late := c.late(); len(late) > 0 {
		for _, v := range slices.Clone(all) {
			v.replaces = late
			all = append(all, v)
		}
	}
	return all
}

// replace cancels a pending allocation.
func (c *chooser) replace(a *Allocation, why string) {
	c.act(Action{Kind: Cancel, ActionID: a.ActionID, Allocation: a.ID, Reason: why})
	c.supply = slices.DeleteFunc(c.supply, func(x *Allocation) bool { return x == a })
}

// late returns the pending allocations of an action that may be replaced: they have queued for
// some time, and Slurm does not start them.
func (c *chooser) late() (all []*Allocation) {
	if !c.calm() {
		return nil
	}
	for i := range c.outlook.slots {
		s := &c.outlook.slots[i]
		if s.State == Pending && s.ActionID != 0 && s.ActionID == c.action.ActionID && s.queues() && c.Now.Sub(s.Asked) >= replaceable {
			all = append(all, s.Allocation)
		}
	}
	return all
}

// ladder returns the seconds by which a plan may aim to have run all jobs: from the
// longest of them up, each a quarter more than the one before.
func ladder(wants []*want) (all []int64) {
	longest := int64(1)
	for _, w := range wants {
		longest = max(longest, w.load().seconds)
	}
	for by := float64(longest); by < float64(longestAim); by *= 1.25 {
		all = append(all, int64(math.Ceil(by)))
	}
	return append(all, longestAim)
}

// longestAim is by when a plan aims to have run all jobs at the latest, in seconds.
const longestAim = int64(7 * 24 * time.Hour / time.Second)

// option packs the jobs that the existing allocations cannot end by some second into new ones.
// It returns nil if that needs none, or if not all can end by then.
func (c *chooser) option(v variant, by int64) *option {
	x := &option{replaces: v.replaces}
	for i := range c.outlook.slots {
		if !slices.Contains(v.replaces, c.outlook.slots[i].Allocation) {
			x.slots = append(x.slots, c.outlook.slots[i])
		}
	}
	taken := fillEach(x.slots, make([]room, len(x.slots)), startLikely, c.loads, c.counts, by)
	own, live, pending := make([]int64, len(c.asked)), make([]int64, len(c.asked)), make([]int64, len(c.asked))
	for i, w := range c.asked {
		own[i] = w.open
		for k, n := range taken[slices.Index(c.wants, w)] {
			if own[i] -= n; x.slots[k].State == Active {
				live[i] += n
			} else {
				pending[i] += n
			}
		}
	}
	if sum(own) == 0 {
		return nil
	}
	v.by, v.vacancies = time.Duration(by)*time.Second, c.outlook.vacancies.Clone()
	x.packing = c.packFor(c.action, c.asked, own, &v)
	if len(x.packing.drafts) == 0 || x.packing.late {
		return nil
	}
	x.packing.live, x.packing.pending = live, pending
	vacancies := c.outlook.vacancies.Clone()
	for _, f := range x.packing.drafts {
		x.slots = append(x.slots, c.planned(f, vacancies, f == x.packing.drafts[0]))
	}
	c.stagger(x.slots)
	return x
}

func startLikely(s *slot) int64 { return s.starts[likely] }

// planned returns the slot of a new allocation.
func (c *chooser) planned(f *draft, v *forecast.Vacancies, first bool) slot {
	shape := f.final(&c.set)
	r := c.request(&shape, f.pool.Place)
	s := slot{draft: f, room: roomOf(&shape, &c.set), cpus: c.charged(&shape, f.pool), free: c.take(v, &r)}
	if s.wait = c.newWait(&r, first); s.free {
		s.wait = c.Forecast.Wait(c.Now, &r, true)
	}
	f.wait, f.free = s.wait, s.free
	for _, w := range c.wants {
		s.admits = append(s.admits, f.admits(w.Demand))
	}
	return s
}

// evaluate estimates when the jobs end with the allocations of an option, and what these cost.
func (c *chooser) evaluate(x *option) *option {
	total := int64(0)
	for k := range scenarios {
		by, left := level(x.slots, func(s *slot) int64 { return s.starts[k] }, c.loads, c.counts)
		total += by + c.rest(x, left)
		if k == likely {
			x.left = sum(left)
		}
	}
	x.by = total / int64(len(scenarios))
	x.measure(c.loads, c.counts)
	x.Completion, x.Remaining = time.Duration(x.by)*time.Second, x.left
	if x.held > 0 {
		x.IdleShare = max(0, 1-float64(x.used)/float64(x.held))
	}
	x.CPUSeconds = x.held
	return x
}

// rest estimates how long the jobs take for which the allocations have no room: others like
// these have to be requested for them.
func (c *chooser) rest(x *option, left []int64) int64 {
	work, cpus, wait := int64(0), int64(0), int64(0)
	for i, n := range left {
		work += saturatingProduct(n, c.loads[i].seconds*max(c.loads[i].each.CPUs, 1)*max(c.loads[i].nodes, 1))
	}
	if work == 0 {
		return 0
	}
	for i := range x.slots {
		cpus, wait = cpus+x.slots[i].cpus, max(wait, x.slots[i].starts[likely])
	}
	return min(work/max(cpus, 1)+wait+int64(time.Hour/time.Second), forever/4)
}

// overhead is for how long an allocation is kept without a job, in seconds: from its start to the
// first job, and after its last until its runner leaves.
const overhead = 20

// measure adds up what the allocations use if the jobs are spread as is likely.
func (x *option) measure(loads []load, counts []int64) {
	by, left := level(x.slots, startLikely, loads, counts)
	rooms := make([]room, len(x.slots))
	fill(x.slots, rooms, startLikely, loads, counts, by)
	first := forever
	for i := range x.slots {
		if rooms[i].busy > 0 {
			x.held += x.slots[i].cpus * (rooms[i].busy + overhead)
		}
		if x.slots[i].draft != nil {
			x.idle = x.idle || rooms[i].busy == 0
			first = min(first, x.slots[i].starts[likely])
		}
	}
	for i, n := range counts {
		x.used += saturatingProduct(n-left[i], loads[i].seconds*max(loads[i].each.CPUs, 1)*max(loads[i].nodes, 1))
	}
	if first < forever {
		x.Start = time.Duration(first) * time.Second
	}
}

// pick returns the option that uses least of those that have room for most jobs and end them
// soon enough; nil if there are no options.
func pick(options []*option, prefer Preference) *option {
	if len(options) == 0 {
		return nil
	}
	least, soonest := options[0].left, forever
	for _, x := range options {
		least = min(least, x.left)
	}
	for _, x := range options {
		if x.left == least {
			soonest = min(soonest, x.by)
		}
	}
	var best *option
	for _, x := range options {
		if x.left == least && x.by <= soonest+prefer.tolerance(soonest) && (best == nil || compareOptions(x, best) < 0) {
			best = x
		}
	}
	return best
}

// fewRequests is how many requests are not worth avoiding. An allocation of several nodes in place
// of several allocations starts only when all of them are free, and ends when one of them fails.
const fewRequests = 8

// compareOptions puts those first that hold fewer CPU seconds, then those that end sooner, then
// those with fewer requests, where that makes a difference.
func compareOptions(a, b *option) int {
	requests := func(x *option) int {
		if x.packing == nil {
			return 0
		}
		return max(len(x.packing.drafts)+len(x.replaces), fewRequests)
	}
	differ := func(a, b, least int64) bool { return max(a-b, b-a) > max(b/50, least) }
	switch {
	case differ(a.held, b.held, 60):
		return cmp.Compare(a.held, b.held)
	case differ(a.by, b.by, 5):
		return cmp.Compare(a.by, b.by)
	}
	return cmp.Compare(requests(a), requests(b))
}
