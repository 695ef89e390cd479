package slurmtest

import (
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// scheduler decides which job starts on which nodes.
type scheduler struct {
	clock      *timeline
	queue      *queue
	nodes      nodes
	partitions partitions
	qos        map[string]Limits
	controller *controller
}

// schedule starts each waiting job that can be started: higher tiers first, then older
// jobs; a job that does not fit does not delay those after it.
func (s *scheduler) schedule() {
	waiting := slices.DeleteFunc(slices.Clone(s.queue.jobs), func(j *job) bool { return j.state != slurm.Pending })
	slices.SortStableFunc(waiting, func(a, b *job) int { return s.partitions.tier(b) - s.partitions.tier(a) })
	blocked := map[string]bool{}
	for _, j := range waiting {
		if j.reason = s.whyNot(j); j.reason != "" {
			continue
		}
		nodes := s.place(j, (*node).free)
		if nodes != nil {
			s.controller.start(j, nodes)
			continue
		}
		if s.makeRoom(j) || !blocked[j.partition] {
			j.reason = "Resources"
		} else {
			j.reason = "Priority"
		}
		blocked[j.partition] = true
	}
}

// place chooses nodes of the job's partition that offer enough; nil if there are fewer
// than the job needs.
func (s *scheduler) place(j *job, offer func(*node) room) []*node {
	p, _ := s.partitions.named(j.partition)
	return s.nodes.place(p, j, offer)
}

// whyNot returns Slurm's reason why a job may not start even if nodes were free.
func (s *scheduler) whyNot(j *job) string {
	switch {
	case j.held:
		return "JobHeldUser"
	case s.clock.now.Before(j.eligible):
		return "BeginTime"
	}
	if reason := s.queue.dependency(j); reason != "" {
		return reason
	}
	if limit := s.qos[j.qos].MaxJobsPerUser; limit > 0 && s.queue.running(j) >= limit {
		return "QOSMaxJobsPerUserLimit"
	}
	if s.place(j, (*node).usable) == nil {
		return "ReqNodeNotAvail, UnavailableNodes:" + strings.Join(s.nodes.unusable(), ",")
	}
	return ""
}

// makeRoom preempts restarts that are in the way of a job and may be preempted by it. It
// reports whether that will make room.
func (s *scheduler) makeRoom(j *job) bool {
	tier := s.partitions.tier(j)
	weaker := func(r *restart) bool {
		p, _ := s.partitions.named(r.job.partition)
		return p.PreemptMode != "OFF" && p.PriorityTier < tier
	}
	nodes := s.place(j, func(n *node) room {
		return n.left(func(r *restart) bool { return !weaker(r) && !r.completing })
	})
	for _, n := range nodes {
		for _, r := range n.restarts {
			if weaker(r) {
				s.controller.preempt(r)
			}
		}
	}
	return nodes != nil
}

// startTime returns when a job started, or may start; zero if that is unknown.
func (s *scheduler) startTime(j *job) time.Time {
	if r := j.current(); r != nil {
		return r.start
	}
	if j.state == slurm.Pending {
		return s.estimate(j)
	}
	return j.ended
}

// estimate returns when a waiting job would start if each job before it ran to its limit;
// zero if that is unknown.
func (s *scheduler) estimate(j *job) time.Time {
	if s.clock.now.Before(j.eligible) {
		return j.eligible
	}
	if j.reason != "Resources" && j.reason != "Priority" {
		return time.Time{}
	}
	var first time.Time
	for _, other := range s.queue.jobs {
		if r := other.current(); r != nil && !r.released && (first.IsZero() || r.limit.Before(first)) {
			first = r.limit
		}
	}
	return first
}
