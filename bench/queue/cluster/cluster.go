package cluster

import (
	"fmt"
	"math"
	"slices"
)

// Config describes a cluster. A field that is 0 has Slurm's default.
type Config struct {
	Partitions []Partition
	Priority   Priority
	Backfill   Backfill
}

// Counts says how many jobs there were; Submitted is the sum of the others.
type Counts struct {
	Submitted, Pending, Running, Ended int64
}

// Cluster is a cluster under a virtual clock, in seconds. It is not safe for concurrent use.
type Cluster struct {
	config     Config
	now        int64
	partitions []*partition
	events     events
	seq        int64
	lastID     int64
	usage      usage
	calculated int64 // when priorities were calculated last
	backfilled int64 // when the backfill scheduler ran last
	urgent     bool  // the main scheduler is to run now
	counts     Counts
	whole      wholeProfile
	shared     sharedProfile
	// Watch, if not nil, is called for each job of a source that starts.
	Watch func(*Job)
}

// New returns an idle cluster at time 0. Sources, if there are any, has one for each
// partition, or nil.
func New(config Config, sources []Source) *Cluster {
	config.Backfill = config.Backfill.withDefaults()
	c := &Cluster{config: config}
	for i, p := range config.Partitions {
		s := newPartition(p)
		if i < len(sources) && sources[i] != nil {
			s.source = sources[i]
			s.next, s.more = s.source.Next()
		}
		c.partitions = append(c.partitions, s)
	}
	return c
}

// Clone returns a cluster that goes on from here in the same way. Functions that were to be
// called later (At), and those of its jobs, are not part of it.
func (c *Cluster) Clone() *Cluster {
	d := *c
	jobs := make(map[*Job]*Job)
	copied := func(j *Job) *Job {
		if jobs[j] == nil {
			own := *j
			own.Started, own.Over = nil, nil
			jobs[j] = &own
		}
		return jobs[j]
	}
	d.partitions = nil
	for _, p := range c.partitions {
		d.partitions = append(d.partitions, p.clone(copied))
	}
	d.events = nil
	for _, e := range c.events {
		if e.call != nil || e.job.State != Running {
			continue
		}
		e.job = copied(e.job)
		d.events.push(e)
	}
	d.usage, d.whole, d.shared, d.Watch = c.usage.clone(), wholeProfile{}, sharedProfile{}, nil
	return &d
}

// Now returns the time.
func (c *Cluster) Now() int64 { return c.now }

// Counts returns how many jobs there are.
func (c *Cluster) Counts() Counts { return c.counts }

// Partition returns the description of a partition.
func (c *Cluster) Partition(i int) Partition { return c.partitions[i].Partition }

// Free returns what no job uses of a node.
func (c *Cluster) Free(partition, node int) Resources {
	return c.partitions[partition].nodes[node].free
}

// Queue returns the pending jobs of a partition, the first to start first. The caller must
// not change it.
func (c *Cluster) Queue(partition int) []*Job { return c.partitions[partition].queue }

// Running returns the running jobs of a partition. The caller must not change it.
func (c *Cluster) Running(partition int) []*Job { return c.partitions[partition].running }

// At calls a function at a time, or now if that is past.
func (c *Cluster) At(at int64, call func()) {
	c.seq++
	c.events.push(event{at: max(at, c.now), seq: c.seq, call: call})
}

// Submitted returns how many jobs have been submitted so far.
func (c *Cluster) Submitted() int64 { return c.lastID }

// Submit submits a job. An error says that no partition accepts it.
func (c *Cluster) Submit(r Request, started, over func(*Job)) (*Job, error) {
	for _, i := range r.Partitions {
		if !c.partitions[i].fits(&r) {
			return nil, fmt.Errorf("partition %s does not accept %d node(s) of %+v for %d s", c.partitions[i].Name, r.Nodes, r.Each, r.Limit)
		}
	}
	c.lastID++
	j := &Job{Request: r, ID: c.lastID, Submit: c.now, Started: started, Over: over}
	c.urgent = true
	c.counts.Submitted++
	c.counts.Pending++
	j.key = c.keyOf(j, c.partitions[r.Partitions[0]])
	for _, i := range r.Partitions {
		p := c.partitions[i]
		p.queue.add(j)
		j.Free = j.Free || p.mayStart(j)
		p.changed = p.changed || j.Free // if it cannot start now, another pass would start nothing
	}
	return j, nil
}

// Widen lets a pending job also start in another partition.
func (c *Cluster) Widen(j *Job, partition int) {
	p := c.partitions[partition]
	if j.State != Pending || slices.Contains(j.Partitions, partition) || !p.fits(&j.Request) {
		return
	}
	j.Partitions = append(slices.Clone(j.Partitions), partition)
	p.queue.add(j)
	p.changed, c.urgent = true, true
}

// Shorten lowers the time limit of a pending job, and reports whether it did.
func (c *Cluster) Shorten(j *Job, limit int64) bool {
	if j.State != Pending || limit < 1 || limit > j.Limit {
		return false
	}
	j.Limit = limit
	for _, i := range j.Partitions {
		c.partitions[i].changed = true // it may fit before a reservation now
	}
	return true
}

// Cancel ends a job, whether it is pending or running.
func (c *Cluster) Cancel(j *Job) { c.finish(j, Canceled) }

// Finish ends a running job that has nothing left to do.
func (c *Cluster) Finish(j *Job) {
	if j.State == Running {
		c.finish(j, Completed)
	}
}

func (c *Cluster) finish(j *Job, how End) {
	c.urgent = true
	switch j.State {
	case Pending:
		c.unqueue(j)
		c.counts.Pending--
	case Running:
		p := c.partitions[j.Partition]
		p.release(j)
		c.usage.add(j.User, -j.CPUs(&p.Partition), c.now)
		c.counts.Running--
	default:
		return
	}
	j.State, j.Ended, j.End = Ended, c.now, how
	c.counts.Ended++
	if j.Over != nil {
		j.Over(j)
	}
}

func (c *Cluster) unqueue(j *Job) {
	for _, i := range j.Partitions {
		c.partitions[i].queue.remove(j)
		c.partitions[i].changed = true
	}
}

// start starts a pending job on nodes.
func (c *Cluster) start(j *Job, partition int, nodes []int) {
	c.unqueue(j)
	p := c.partitions[partition]
	j.State, j.Start, j.Partition = Running, c.now, partition
	p.occupy(j, nodes)
	c.usage.add(j.User, j.CPUs(&p.Partition), c.now)
	c.counts.Pending--
	c.counts.Running++
	at, _ := j.end()
	c.seq++
	c.events.push(event{at: at, seq: c.seq, job: j, start: j.Start})
	switch {
	case j.Started != nil:
		j.Started(j)
	case c.Watch != nil:
		c.Watch(j)
	}
}

// Run lets time pass until done returns true, or to the end. done is asked after each step.
func (c *Cluster) Run(end int64, done func() bool) {
	for !done() {
		at := c.nextTime()
		if at > end {
			c.now = max(c.now, end)
			return
		}
		c.now = at
		c.step()
	}
}

// nextTime returns when something happens next.
func (c *Cluster) nextTime() int64 {
	if c.urgent {
		return c.now
	}
	at := int64(math.MaxInt64)
	if len(c.events) > 0 {
		at = c.events[0].at
	}
	for _, p := range c.partitions {
		if p.more {
			at = min(at, p.next.At)
		}
		if p.changed && len(p.queue) > 0 {
			at = min(at, roundUp(max(c.now, c.backfilled+1), c.config.Backfill.Interval))
		}
	}
	return max(at, c.now)
}

// step does all that happens now.
func (c *Cluster) step() {
	for len(c.events) > 0 && c.events[0].at <= c.now {
		e := c.events.pop()
		if e.call != nil {
			e.call()
		} else if e.job.State == Running && e.job.Start == e.start {
			_, how := e.job.end()
			c.finish(e.job, how)
		}
	}
	for _, p := range c.partitions {
		for p.more && p.next.At <= c.now {
			// A source gives what fits; what does not is not submitted, as Slurm rejects it.
			_, _ = c.Submit(p.next.Request, nil, nil)
			p.next, p.more = p.source.Next()
		}
	}
	c.prioritize()
	c.urgent = false
	c.schedule()
	if c.now > c.backfilled && c.now%c.config.Backfill.Interval == 0 {
		c.backfilled = c.now
		c.backfill()
	}
}

// prioritize sorts the queues again, where priorities change over time.
func (c *Cluster) prioritize() {
	if c.config.Priority.FairShare == 0 || c.now < c.calculated+calcPeriod {
		return
	}
	c.calculated = c.now
	c.usage.settleAll(c.now)
	seen := make(map[*Job]bool)
	for _, p := range c.partitions {
		for _, j := range p.queue {
			if !seen[j] {
				seen[j], j.key = true, c.keyOf(j, c.partitions[j.Partitions[0]])
			}
		}
	}
	for _, p := range c.partitions {
		slices.SortFunc(p.queue, compare)
		p.changed = true
	}
}

// schedule is the main scheduler: in each partition it starts jobs in the order of priority,
// and stops at the first that does not fit.
func (c *Cluster) schedule() {
	for i, p := range c.partitions {
		for len(p.queue) > 0 {
			j := p.queue[0]
			nodes := p.find(j)
			if nodes == nil {
				break
			}
			c.start(j, i, nodes)
		}
	}
}
