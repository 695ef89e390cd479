package scheduler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// scenarios are the quantiles of the waits for which a plan is evaluated: Slurm starts
// allocations soon, as is likely, or late.
var scenarios = [...]float64{0.25, 0.5, 0.75}

// likely is the scenario in the middle.
const likely = 1

// starts are the seconds from now at which an allocation starts, by scenario.
type starts [len(scenarios)]int64

// slot is an allocation, live, pending or planned, with its room for jobs.
type slot struct {
	*Allocation        // nil: it is planned
	draft       *draft // nil: it exists
	room        room   // from its start on
	starts      starts
	low         int64            // the second at which it starts at the earliest
	request     forecast.Request // of a pending one
	wait        forecast.Wait
	free        bool  // its resources are free now
	cpus        int64 // that it has while it is active
	admits      []bool
}

// outlook is what the forecast says about the allocations of a workflow.
type outlook struct {
	slots     []slot
	vacancies *forecast.Vacancies // what the existing allocations leave
}

// outlook estimates when the existing allocations start, and what of the cluster they leave
// free.
func (p *planner) outlook() *outlook {
	o := &outlook{vacancies: p.Forecast.Cluster.Vacancies(p.Now)}
	for _, a := range p.supply {
		if a.State == Active && a.Started.After(p.Forecast.Cluster.At) {
			r := p.request(&a.Shape, a.Place)
			o.vacancies.Use(a.Hosts, &r)
		}
	}
	for _, a := range p.supply {
		s := slot{Allocation: a, room: a.room(p.Now, p.set.Margins), cpus: p.charged(&a.Shape, p.pools[a.Shape.Pool])}
		if a.State == Pending {
			if p.expect(&s, o.vacancies); s.queues() {
				p.queued = append(p.queued, s)
			}
		}
		for _, w := range p.wants {
			s.admits = append(s.admits, a.admits(w.Demand, p.pools[a.Shape.Pool], p.Now.Add(p.set.RequeuedFor)))
		}
		o.slots = append(o.slots, s)
	}
	setStarts(o.slots)
	return o
}

// expect estimates when a pending allocation starts.
func (p *planner) expect(s *slot, v *forecast.Vacancies) {
	r := p.request(&s.Shape, s.Place)
	waited := max(p.Now.Sub(s.Asked), 0)
	s.free = !s.late(p.Now) && p.take(v, &r)
	if s.free && (waited >= forecast.Patience || s.Expected.Sub(p.Now) > forecast.Patience) {
		s.free, p.stuck = false, append(p.stuck, r)
	}
	s.request = r
	s.wait = p.Forecast.Remaining(p.Now, &r, s.free, waited, s.Expected)
	if s.Eligible.After(p.Now) {
		s.wait = s.wait.After(s.Eligible.Sub(p.Now))
	}
}

// take reports whether an allocation could start now, and takes its resources. Where one of
// ours is pending although its resources seem to be free, something else holds it back, and
// the same holds for others that need as much.
func (p *planner) take(v *forecast.Vacancies, r *forecast.Request) bool {
	return !slices.ContainsFunc(p.stuck, func(x forecast.Request) bool { return x.Within(r) }) && v.Take(r)
}

// newWait returns how long a new allocation would be pending that has to queue: no less than
// those of ours that are pending in the same place and ask for no more. First says that the plan
// requests no other before it.
func (p *planner) newWait(r *forecast.Request, first bool) forecast.Wait {
	w := p.noLater(r, first)
	for i := range p.queued {
		s := &p.queued[i]
		if s.wait.Likely > w.Likely && s.request.NoLarger(r) {
			w.Low, w.Likely, w.High = max(w.Low, s.wait.Low), s.wait.Likely, max(w.High, s.wait.High)
			w.Reason, w.Assumed = "as allocation "+strconv.FormatInt(s.ID, 10)+", "+s.wait.Reason, s.wait.Assumed
		}
	}
	return w
}

// asking is a request as far as its wait depends on it.
type asking struct {
	place                           string
	nodes, cpus, gpus               int64
	walltime                        time.Duration
	free, first, whole, reservation bool
}

// known returns a wait that has been estimated for such a request in this plan before, or estimates
// it.
func (p *planner) known(r *forecast.Request, free, first bool) forecast.Wait {
	key := asking{
		place: strings.Join(append([]string{r.QOS, r.Account}, r.Partitions...), ","), nodes: r.Nodes, cpus: r.Node.CPUs, gpus: r.Node.GPUs,
		walltime: r.Walltime, free: free, first: first, whole: r.WholeNodes, reservation: r.Reservation != "",
	}
	if w, ok := p.waits[key]; ok {
		return w
	}
	f := p.Forecast
	if !free && !first {
		if p.taken == nil {
			p.taken = f.Taken(p.Now)
		}
		f = p.taken
	}
	if p.waits == nil {
		p.waits = make(map[asking]forecast.Wait)
	}
	p.waits[key] = f.Wait(p.Now, r, free)
	return p.waits[key]
}

// freeWait returns how long an allocation would be pending whose resources are free.
func (p *planner) freeWait(r *forecast.Request) forecast.Wait { return p.known(r, true, true) }

// noLater returns how long an allocation would queue, no longer than what is known of those that
// need several times as much of a node: a smaller one starts no later.
func (p *planner) noLater(r *forecast.Request, first bool) forecast.Wait {
	w := p.known(r, false, first)
	for n := int64(2); n <= 32 && r.Nodes == 1 && !r.WholeNodes; n *= 2 {
		more := *r
		more.Node.CPUs, more.Node.GPUs, more.Node.MemoryBytes = r.Node.CPUs*n, r.Node.GPUs*n, r.Node.MemoryBytes*n
		x := p.known(&more, false, first)
		if x.Assumed {
			continue
		}
		if x.Likely < w.Likely {
			w.Likely, w.Reason = x.Likely, x.Reason
		}
		w.Low, w.High = min(w.Low, x.Low), min(w.High, x.High)
	}
	return w
}

// setStarts sets the starts of allocations that have none by their waits. In a scenario all of them
// start at the same quantile: their places in the queue are next to each other.
func setStarts(slots []slot) {
	for i := range slots {
		s := &slots[i]
		if s.Allocation != nil && s.State != Pending {
			continue
		}
		for k, q := range scenarios {
			s.starts[k] = int64(s.wait.Quantile(q) / time.Second)
		}
		s.low = int64(s.wait.Low / time.Second)
	}
}

// queues reports whether the allocation waits for resources that others use, or that are free and
// kept for others: such ones have waited before.
func (s *slot) queues() bool {
	return !(s.free && s.wait.Soon()) && (s.Allocation == nil || s.State == Pending)
}

// request returns an allocation in the form in which the forecast knows it.
func (p *planner) request(s *Shape, place forecast.Place) forecast.Request {
	r := forecast.Request{
		Place: place, Nodes: s.Nodes, WholeNodes: s.WholeNodes, Exclude: s.Exclude, Walltime: s.Walltime,
		Node: placement.FreeNode{CPUs: max(s.Node.CPUs, 1), MemoryBytes: s.Node.MemoryBytes, GPUs: s.Node.GPUs},
	}
	if pool := p.pools[s.Pool]; pool != nil {
		r.Node.MemoryBytes = max(r.Node.MemoryBytes, min(pool.MemoryPerCPU*r.Node.CPUs, pool.Node.MemoryBytes))
	}
	return r
}

// charged returns how many CPUs an allocation has while it is active, used or not.
func (p *planner) charged(s *Shape, pool *Pool) int64 {
	cpus := s.Node.CPUs
	if s.WholeNodes && pool != nil {
		cpus = max(cpus, pool.Node.CPUs)
	}
	return s.Nodes * max(cpus, 1)
}

// fillOutlook finds where jobs can run in the existing allocations, so that all end as soon as
// possible, and which pending allocations help with that.
func (p *planner) fillOutlook(o *outlook) {
	p.used = make(map[*Allocation]bool)
	loads, counts := p.loads()
	rooms := make([]room, len(o.slots))
	by, left := level(o.slots, startLikely, loads, counts)
	for w := range counts {
		p.wants[w].left = max(left[w]-p.wants[w].follows, 0)
		counts[w] -= left[w]
	}
	for w, i := range fillEach(o.slots, rooms, startLikely, loads, counts, by) {
		for slot, n := range i {
			c, room := &p.wants[w].cover, p.wants[w].open-p.wants[w].left
			if a := o.slots[slot].Allocation; a.State == Active {
				c.Live += min(n.jobs, room-c.Live-c.Pending)
			} else {
				c.Pending += min(n.jobs, room-c.Live-c.Pending)
				p.used[a] = p.used[a] || n.jobs > 0
			}
		}
	}
	for w := range loads { // jobs that will be ready later
		n := p.wants[w].later - p.wants[w].follows
		for i := range o.slots {
			if rooms[i].until = 0; o.slots[i].admits[w] && n > 0 {
				taken := rooms[i].take(loads[w], n)
				p.used[o.slots[i].Allocation] = p.used[o.slots[i].Allocation] || taken > 0
				n -= taken
			}
		}
	}
	soonest := slices.Clone(o.slots)
	slices.SortStableFunc(soonest, func(a, b slot) int { return cmp.Compare(a.starts[likely], b.starts[likely]) })
	for i := range soonest {
		p.used[soonest[i].Allocation] = p.used[soonest[i].Allocation] || p.helps(soonest[:i], &soonest[i], loads, counts)
	}
}

// helps reports whether there are jobs for an allocation if it starts as early as can be, together
// with those before it: those that the live ones will not have run until then. Its place in the
// queue is worth more than an estimate of when it starts, and so more than the place of a larger one.
func (p *planner) helps(before []slot, last *slot, loads []load, counts []int64) bool {
	if last.State != Pending {
		return true
	}
	var slots []slot
	for i := range before {
		if s := &before[i]; !s.queues() || s.request.NoLarger(&last.request) {
			slots = append(slots, *s)
		}
	}
	slots = append(slots, *last)
	start := func(s *slot) int64 {
		if s.State == Pending {
			return last.low
		}
		return 0
	}
	longest := int64(0)
	for w := range loads {
		if counts[w] > 0 && last.admits[w] {
			longest = max(longest, loads[w].seconds)
		}
	}
	if longest == 0 {
		return false
	}
	for _, each := range fillEach(slots, make([]room, len(slots)), start, loads, counts, last.low+longest) {
		if each[len(slots)-1].jobs > 0 {
			return true
		}
	}
	return false
}

// isWide reports whether allocations have room for all ready jobs side by side, once all of them have
// started. Further ones would only take a place in the queue for what has one.
func (p *planner) isWide(slots []slot) bool {
	loads, counts := p.loads()
	longest := int64(0)
	for i, w := range p.wants {
		if loads[i].chains, counts[i] = 0, w.open; w.open > 0 {
			longest = max(longest, loads[i].seconds)
		}
	}
	return sum(fill(slots, make([]room, len(slots)), func(*slot) int64 { return 0 }, loads, counts, longest)) == 0
}

// share is the jobs of a want in a slot, and how many of them run side by side.
type share struct{ jobs, side int64 }

// fillEach fills slots and returns which jobs of each want are in each slot.
func fillEach(slots []slot, rooms []room, start func(*slot) int64, loads []load, counts []int64, by int64) [][]share {
	taken := make([][]share, len(loads))
	for w := range taken {
		taken[w] = make([]share, len(slots))
	}
	fillWith(slots, rooms, start, loads, counts, by, func(w, i int, s share) { taken[w][i] = s })
	return taken
}

// fill puts jobs into slots that start as in a scenario, so that all end by the given second,
// and returns how many of each want remain. The slots' rooms are changed.
func fill(slots []slot, rooms []room, start func(*slot) int64, loads []load, counts []int64, until int64) (left []int64) {
	return fillWith(slots, rooms, start, loads, counts, until, func(int, int, share) {})
}

func fillWith(slots []slot, rooms []room, start func(*slot) int64, loads []load, counts []int64, until int64, taken func(want, slot int, s share)) (left []int64) {
	left = slices.Clone(counts)
	for i := range slots {
		rooms[i] = slots[i].room.clone()
		rooms[i].until = max(until-start(&slots[i]), -1)
	}
	order := make([]int, len(slots))
	for i := range order {
		order[i] = i
	}
	for w := range loads {
		side := left[w]
		if loads[w].chains > 0 { // they run where they can do so for longest
			side = loads[w].chains
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rooms[b].length(), rooms[a].length()) })
		}
		for _, i := range order {
			if left[w] == 0 || side == 0 {
				break
			}
			if slots[i].admits[w] && rooms[i].until > 0 {
				n, used := rooms[i].takeSide(loads[w], left[w], side)
				if left[w] -= n; loads[w].chains > 0 {
					side -= used
				}
				taken(w, i, share{n, used})
			}
		}
		if loads[w].chains > 0 {
			slices.Sort(order)
		}
	}
	return left
}

// forever is the second by which every job has ended that fits.
const forever = int64(1) << 40

// level returns the second by which the slots can have run all jobs, and how many jobs of
// each want do not fit at all.
func level(slots []slot, start func(*slot) int64, loads []load, counts []int64) (by int64, left []int64) {
	rooms := make([]room, len(slots))
	left = fill(slots, rooms, start, loads, counts, forever)
	high := int64(0)
	for i := range slots {
		if rooms[i].busy > 0 {
			high = max(high, start(&slots[i])+rooms[i].busy)
		}
	}
	counts = slices.Clone(counts)
	for w := range counts {
		counts[w] -= left[w]
	}
	low := int64(0)
	for high-low > max(1, high/64) {
		middle := (low + high) / 2
		if sum(fill(slots, rooms, start, loads, counts, middle)) == 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return high, left
}

// parts is of how many points the mean end of jobs is estimated.
const parts = 8

// meanEnd returns the second by which jobs end on average, as measured by their CPU seconds, if all
// end by some second but those that are left.
func meanEnd(slots []slot, start func(*slot) int64, loads []load, counts, left []int64, by int64) int64 {
	counts = slices.Clone(counts)
	for w := range counts {
		counts[w] -= left[w]
	}
	all := work(loads, counts)
	if all == 0 {
		return by
	}
	rooms, open := make([]room, len(slots)), 0.5
	for i := int64(1); i < parts; i++ {
		open += work(loads, fill(slots, rooms, start, loads, counts, by*i/parts)) / all
	}
	return int64(float64(by) * open / parts)
}

// work returns how many CPU seconds so many jobs need.
func work(loads []load, counts []int64) (all float64) {
	for i, n := range counts {
		all += float64(n) * float64(loads[i].seconds*max(loads[i].each.CPUs, 1)*max(loads[i].nodes, 1))
	}
	return all
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}
