package slurmtest

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// maxPlanned is how many pending jobs get an estimate, as with Slurm's bf_max_job_test.
const maxPlanned = 50

// planned is when and where a pending job would start.
type planned struct {
	start time.Time
	nodes []*node
}

// portion is a part of a node that a job has for some time.
type portion struct {
	from, to time.Time
	room     room
}

// backfill is a plan in which each job runs to its limit, and no job delays one before it.
type backfill struct {
	scheduler *scheduler
	uses      map[*node][]portion
	jobs      map[*job]planned
}

// plan returns when the pending jobs would start, in the order of the queue; extra is a
// job that is not in the queue, or nil.
func (s *scheduler) plan(extra *job) *backfill {
	b := &backfill{scheduler: s, uses: map[*node][]portion{}, jobs: map[*job]planned{}}
	for _, n := range s.nodes {
		for _, r := range n.restarts {
			to := r.limit
			if !to.After(s.clock.now) { // it is about to end
				to = s.clock.now.Add(time.Second)
			}
			b.uses[n] = append(b.uses[n], portion{r.start, to, r.job.need(n)})
		}
	}
	waiting := s.waiting()
	if extra != nil {
		waiting = append(waiting, extra)
		s.partitions.sort(waiting)
	}
	for _, j := range waiting {
		if j != extra && (len(b.jobs) >= maxPlanned || !j.estimable()) {
			continue
		}
		if p, ok := b.first(j); ok {
			b.jobs[j] = p
			for _, n := range p.nodes {
				b.uses[n] = append(b.uses[n], portion{p.start, p.start.Add(j.time), j.need(n)})
			}
		}
	}
	return b
}

// estimable reports whether nothing but nodes, or its begin time, delays a pending job.
func (j *job) estimable() bool {
	switch j.reason {
	case "", "Resources", "Priority", "BeginTime", reasonReserved:
		return true
	}
	return false
}

// first returns the first time at which a job fits for as long as its limit.
func (b *backfill) first(j *job) (planned, bool) {
	s := b.scheduler
	p, _ := s.partitions.named(j.partition)
	from := s.clock.now
	if j.eligible.After(from) {
		from = j.eligible
	}
	times := []time.Time{from}
	for _, uses := range b.uses {
		for _, u := range uses {
			times = append(times, u.to)
		}
	}
	for _, r := range s.reservations {
		times = append(times, r.Start, r.End)
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range slices.Compact(times) {
		if at.Before(from) {
			continue
		}
		nodes := s.nodes.place(p, j, func(n *node) room {
			if n.down || n.drain || !s.admits(j, n, at) {
				return noRoom
			}
			return b.left(n, at, at.Add(j.time))
		})
		if nodes != nil {
			return planned{at, nodes}, true
		}
	}
	return planned{}, false
}

// left returns what a node has left during a time, at each moment of it.
func (b *backfill) left(n *node, from, to time.Time) room {
	least := n.whole()
	moments := []time.Time{from}
	for _, u := range b.uses[n] {
		if u.from.After(from) && u.from.Before(to) {
			moments = append(moments, u.from)
		}
	}
	for _, at := range moments {
		has := n.whole()
		for _, u := range b.uses[n] {
			if !u.from.After(at) && u.to.After(at) {
				has = has.without(u.room)
			}
		}
		least = least.least(has)
	}
	return least
}

// waiting returns the pending jobs in the order in which they start: higher tiers first,
// then older jobs.
func (s *scheduler) waiting() []*job {
	waiting := slices.DeleteFunc(slices.Clone(s.queue.jobs), func(j *job) bool { return j.state != slurm.Pending })
	s.partitions.sort(waiting)
	return waiting
}

// sort puts jobs of higher tiers first.
func (ps partitions) sort(jobs []*job) {
	slices.SortStableFunc(jobs, func(a, b *job) int { return ps.tier(b) - ps.tier(a) })
}

// current returns the plan for the queue as it is now.
func (s *scheduler) current() *backfill {
	if s.latest == nil || !s.latestAt.Equal(s.clock.now) {
		s.latest, s.latestAt = s.plan(nil), s.clock.now
	}
	return s.latest
}

// keeps reports whether the plan has a node for a job that cannot start yet.
func (b *backfill) keeps(n *node) bool {
	for _, p := range b.jobs {
		if p.start.After(b.scheduler.clock.now) && slices.Contains(p.nodes, n) {
			return true
		}
	}
	return false
}
