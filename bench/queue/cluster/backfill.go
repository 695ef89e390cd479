package cluster

import "slices"

// Backfill has the parameters of the backfill scheduler, in seconds. A field that is 0 has
// Slurm's default (slurm.conf(5), SchedulerParameters).
type Backfill struct {
	Interval   int64 // bf_interval, 30
	Window     int64 // bf_window, a day: no reservation begins later
	Resolution int64 // bf_resolution, 60: of the times at which resources become free
	Tests      int   // bf_max_job_test, 500: of each partition
}

func (b Backfill) withDefaults() Backfill {
	if b.Interval == 0 {
		b.Interval = 30
	}
	if b.Window == 0 {
		b.Window = 24 * 3600
	}
	if b.Resolution == 0 {
		b.Resolution = 60
	}
	if b.Tests == 0 {
		b.Tests = 500
	}
	return b
}

// profile is what will be free in a partition, by the time limits of running jobs and by the
// reservations for pending ones.
type profile interface {
	// reset forgets all reservations. Times are rounded up to the resolution.
	reset(p *partition, now, resolution int64)
	// reserve finds the earliest time, no later than latest, at which a job fits for its
	// time limit, and takes its resources from then on. The nodes are nil if all are alike;
	// they are valid until the next call.
	reserve(j *Job, latest int64) (start int64, nodes []int, ok bool)
}

func (c *Cluster) profileOf(p *partition) profile {
	if p.Whole {
		return &c.whole
	}
	return &c.shared
}

// backfill starts each job that delays no reservation of an earlier one.
func (c *Cluster) backfill() {
	for i, p := range c.partitions {
		if !p.changed || len(p.queue) == 0 {
			continue
		}
		p.changed = false
		tested := p.lastStartable(c.config.Backfill.Tests)
		if tested == 0 {
			continue
		}
		free := c.profileOf(p)
		free.reset(p, c.now, c.config.Backfill.Resolution)
		started := false
		for _, j := range slices.Clone(p.queue[:tested]) {
			start, nodes, ok := free.reserve(j, c.now+c.config.Backfill.Window)
			if j.Expected = 0; ok {
				j.Expected = start
			}
			if !ok || start > c.now {
				continue
			}
			if nodes = slices.Clone(nodes); nodes == nil {
				nodes = p.find(j)
			}
			c.start(j, i, nodes)
			started = true
		}
		// Another pass would start nothing, unless it tests other jobs.
		p.changed = started && len(p.queue) >= c.config.Backfill.Tests
	}
}

// lastStartable returns how many jobs of the queue have to be tested: up to the last that
// the free resources would suffice for. Reservations for later ones change nothing.
func (p *partition) lastStartable(most int) int {
	free := p.mostFree()
	for n := min(most, len(p.queue)); n > 0; n-- {
		if j := p.queue[n-1]; p.Whole && j.Nodes <= int64(len(p.idle)) || !p.Whole && free.holds(j.Each) {
			return n
		}
	}
	return 0
}

// mayStart reports whether the free resources would suffice for a job.
func (p *partition) mayStart(j *Job) bool {
	if p.Whole {
		return j.Nodes <= int64(len(p.idle))
	}
	for i := range p.nodes {
		if p.nodes[i].free.holds(j.Each) {
			return true
		}
	}
	return false
}

// mostFree returns the largest amount of each resource that is free on any node.
func (p *partition) mostFree() (most Resources) {
	if p.Whole {
		return most
	}
	for i := range p.nodes {
		f := &p.nodes[i].free
		most = Resources{max(most.CPUs, f.CPUs), max(most.MemoryMB, f.MemoryMB), max(most.GPUs, f.GPUs)}
	}
	return most
}

// Estimate returns when the backfill scheduler would start a request if it were submitted
// now, as `sbatch --test-only` says; ok is false if it makes no reservation for it.
func (c *Cluster) Estimate(r Request) (start int64, ok bool) {
	p := c.partitions[r.Partitions[0]]
	if !p.fits(&r) {
		return 0, false
	}
	j := &Job{Request: r, ID: c.lastID + 1, Submit: c.now}
	j.key = c.keyOf(j, p)
	starts := c.expect(p, j)
	start, ok = starts[j]
	return start, ok
}

// Expect updates the times at which the pending jobs of a partition are expected to start,
// as `squeue --start` says.
func (c *Cluster) Expect(partition int) {
	p := c.partitions[partition]
	starts := c.expect(p, nil)
	for _, j := range p.queue {
		j.Expected = starts[j]
	}
}

// expect makes reservations for the queue, and for one more job if there is any, and returns
// when each job starts.
func (c *Cluster) expect(p *partition, more *Job) map[*Job]int64 {
	q := slices.Clone(p.queue)
	if more != nil {
		q.add(more)
	}
	free := c.profileOf(p)
	free.reset(p, c.now, c.config.Backfill.Resolution)
	starts := make(map[*Job]int64)
	for i, j := range q {
		if i >= c.config.Backfill.Tests && j != more {
			continue
		}
		if start, _, ok := free.reserve(j, c.now+c.config.Backfill.Window); ok {
			starts[j] = start
		}
	}
	return starts
}
