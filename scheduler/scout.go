package scheduler

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
)

// scoutPart is how many times as long as a scout others are that may be much too long.
const scoutPart = 4

// scouts adds short allocations of a job each to the first ones that an action requests, if these
// have to queue and are much longer, and if it is not known how long the jobs run. By the
// declared runtime, which is a limit, the others may be many times too long. The scouts start no
// later and show how long the jobs run, so that pending allocations can be shortened. They are as
// many as it takes to know that, if nothing else has to be requested later because of them.
func (c *chooser) scouts(k *packing) {
	if slices.ContainsFunc(c.supply, c.action.counts) {
		return
	}
	left, _ := c.action.rate(c.Now)
	room, _ := c.vacancies(c.action)
	most := min(int64(forecast.EnoughRuntimes), int64(room-len(k.drafts)))
	if len(k.drafts) <= left {
		most = min(most, int64(left-len(k.drafts)))
	}
	jobs := make([]int64, len(c.asked))
	seconds, ready := int64(0), int64(-len(k.drafts)) // no more allocations than jobs
	for _, w := range c.asked {
		ready += w.open
	}
	most = min(most, ready)
	for i, w := range c.asked {
		if w.LikelySeconds == 0 && most > 0 && w.pools[0].Walltime == 0 {
			jobs[i] = min(w.open, most)
			most -= jobs[i]
			seconds = max(seconds, w.load().seconds)
		}
	}
	if sum(jobs) == 0 {
		return
	}
	work := time.Duration(seconds) * time.Second
	short := c.packFor(c.action, c.asked, jobs, jobs, &variant{jobs: 1, by: work, work: work, vacancies: c.outlook.vacancies.Clone()})
	short.drafts = slices.DeleteFunc(short.drafts, func(f *draft) bool {
		shape := f.final(&c.set)
		r := c.request(&shape, f.pool.Place)
		return !slices.ContainsFunc(k.drafts, func(x *draft) bool {
			other := x.final(&c.set)
			o := c.request(&other, x.pool.Place)
			return !(x.free && x.wait.Soon()) && r.Within(&o) && r.Walltime*scoutPart <= o.Walltime
		})
	})
	vacancies := c.outlook.vacancies.Clone()
	for i, f := range short.drafts {
		c.planned(f, vacancies, i == 0)
		f.instead = "short ones start no later, and show how long the jobs run"
	}
	k.drafts = append(short.drafts, k.drafts...)
}
