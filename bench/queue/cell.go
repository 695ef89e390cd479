package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/bench/queue/work"
	"github.com/torc-slurm/torc-slurm/scheduler"
)

// cell is one situation: a workflow on a cluster with some load.
type cell struct {
	load     int // percent
	workload string
	declared int64 // how many times the real runtime is declared
}

func (c cell) String() string { return fmt.Sprintf("%d/%s/%d", c.load, c.workload, c.declared) }

// loadName returns a load as the tables show it.
func loadName(load int) string {
	if load == 0 {
		return "idle"
	}
	return fmt.Sprintf("%d %%", load)
}

// entry is a contender with its name.
type entry struct {
	name string
	contender
}

// The names of the contenders that the targets are about.
const (
	namePlanner = "planner"
	nameBefore  = "before"
	nameOracle  = "oracle"
)

// planners are the contenders that plan; the other ones are fixed choices.
var planners = []entry{
	{namePlanner, planner{forecast: true}},
	{nameBefore, planner{}},
}

var fixedChoices = []entry{
	{"one", fixed{count: 1, stretch: 1}},
	{"4", fixed{count: 4, nodes: 1, stretch: 1}},
	{"16", fixed{count: 16, nodes: 1, stretch: 1}},
	{"64", fixed{count: 64, nodes: 1, stretch: 1}},
	{"array", tasks{array: true}},
	{"sbatch", tasks{}},
}

// names returns the names of all contenders.
func names() (all []string) {
	for _, e := range planners {
		all = append(all, e.name)
	}
	for _, e := range fixedChoices {
		all = append(all, e.name)
	}
	return append(all, nameOracle)
}

// giveUp is when a trial is given up.
const giveUp = day

// warmUp is how long the cluster is busy before the workflow is submitted.
const warmUp = 3 * day

// start is a cluster at the moment at which the workflow is submitted.
type start struct {
	cluster *cluster.Cluster
	past    []*cluster.Job
	auto    scheduler.AutoSchedule
}

// newStart makes a start. The hour of the submission, in working hours, goes by the seed.
func newStart(s *site, partition string, load int, seed uint64) *start {
	var past pastJobs
	c := s.cluster(partition, float64(load)/100, seed, warmUp+int64(8+(seed*7)%10)*hour, past.add)
	for before := int64(-1); c.Submitted() < s.others && c.Submitted() > before; { // a log may end
		before = c.Submitted()
		c.Run(c.Now()+day, func() bool { return false })
	}
	return &start{c, past.jobs, s.auto}
}

// historySize is how many earlier jobs the planner remembers.
const historySize = 64

// pastJobs keeps some of the jobs that have started, evenly over time.
type pastJobs struct {
	jobs  []*cluster.Job
	every int
	n     int
}

func (p *pastJobs) add(j *cluster.Job) {
	if p.n%max(p.every, 1) == 0 {
		own := *j
		p.jobs = append(p.jobs, &own)
	}
	p.n++
	if len(p.jobs) == 2*historySize { // keep every second one
		for i := range historySize {
			p.jobs[i] = p.jobs[2*i]
		}
		p.jobs = p.jobs[:historySize]
		p.every = 2 * max(p.every, 1)
	}
}

// trial returns a trial of a workload that begins at a start.
func (s *start) trial(c cell, seed uint64) (*trial, error) {
	w, err := work.New(c.workload, c.declared, seed)
	if err != nil {
		return nil, err
	}
	own := s.cluster.Clone()
	p := work.NewProgress(w, own.Now())
	return &trial{cluster: own, progress: p, fleet: work.NewFleet(own, p), past: s.past, auto: s.auto}, nil
}

// outcomes returns the result of each contender in a cell, by its name. Those that are known are
// not simulated again.
func (s *start) outcomes(c cell, seed uint64, known map[string]result) (map[string]result, error) {
	out := make(map[string]result)
	maps.Copy(out, known)
	run := func(e contender, limit int64) (result, error) {
		t, err := s.trial(c, seed)
		if err != nil {
			return result{}, err
		}
		return t.run(e, limit), nil
	}
	for _, e := range slices.Concat(planners, fixedChoices) {
		if _, has := out[e.name]; has {
			continue
		}
		r, err := run(e.contender, giveUp)
		if err != nil {
			return nil, err
		}
		out[e.name] = r
	}
	if _, has := out[nameOracle]; has {
		return out, nil
	}
	best := result{Completion: giveUp}
	for _, e := range fixedChoices {
		if r := out[e.name]; r.Completion < best.Completion {
			best = r
		}
	}
	for _, f := range candidates() {
		r, err := run(f, best.Completion) // what is not better is not simulated to its end
		if err != nil {
			return nil, err
		}
		if r.Finished && r.Completion < best.Completion {
			best = r
		}
	}
	out[nameOracle] = best
	return out, nil
}

// complete reports whether results have all contenders.
func complete(results map[string]result) bool {
	return !slices.ContainsFunc(names(), func(name string) bool { _, has := results[name]; return !has })
}
