package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// packing is the new allocations of one action, and the jobs that remain.
type packing struct {
	wants   []*want
	jobs    []int64  // of each of wants, that were to be packed
	left    []int64  // of these, those that remain
	side    []int64  // how many more may run side by side
	reasons []string // why they remain
	drafts  []*draft
	limits  []Action // the limits that were reached: Wait or Pause
	tight   bool     // longer allocations would have taken more
	// improves says that all jobs have a place, and that the new allocations end them sooner.
	improves bool
	// live and pending are the jobs of each of wants that have a place in existing allocations;
	// nil: those that were found before.
	live, pending []int64
	// choice is what is expected of these allocations, and instead the best other choice; nil
	// without a forecast.
	choice  *Choice
	instead *Choice
}

// expect returns what is expected of a draft; nil without a forecast.
func (k *packing) expect(f *draft) *compute.AllocationExpectation {
	if k.choice == nil {
		return nil
	}
	e := &compute.AllocationExpectation{
		Free: f.free, LowS: int64(f.wait.Low / time.Second), WaitS: int64(f.wait.Likely / time.Second), HighS: int64(f.wait.High / time.Second), Reason: f.wait.Reason,
		EndS: int64(k.choice.Completion / time.Second), CPUSeconds: k.choice.CPUSeconds, IdleShare: k.choice.IdleShare,
	}
	if i := k.instead; i != nil {
		e.Instead, e.InsteadEndS, e.InsteadCPUSeconds = i.Line(), int64(i.Completion/time.Second), i.CPUSeconds
	}
	return e
}

// pack packs jobs into new allocations, as many as the limits allow. If these are too
// few, longer ones are planned, so that each takes more jobs.
func (p *planner) pack(a *AutoSchedule, wants []*want) *packing {
	for work := p.set.Work; ; work += max(work/4, time.Minute) {
		jobs := make([]int64, len(wants))
		for i, w := range wants {
			jobs[i] = w.left
		}
		k := p.packFor(a, wants, jobs, jobs, &variant{by: min(work, p.set.LongestWork)})
		if !k.tight || work >= p.set.LongestWork {
			return k
		}
	}
}

// packFor packs some jobs of each want, of which some run side by side at most, into allocations of
// some variant.
func (p *planner) packFor(a *AutoSchedule, wants []*want, jobs, side []int64, v *variant) *packing {
	k := &packing{wants: wants, jobs: jobs, left: slices.Clone(jobs), side: slices.Clone(side), reasons: make([]string, len(wants))}
	room, crowded := p.vacancies(a)
	room += len(v.replaces)
	gates := make(map[*Pool]*gate)
	for i, w := range wants {
		for _, f := range k.drafts {
			k.fill(f, i)
		}
		tight, instead := false, ""
		for n, pool := range v.order(w.pools) {
			if n > 0 && instead == "" {
				break
			}
			g := gates[pool]
			if g == nil {
				g = p.gate(a, pool)
				gates[pool] = g
			}
			for ; k.left[i] > 0 && k.side[i] > 0 && room > 0 && g.left > 0; room, g.left = room-1, g.left-1 {
				f := p.draft(pool, w.Demand, v)
				if f == nil {
					break
				}
				f.probe, f.instead = g.probe, cmp.Or(instead, f.instead)
				k.drafts = append(k.drafts, f)
				k.fill(f, i)
			}
			switch {
			case k.left[i] == 0 || k.side[i] == 0 || room > 0 && g.left > 0:
			case g.left <= 0:
				k.limit(i, Action{Kind: g.kind, Pool: pool.Name, Until: g.until, Reason: g.reason})
				tight = tight || g.longer
				if instead = ""; g.spills {
					instead = "instead of " + pool.Name + ", as " + g.reason
				}
			default:
				k.limit(i, Action{Kind: Wait, Reason: crowded})
				tight = true
			}
		}
		k.tight = k.tight || tight && k.left[i] > 0
	}
	return k
}

// fill puts jobs of a want into a draft.
func (k *packing) fill(f *draft, i int) {
	if k.left[i] == 0 || k.side[i] == 0 {
		return
	}
	w := k.wants[i]
	if n, used := f.take(w.Demand, k.left[i], k.side[i]); n > 0 {
		c := part{want: i, jobs: n, ready: n}
		k.left[i] -= n
		if w.follows > 0 {
			c.ready = used
			k.side[i] -= used
		}
		f.parts = append(f.parts, c)
	}
}

// cover sets where the jobs of a want can run.
func (k *packing) cover(i int, w *want) {
	c := &w.cover
	if k.live != nil {
		c.Live = min(k.live[i], w.open)
		c.Pending = min(k.pending[i], w.open-c.Live)
	}
	c.Asked = min(k.jobs[i]-k.left[i], w.open-c.Live-c.Pending)
	if w.left = w.open - c.Asked - c.Live - c.Pending; k.improves { // they keep their place
		c.Pending, w.left = c.Pending+w.left, 0
	}
	if w.left > 0 {
		w.uncover(k.reasons[i])
	}
}

// giveBack removes the jobs from a draft that is not requested now.
func (k *packing) giveBack(f *draft, reason string) {
	for _, c := range f.parts {
		k.left[c.want] += c.jobs
		k.reasons[c.want] = reason
	}
}

// limit records why jobs of a want remain: the reason of the best of
// its pools, and once per reason among the actions.
func (k *packing) limit(i int, l Action) {
	k.reasons[i] = cmp.Or(k.reasons[i], l.Reason)
	for _, known := range k.limits {
		if known.Pool == l.Pool && known.Reason == l.Reason {
			return
		}
	}
	k.limits = append(k.limits, l)
}

// vacancies returns how many more allocations the action may have, and the reason for
// the limit.
func (p *planner) vacancies(a *AutoSchedule) (n int, reason string) {
	live, pending := 0, 0
	for _, s := range p.supply {
		switch {
		case !a.counts(s):
		case s.State == Pending:
			pending++
		default:
			live++
		}
	}
	reason = fmt.Sprintf("max_allocations is %d", a.MaxAllocations)
	if a.Follows != nil {
		reason = "its actions request " + countOf(int64(a.MaxAllocations), "allocation") + " at a time"
	}
	return max(a.MaxAllocations-live-pending, 0), fmt.Sprintf("%s: there are %d live and %d pending", reason, live, pending)
}

// counts reports whether an allocation counts towards the limit of the action.
func (a *AutoSchedule) counts(s *Allocation) bool {
	if a.Follows != nil {
		return s.Shape.SchedulerID != nil && *s.Shape.SchedulerID == *a.Follows
	}
	return s.ActionID == a.ActionID || s.ActionID == 0
}

// gate returns the gate of a pool for this plan.
func (p *planner) gate(a *AutoSchedule, pool *Pool) *gate {
	unproven := 0
	for _, s := range p.supply {
		if s.Shape.Pool == pool.Name && (s.State == Pending || s.State == Active && len(s.Running) == 0) {
			unproven++
		}
	}
	return a.gate(pool, unproven, p.Now, &p.set)
}
