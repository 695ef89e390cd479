package main

import (
	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/bench/queue/work"
	"github.com/torc-slurm/torc-slurm/scheduler"
)

// calls counts the calls of Slurm.
type calls struct {
	Sbatch, Squeue, Scancel, Sinfo, Scontrol, Update, TestOnly int64
}

func (c *calls) total() int64 {
	return c.Sbatch + c.Squeue + c.Scancel + c.Sinfo + c.Scontrol + c.Update + c.TestOnly
}

// trial is one contender that runs one workflow on a cluster.
type trial struct {
	cluster  *cluster.Cluster
	progress *work.Progress
	fleet    *work.Fleet
	past     []*cluster.Job // jobs that had started before the workflow was submitted
	auto     scheduler.AutoSchedule
	expects  bool // polls say when pending jobs are expected to start
	calls    calls
	trace    func(format string, args ...any) // nil: nothing is traced
}

// result is what came out of a trial. Times are in seconds from the submission.
type result struct {
	Finished   bool // before the trial was given up
	Completion int64
	FirstStart int64
	MeanWait   float64 // of an attempt, from when its job was ready
	Used       int64   // CPU seconds of attempts
	Allocated  int64   // CPU seconds
	Requests   int64   // jobs that were submitted to Slurm
	Calls      calls
}

// waste returns the part of the allocated CPU time in which no job ran.
func (r *result) waste() float64 {
	if r.Allocated == 0 {
		return 0
	}
	return 1 - float64(r.Used)/float64(r.Allocated)
}

// contender is a way to get the jobs of a workflow run.
type contender interface {
	// begin submits what it wants at the beginning, and arranges for the rest.
	begin(t *trial)
}

// run lets a contender run a workflow. It is given up after a time.
func (t *trial) run(c contender, giveUp int64) result {
	begin := t.cluster.Now()
	c.begin(t)
	t.cluster.Run(begin+giveUp, func() bool { return t.progress.Done() })
	p := t.progress
	r := result{Finished: p.Done(), Completion: giveUp, FirstStart: giveUp, Requests: t.fleet.Requested}
	if p.FirstStart >= 0 {
		r.FirstStart = p.FirstStart - begin
	}
	if r.Finished {
		r.Completion = p.End - begin
		t.calls.Scancel += min(t.fleet.CancelPending(), 1)
		t.cluster.Run(t.cluster.Now()+hour, t.fleet.Done)
	}
	if p.Attempts > 0 {
		r.MeanWait = float64(p.Waited) / float64(p.Attempts)
	}
	r.Used, r.Allocated, r.Calls = p.Used, t.fleet.Allocated, t.calls
	return r
}

// poll counts the calls that the daemon makes while allocations exist: squeue once a minute,
// a comment every two minutes, sinfo once an hour (docs/slurm-calls.md).
func (t *trial) poll() {
	begin := t.cluster.Now()
	var tick func()
	tick = func() {
		if t.progress.Done() {
			return
		}
		elapsed := t.cluster.Now() - begin
		if len(t.fleet.Allocations) > 0 {
			t.calls.Squeue++
			if t.expects {
				t.cluster.Expect(0)
			}
			for _, a := range t.fleet.Allocations {
				if a.Begun() && elapsed%120 == 0 {
					t.calls.Update++
					break
				}
			}
			if elapsed%hour == 0 {
				t.calls.Sinfo++
			}
		}
		t.cluster.At(t.cluster.Now()+60, tick)
	}
	t.cluster.At(begin, tick)
}
