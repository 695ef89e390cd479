package slurmtest

import (
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

	reservations []*Reservation
	latest       *backfill // the plan of latestAt; nil after a change
	latestAt     time.Time
}

// schedule starts each waiting job that can be started: higher tiers first, then older
// jobs; a job that does not fit does not delay those after it.
func (s *scheduler) schedule() {
	s.latest = nil
	blocked := map[string]bool{}
	for _, j := range s.waiting() {
		if j.reason = s.whyNot(j); j.reason != "" {
			continue
		}
		nodes := s.place(j, s.admitting(j, (*node).free))
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
	if s.place(j, s.admitting(j, (*node).usable)) == nil {
		if j.reservation != "" {
			return "Reservation"
		}
		return reasonReserved
	}
	return ""
}

// reasonReserved is Slurm's reason of a job that reservations keep from starting.
const reasonReserved = "ReqNodeNotAvail, May be reserved for other job"

// makeRoom preempts restarts that are in the way of a job and may be preempted by it. It
// reports whether that will make room.
func (s *scheduler) makeRoom(j *job) bool {
	tier := s.partitions.tier(j)
	weaker := func(r *restart) bool {
		p, _ := s.partitions.named(r.job.partition)
		return p.PreemptMode != "OFF" && p.PriorityTier < tier
	}
	nodes := s.place(j, s.admitting(j, func(n *node) room {
		return n.left(func(r *restart) bool { return !weaker(r) && !r.completing })
	}))
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
	return s.current().jobs[j].start
}
