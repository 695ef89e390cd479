package scheduler

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Ahead are blocked jobs that will become ready after others have ended: with Steps 1 after
// jobs that are not blocked, with Steps 2 after those of step 1, and so on.
type Ahead struct {
	placement.Class
	LikelySeconds int64 // that a job is expected to run; 0: as long as its runtime says
	Steps         int64
	Count         int64
}

func (a *Ahead) demand() *Demand { return &Demand{Class: a.Class, LikelySeconds: a.LikelySeconds} }

// follow adds to the ready jobs what will follow them in the same places, so that allocations last
// for it and it need not wait in the queue again: in each step no more jobs than run side by side
// before.
func (p *planner) follow() {
	steps := make(map[int64][]*Ahead)
	for i := range p.Ahead {
		steps[p.Ahead[i].Steps] = append(steps[p.Ahead[i].Steps], &p.Ahead[i])
	}
	for _, w := range p.wants {
		if w.open == 0 {
			continue
		}
		w.chains = w.open
		for _, a := range p.supply {
			for _, r := range a.Running {
				if r.ClassID == w.ID {
					w.chains += r.Count
				}
			}
		}
	}
	ended := make(map[*want]bool)
	for step := int64(1); len(steps[step]) > 0; step++ {
		room := make(map[*want]int64)
		for _, w := range p.wants {
			if w.chains > 0 && !ended[w] {
				room[w] = w.chains
			}
		}
		for _, a := range steps[step] {
			count := a.Count
			p.blocked += count
			for _, w := range p.followed(a) {
				if n := min(count, room[w]); n > 0 {
					count, room[w] = count-n, room[w]-n
					seconds, each := a.demand().load().seconds, w.load().seconds
					w.follows += (saturatingProduct(n, seconds) + each - 1) / each
				}
			}
			p.beyond += count
		}
		for _, w := range p.wants {
			ended[w] = room[w] == w.chains
		}
	}
}

// knowsAll reports whether all jobs that will become ready follow the ready ones in their places.
func (p *planner) knowsAll() bool {
	later := int64(0)
	for _, w := range p.wants {
		later += w.later
	}
	return p.beyond == 0 && later <= p.blocked && p.blocked == countAhead(p.Ahead)
}

func countAhead(all []Ahead) (n int64) {
	for i := range all {
		n += all[i].Count
	}
	return n
}

// depth returns how many jobs run one after the other with those that follow.
func (w *want) depth() int64 { return (w.open + w.follows + w.chains - 1) / max(w.chains, 1) }

// followed returns the ready jobs in whose places blocked ones can run, those of the same class
// first.
func (p *planner) followed(a *Ahead) (all []*want) {
	for _, w := range p.wants {
		if w.chains > 0 && (w.ID == a.ID || w.hosts(a.demand())) {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(x, y *want) int {
		same := func(w *want) int {
			if w.ID == a.ID {
				return 0
			}
			return 1
		}
		return same(x) - same(y)
	})
	return all
}

// hosts reports whether jobs can run in the place of one that is ready.
func (w *want) hosts(d *Demand) bool {
	return d.nodes() == w.nodes() && w.each().most(d.each()) == w.each() &&
		(d.SchedulerID == nil || w.SchedulerID != nil && *d.SchedulerID == *w.SchedulerID) && workflow.LabelsMatch(d.Labels, w.Labels)
}
