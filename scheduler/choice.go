package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// Choice is a set of allocations that a plan could request, and what is expected of it.
type Choice struct {
	Text       string        // the allocations, for people
	Count      int           // of allocations; 0: nothing is requested
	Start      time.Duration // until the first of them starts
	Completion time.Duration // until the ready jobs have ended, and what follows them in their places
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
	return soonest*5/100 + 15
}

// How much sooner the jobs must end, so that more is requested although all have a place, and how
// long requests are left alone before.
const (
	gainPart    = 4 // one part of so many
	gainLeast   = 3 * time.Minute
	calmFor     = 3 * time.Minute
	regretFor   = 20 * time.Minute
	replaceable = 5 * time.Minute
	cutFor      = time.Minute * 3 / 2 // after the requests that a plan had to leave to the next
)

// option is one choice that is being evaluated.
type option struct {
	packing  *packing
	replaces []*Allocation // pending ones that it cancels
	slots    []slot        // the existing allocations without these, and the new ones
	by       int64         // the second by which the jobs are expected to end
	mean     int64         // when they end on average
	left     int64
	held     int64 // CPU seconds of allocations
	used     int64 // of jobs
	idle     bool  // one of its new allocations would have no job
	excess   bool  // with the existing ones they have more CPUs than there are
	Choice
}

// chooser compares the sets of allocations that an action could request.
type chooser struct {
	*planner
	action  *AutoSchedule
	asked   []*want // whose jobs may be in new allocations
	outlook *outlook
	loads   []load  // of the jobs of all wants
	counts  []int64 // how many there are of each, with those that follow the ready ones
	must    bool    // jobs have no place
	most    int64   // CPUs of the nodes where they may run
	again   int64   // for how many seconds another allocation would queue
	cut     bool    // the last plan could not request all that it wanted
	wide    bool    // the existing allocations can run all of them side by side
}

// choose returns the packing with the best prospects for an action; nil if nothing should be
// requested. It records all choices.
func (p *planner) choose(a *AutoSchedule, wants []*want, o *outlook) *packing {
	c := &chooser{planner: p, action: a, asked: wants, outlook: o, must: lacking(wants)}
	c.loads, c.counts = p.loads()
	c.wide, c.again = c.isWide(o.slots), c.queueAgain()
	none := c.evaluate(&option{slots: o.slots})
	c.cut = !c.wide && c.wasCut()
	if !c.must && !c.cut && (!c.calm() || none.by <= int64(gainLeast/time.Second)) {
		return nil
	}
	options := append([]*option{none}, c.options(none.by)...)
	best := c.best(none, options)
	shown := len(p.decision.Choices)
	c.record(options, best, none)
	if best == none {
		return nil
	}
	c.doubt(best, options)
	best.packing.improves, best.packing.choice = !c.must, &best.Choice
	if n := len(p.decision.Choices); n > shown+1 {
		best.packing.instead = &p.decision.Choices[shown+1]
	}
	c.scouts(best.packing)
	for _, s := range best.replaces {
		c.replace(s, fmt.Sprintf("new allocations are expected to end the jobs in %s instead of %s", about(best.Completion), about(none.Completion)))
	}
	return best.packing
}

// options returns the choices that are worth a comparison with each other, and with one that ends
// the jobs by some second.
func (c *chooser) options(soonest int64) (options []*option) {
	pool := c.asked[0].pools[0]
	c.most = c.Forecast.Cluster.CPUs(&forecast.Request{Place: pool.Place})
	try := func(x *option) {
		if c.evaluate(x); !x.idle {
			options = append(options, x)
			soonest = min(soonest, x.by)
		}
	}
	soon := int64(0) // when the last pending one starts of those that are about to
	for i := range c.outlook.slots {
		if s := &c.outlook.slots[i]; s.State == Pending && !s.queues() {
			soon = max(soon, s.starts[likely])
		}
	}
	for _, v := range c.variants() {
		for _, work := range c.ladder() {
			x := c.option(v, soon+work, work)
			if x == nil {
				break
			}
			try(x)
			// What starts at once can work while the others queue.
			if wait := x.waits(); wait > 0 {
				if x = c.option(v, wait+work, work); x != nil {
					try(x)
				}
			}
			if work > 4*soonest {
				break
			}
		}
	}
	return options
}

// waits returns the second at which the first of the new allocations is likely to start that have
// to queue; 0 if there are none.
func (x *option) waits() (first int64) {
	for i := range x.slots {
		if s := &x.slots[i]; s.draft != nil && s.queues() && (first == 0 || s.starts[likely] < first) {
			first = s.starts[likely]
		}
	}
	return first
}

// best returns the best option: one that cancels nothing, unless another beats it.
func (c *chooser) best(none *option, options []*option) *option {
	kept, replaced := split(options)
	best := pick(c.steady(kept), c.action.Prefer)
	switch {
	case c.must, c.cut && best.late()+c.action.Prefer.tolerance(best.late()) < none.late():
	case !best.beats(none):
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
		i := slices.IndexFunc(x.slots, func(s slot) bool { return s.draft != nil && s.queues() && s.wait.Assumed })
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
	return x.late() <= other.late()-max(other.late()/gainPart, int64(gainLeast/time.Second))
}

// starts reports whether the resources of all new allocations are free. What pending ones lose is
// certain, and how long others would queue is not.
func (x *option) starts() bool {
	return !slices.ContainsFunc(x.slots, func(s slot) bool { return s.draft != nil && s.queues() })
}

// largest returns how many CPUs the largest of the new allocations has that have to queue.
func (x *option) largest() (cpus int64) {
	for i := range x.slots {
		if s := &x.slots[i]; s.draft != nil && s.queues() {
			cpus = max(cpus, s.cpus)
		}
	}
	return cpus
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

// wasCut reports whether the action has just requested as many allocations as it may in a minute, so
// that the last plan may have wanted more.
func (c *chooser) wasCut() bool {
	n := 0
	for _, s := range c.supply {
		if c.action.counts(s) && c.Now.Sub(s.Asked) < cutFor {
			n++
		}
	}
	return n >= c.action.MaxSubmitPerMinute
}

// steady leaves out the options with larger allocations that have to queue than those that the last
// plan requested as far as the rate allowed, if others have room for as many jobs. Since then Slurm has
// estimated when these start. It has not estimated anything for larger ones, so that they would seem
// to be better.
func (c *chooser) steady(options []*option) (out []*option) {
	before, least := int64(0), forever
	for i := range c.outlook.slots {
		if s := &c.outlook.slots[i]; s.State == Pending && c.action.counts(s.Allocation) && s.queues() && c.Now.Sub(s.Asked) < cutFor {
			before = max(before, s.cpus)
		}
	}
	if before == 0 || !c.wasCut() { // or all of them have started
		return options
	}
	for _, x := range options {
		least = min(least, x.left)
	}
	for _, x := range options {
		if x.largest() <= before {
			out = append(out, x)
		}
	}
	if !slices.ContainsFunc(out, func(x *option) bool { return x.left == least && !x.excess }) {
		return options
	}
	return out
}

// loads returns what a job of each want uses, and how many there are, with those that follow.
func (p *planner) loads() ([]load, []int64) {
	loads, counts := make([]load, len(p.wants)), make([]int64, len(p.wants))
	for i, w := range p.wants {
		loads[i], counts[i] = w.load(), w.open
		if w.follows > 0 {
			counts[i], loads[i].chains = w.open+w.follows, w.chains
		}
	}
	return loads, counts
}

// variant is a way to shape new allocations.
type variant struct {
	by        time.Duration       // how long those have jobs that start at once
	work      time.Duration       // and those that have to queue
	fits      bool                // each is as large as the largest vacancy, as long as there are any
	spare     bool                // in the second pool of the jobs rather than in the first
	nodes     int64               // of each; 0: as the pool says
	jobs      int64               // each has room for so many side by side; 0: as many as a node has
	starts    bool                // only such whose resources are free
	vacancies *forecast.Vacancies // what is free for them
	replaces  []*Allocation
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
		for n := int64(1); n <= widest && pool.Node.holds(c.asked[0].each().times(n)) > 1; n *= 2 {
			all = append(all, variant{jobs: n})
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
	if room, _ := c.vacancies(c.action); room > 0 || !c.calm() {
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

// ladder returns for how many seconds allocations may have jobs: the longest of them once, twice,
// and so on, soon each a third more often than the one before. They last for what follows the
// ready jobs: a pending allocation can be shortened, and a short one that runs out has to be
// followed by another, which queues again. Only a reservation may leave no room for long ones.
func (c *chooser) ladder() (all []int64) {
	longest, least := int64(1), int64(1)
	for _, w := range c.asked {
		longest = max(longest, w.load().seconds)
	}
	for _, w := range c.asked {
		if w.chains > 0 && len(c.Forecast.Cluster.Reservations) == 0 {
			least = max(least, (w.depth()*w.load().seconds+longest-1)/longest)
		}
	}
	for rows := least; rows*longest < longestAim; rows += max(rows/3, 1) {
		all = append(all, rows*longest)
	}
	return append(all, longestAim)
}

// longestAim is by when a plan aims to have run all jobs at the latest, in seconds.
const longestAim = int64(7 * 24 * time.Hour / time.Second)

// option packs the jobs that the existing allocations cannot end by some second into new ones:
// those that start at once have jobs until then, and those that have to queue for so many
// seconds of work. It returns nil if that needs none.
func (c *chooser) option(v variant, by, work int64) *option {
	x := &option{replaces: v.replaces}
	for i := range c.outlook.slots {
		if !slices.Contains(v.replaces, c.outlook.slots[i].Allocation) {
			x.slots = append(x.slots, c.outlook.slots[i])
		}
	}
	taken := fillEach(x.slots, make([]room, len(x.slots)), startLikely, c.loads, c.counts, by)
	own, side, live, pending := make([]int64, len(c.asked)), make([]int64, len(c.asked)), make([]int64, len(c.asked)), make([]int64, len(c.asked))
	for i, w := range c.asked {
		own[i] = w.open + w.follows
		used := int64(0)
		for k, n := range taken[slices.Index(c.wants, w)] {
			used += n.side
			if own[i] -= n.jobs; x.slots[k].State == Active {
				live[i] += n.jobs
			} else {
				pending[i] += n.jobs
			}
		}
		if side[i] = own[i]; w.follows > 0 {
			side[i] = min(own[i], w.chains-used)
		}
	}
	if sum(own) == 0 {
		return nil
	}
	v.starts = c.wide || len(v.replaces) > 0
	v.by, v.work, v.vacancies = time.Duration(by)*time.Second, time.Duration(work)*time.Second, c.outlook.vacancies.Clone()
	x.packing = c.packFor(c.action, c.asked, own, side, &v)
	if len(x.packing.drafts) == 0 {
		return nil
	}
	x.packing.live, x.packing.pending = live, pending
	vacancies := c.outlook.vacancies.Clone()
	left, next := c.action.rate(c.Now)
	for i, f := range x.packing.drafts {
		s := c.planned(f, vacancies, i == 0)
		if i >= left { // it is requested later
			s.wait = s.wait.After(next.Sub(c.Now) + time.Duration((i-left)/c.action.MaxSubmitPerMinute)*time.Minute)
		}
		x.slots = append(x.slots, s)
	}
	setStarts(x.slots)
	return x
}

func startLikely(s *slot) int64 { return s.starts[likely] }

// planned returns the slot of a new allocation.
func (c *chooser) planned(f *draft, v *forecast.Vacancies, first bool) slot {
	shape := f.final(&c.set)
	r := c.request(&shape, f.pool.Place)
	s := slot{draft: f, room: roomOf(&shape, &c.set), cpus: c.charged(&shape, f.pool), free: c.take(v, &r)}
	if s.free {
		s.wait = c.freeWait(&r)
	} else {
		s.wait = c.newWait(&r, first)
	}
	f.wait, f.free = s.wait, s.free
	for _, w := range c.wants {
		s.admits = append(s.admits, f.admits(w.Demand))
	}
	return s
}

// evaluate estimates when the jobs end with the allocations of an option, and what these cost.
func (c *chooser) evaluate(x *option) *option {
	total, mean := int64(0), int64(0)
	for k := range scenarios {
		start := func(s *slot) int64 { return s.starts[k] }
		by, left := level(x.slots, start, c.loads, c.counts)
		rest := c.rest(x, left)
		total += by + rest
		mean += meanEnd(x.slots, start, c.loads, c.counts, left, by) + rest
		if k == likely {
			x.left = c.unplaced(left)
		}
	}
	x.by, x.mean = total/int64(len(scenarios)), mean/int64(len(scenarios))
	x.measure(c.loads, c.counts)
	cpus := int64(0)
	for i := range x.slots {
		cpus += x.slots[i].cpus
	}
	x.excess = x.packing != nil && cpus > c.most
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
	cpus, longest, all, rest := int64(0), 0.0, work(c.loads, c.counts), work(c.loads, left)
	for i := range x.slots {
		cpus += x.slots[i].cpus
	}
	for i, n := range left {
		if chains := c.loads[i].chains; chains > 0 {
			longest = max(longest, float64(n)/float64(chains)*float64(c.loads[i].seconds))
		}
	}
	if rest == 0 {
		return 0
	}
	wait := float64(c.again) * max(rest/max(all-rest, 1), 1) // what is free now need not be free then
	if c.unplaced(left) > 0 {
		wait += time.Hour.Seconds()
	}
	return int64(min(max(rest/float64(max(cpus, 1)), longest)+wait, float64(forever/4)))
}

// queueAgain returns for how many seconds an allocation is likely to queue that is requested for one
// of the jobs.
func (c *chooser) queueAgain() int64 {
	w := c.asked[0]
	f := c.draft(w.pools[0], w.Demand, &variant{})
	if f.pool.Shared {
		f.shape.Node = w.each().most(f.pool.Asks)
	}
	r := c.request(&f.shape, f.pool.Place)
	return int64(c.newWait(&r, true).Likely / time.Second)
}

// unplaced returns how many ready jobs are among those that are left.
func (c *chooser) unplaced(left []int64) (n int64) {
	for i, w := range c.wants {
		n += max(left[i]-w.follows, 0)
	}
	return n
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

// late returns what an option is judged by: when its last job ends, and when its jobs end on
// average, in equal parts. What starts late is uncertain, and what has been done until then is not.
func (x *option) late() int64 { return (x.by + x.mean) / 2 }

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
	fits := func(x *option) bool { return x.left == least && !x.excess }
	if slices.ContainsFunc(options, fits) { // what the cluster cannot run at once only waits
		options = slices.DeleteFunc(slices.Clone(options), func(x *option) bool { return !fits(x) })
	}
	for _, x := range options {
		if x.left == least {
			soonest = min(soonest, x.late())
		}
	}
	var best *option
	for _, x := range options {
		if x.left == least && x.late() <= soonest+prefer.tolerance(soonest) && (best == nil || compareOptions(x, best) < 0) {
			best = x
		}
	}
	return best
}

// fewRequests is how many requests are not worth avoiding. An allocation of several nodes in place
// of several allocations starts only when all of them are free, and ends when one of them fails.
const fewRequests = 8

// compareOptions puts those first that hold fewer CPU seconds, then those that end sooner, then
// those of smaller allocations where these have to queue, since a small one never starts later than
// a large one, then those with fewer requests, where that makes a difference.
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
	case differ(a.late(), b.late(), 5):
		return cmp.Compare(a.late(), b.late())
	}
	return cmp.Or(cmp.Compare(a.largest(), b.largest()), cmp.Compare(requests(a), requests(b)))
}
