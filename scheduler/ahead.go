package scheduler

import (
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
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

// extend lets new allocations last for the jobs that become ready while they run, so that
// these need not wait in the queue again. It leaves allocations as they are for which the user
// has set a walltime, and those that would wait for longer than it saves.
func (c *chooser) extend(k *packing) {
	vacancies := c.outlook.vacancies.Clone()
	if len(c.Ahead) == 0 {
		return
	}
	for i, f := range k.drafts {
		if f.pool.Walltime == 0 && !f.pool.Serialize {
			c.extendDraft(f, c.usefulFor(k.drafts, i), vacancies)
		}
	}
}

// usefulFor returns for how long a draft has work after its own jobs: in each step as many of
// the drafts are needed as its jobs have room in, the first ones first.
func (c *chooser) usefulFor(drafts []*draft, index int) (useful time.Duration) {
	slack := time.Duration(0)
	for step := int64(1); ; step++ {
		longest, needed, any := time.Duration(0), false, false
		for i := range c.Ahead {
			a := &c.Ahead[i]
			if a.Steps != step {
				continue
			}
			any = true
			d := a.demand()
			lanes := lanesIn(drafts[index], d)
			if lanes == 0 {
				continue
			}
			rows := (a.Count + lanes*int64(len(drafts)) - 1) / (lanes * int64(len(drafts)))
			needed = needed || a.Count > lanes*int64(index)
			each := time.Duration(d.load().seconds) * time.Second
			longest = max(longest, time.Duration(rows)*each)
			slack = max(slack, d.runtime()-each)
		}
		if !any || !needed || useful > c.set.LongestWork {
			break
		}
		useful += longest
	}
	if useful == 0 {
		return 0
	}
	return useful + slack
}

// lanesIn returns how many jobs run side by side in a draft; 0 if they cannot run there.
func lanesIn(f *draft, d *Demand) int64 {
	together := d.nodes() > 1
	if !workflow.LabelsMatch(d.Labels, f.shape.Labels) || together != f.shape.Together ||
		d.SchedulerID != nil && (f.shape.SchedulerID == nil || *f.shape.SchedulerID != *d.SchedulerID) {
		return 0
	}
	each := d.each()
	if f.shape.Node.Slots > 0 {
		each.Slots = 1
	}
	if together {
		return min(f.shape.Node.holds(each), 1) * (f.shape.Nodes / d.nodes())
	}
	return f.shape.Nodes * f.shape.Node.holds(each)
}

// extendDraft extends a draft by as much of some time as saves more waiting than it costs.
func (c *chooser) extendDraft(f *draft, useful time.Duration, vacancies *forecast.Vacancies) {
	plain := f.final(&c.set)
	for ; useful >= time.Minute; useful /= 2 {
		f.extra = useful.Truncate(time.Minute)
		shape := f.final(&c.set)
		extra := shape.Walltime - plain.Walltime
		if extra <= 0 {
			break
		}
		r, short := c.request(&shape, f.pool.Place), c.request(&plain, f.pool.Place)
		free, freeShort := c.take(vacancies.Clone(), &r), c.take(vacancies.Clone(), &short)
		wait, waitShort := c.Forecast.Wait(c.Now, &r, free), c.Forecast.Wait(c.Now, &short, freeShort)
		renewals := time.Duration(extra/max(c.set.Margins.Usable(plain.Walltime), time.Minute) + 1)
		if wait.Likely <= waitShort.Likely*(1+renewals) && (free || !freeShort) {
			c.take(vacancies, &r)
			return
		}
	}
	f.extra = 0
	short := c.request(&plain, f.pool.Place)
	c.take(vacancies, &short)
}
