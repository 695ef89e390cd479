package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Resources is what a node has, or what a job needs on each of its nodes.
type Resources struct {
	CPUs        int64
	MemoryBytes int64
	GPUs        int64
	Slots       int64 // how many jobs its runner runs at a time; 0: as many as fit
}

func (r Resources) plus(o Resources) Resources {
	return Resources{CPUs: r.CPUs + o.CPUs, MemoryBytes: r.MemoryBytes + o.MemoryBytes, GPUs: r.GPUs + o.GPUs, Slots: r.Slots + o.Slots}
}

func (r Resources) times(n int64) Resources {
	return Resources{CPUs: r.CPUs * n, MemoryBytes: r.MemoryBytes * n, GPUs: r.GPUs * n, Slots: r.Slots * n}
}

func (r Resources) minus(o Resources) Resources { return r.plus(o.times(-1)) }

// most returns the larger of each.
func (r Resources) most(o Resources) Resources {
	return Resources{CPUs: max(r.CPUs, o.CPUs), MemoryBytes: max(r.MemoryBytes, o.MemoryBytes), GPUs: max(r.GPUs, o.GPUs), Slots: max(r.Slots, o.Slots)}
}

// least returns the smaller of each.
func (r Resources) least(o Resources) Resources {
	return Resources{CPUs: min(r.CPUs, o.CPUs), MemoryBytes: min(r.MemoryBytes, o.MemoryBytes), GPUs: min(r.GPUs, o.GPUs), Slots: min(r.Slots, o.Slots)}
}

// withSlots returns the resources with another number of slots.
func (r Resources) withSlots(slots int64) Resources {
	r.Slots = slots
	return r
}

// holds returns how many jobs with such needs fit side by side.
func (r Resources) holds(need Resources) int64 {
	n := int64(math.MaxInt64)
	for _, d := range [...][2]int64{{r.CPUs, need.CPUs}, {r.MemoryBytes, need.MemoryBytes}, {r.GPUs, need.GPUs}, {r.Slots, need.Slots}} {
		if d[1] > 0 {
			n = min(n, d[0]/d[1])
		}
	}
	return max(n, 0)
}

// load is what a job uses of an allocation.
type load struct {
	each    Resources
	nodes   int64
	seconds int64 // that it is planned to run; at least 1
	limit   int64 // seconds that it may run, where that is more
	chains  int64 // how many run side by side at most, where they follow each other; 0: all
}

func (l load) longest() int64 { return max(l.limit, l.seconds) }

// room is what is free in an allocation from now, or from its start, to its end.
// Jobs are added in numbers, first side by side and then one after the
// other. It is a staircase: each step is a part of some nodes that is free from
// a moment until the end.
type room struct {
	seconds int64 // when it ends
	// whole is the longest runtime of a job that starts at once and needs more than
	// the margins leave; 0 if there may be none.
	whole   int64
	until   int64 // the second by which all jobs are to end as planned; 0: no such bound
	oneNode bool
	slotted bool   // jobs use slots
	steps   []step // sorted by from
	busy    int64  // when the last of its jobs ends as planned
	bound   int64  // and if the last of each row runs for as long as it may
}

// clone returns a copy that can be filled on its own.
func (r *room) clone() room {
	own := *r
	own.steps = slices.Clone(r.steps)
	return own
}

// length returns how long jobs can run in it one after the other, in seconds.
func (r *room) length() int64 {
	if r.until > 0 {
		return min(r.seconds, r.until)
	}
	return r.seconds
}

// step is the same resources on some nodes, free from a moment until the end.
type step struct {
	nodes int64
	each  Resources
	from  int64 // seconds
}

func newRoom(nodes int64, each Resources, usable, whole time.Duration) room {
	seconds := int64(usable / time.Second)
	if seconds <= 0 || nodes <= 0 {
		return room{}
	}
	return room{seconds: seconds, whole: int64(whole / time.Second), oneNode: nodes == 1, slotted: each.Slots > 0, steps: []step{{nodes: nodes, each: each}}}
}

// take adds at most n such jobs and returns how many it added.
func (r *room) take(l load, n int64) (taken int64) {
	taken, _ = r.takeSide(l, n, n)
	return taken
}

// takeSide adds at most n such jobs, of which no more than a number run side by side, and returns
// how many it added, and how many of these run side by side.
func (r *room) takeSide(l load, n, most int64) (taken, used int64) {
	l.each.Slots = 0
	if r.slotted {
		l.each.Slots = 1
	}
	add := func(step int) {
		more, lanes := r.takeStep(step, l, n-taken, most-used)
		taken, used = taken+more, used+lanes
	}
	for i := 0; i < len(r.steps) && taken < n && used < most; i++ {
		add(i)
	}
	if taken > 0 {
		r.tidy()
	}
	for taken < n && used < most && r.join(l) {
		add(0)
		r.tidy()
	}
	return taken, used
}

// takeStep adds at most n jobs to a step, evenly, with as few as possible one after the
// other, and at most so many side by side. The rest beside and after them becomes new steps.
func (r *room) takeStep(i int, l load, n, most int64) (taken, used int64) {
	s := r.steps[i]
	rows := r.rows(s.from, l)
	side := min(s.each.holds(l.each), n, most) // on one node
	lanes := min(saturatingProduct(s.nodes, side), most)
	if l.nodes > 1 {
		side, lanes = min(side, 1), min(s.nodes/l.nodes, most)
	}
	if rows <= 0 || side <= 0 || lanes <= 0 {
		return 0, 0
	}
	n = min(n, saturatingProduct(lanes, rows))
	deep := (n + lanes - 1) / lanes
	used = (n + deep - 1) / deep
	end := s.from + deep*l.seconds
	r.busy, r.bound = max(r.busy, end), max(r.bound, end-l.seconds+l.longest())
	if l.nodes > 1 {
		r.steps[i].nodes -= used * l.nodes
		r.add(step{nodes: used * l.nodes, each: s.each, from: end})
		return n, used
	}
	full, part := used/side, used%side
	r.steps[i].nodes -= full
	r.occupy(s, full, l.each.times(side), end)
	if part > 0 {
		r.steps[i].nodes--
		r.occupy(s, 1, l.each.times(part), end)
	}
	return n, used
}

// rows returns how many jobs fit one after the other from some second on. The last of them
// may run for as long as its limit.
func (r *room) rows(from int64, l load) int64 {
	rows := int64(0)
	switch left := r.seconds - from; {
	case left >= l.longest():
		rows = 1 + (left-l.longest())/l.seconds
	case from == 0 && l.longest() <= r.whole:
		rows = 1
	}
	if r.until > 0 {
		rows = min(rows, max(r.until-from, 0)/l.seconds)
	}
	return rows
}

// occupy adds the rest of some nodes of a step: what is free beside the jobs, and what
// they use from their end on.
func (r *room) occupy(s step, nodes int64, taken Resources, end int64) {
	r.add(step{nodes: nodes, each: s.each.minus(taken), from: s.from})
	r.add(step{nodes: nodes, each: taken, from: end})
}

func (r *room) add(s step) {
	if s.nodes > 0 && s.from < r.seconds && (s.each.CPUs > 0 || s.each.Slots > 0) {
		r.steps = append(r.steps, s)
	}
}

// tidy removes used up steps and sorts the others.
func (r *room) tidy() {
	r.steps = slices.DeleteFunc(r.steps, func(s step) bool { return s.nodes == 0 })
	slices.SortStableFunc(r.steps, func(a, b step) int { return cmp.Compare(a.from, b.from) })
}

// join combines the earliest steps that are too small for a job, but large enough
// together, into one step at the front. Steps of several nodes may be on different nodes
// and are not combined.
func (r *room) join(l load) bool {
	if !r.oneNode || l.nodes > 1 {
		return false
	}
	var sum Resources
	for i, s := range r.steps {
		if r.rows(s.from, l) == 0 {
			return false
		}
		sum = sum.plus(s.each)
		if sum.holds(l.each) > 0 {
			r.steps[i].each = sum
			r.steps = r.steps[i:]
			return true
		}
	}
	return false
}

// untouched returns what no job uses, in a room of one node.
func (r *room) untouched() (rest Resources) {
	for _, s := range r.steps {
		if s.from == 0 {
			rest = rest.plus(s.each)
		}
	}
	return rest
}

func saturatingProduct(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
