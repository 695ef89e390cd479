package main

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
)

// How users submit jobs without a tool.
const (
	arrayTasks  = 1000   // of an array, as MaxArraySize has Slurm's default
	sbatchEvery = 1      // seconds between two calls of a loop in a script
	lookEvery   = 5 * 60 // seconds between two looks at what has failed
)

// tasks submits a Slurm job for each job: as job arrays, or by one sbatch each.
type tasks struct {
	array bool
}

func (s tasks) begin(t *trial) {
	r := &tasksRun{t: t, array: s.array, inSlurm: make(map[int]bool)}
	r.submitReady()
	r.look()
}

// tasksRun is the state of tasks.
type tasksRun struct {
	t         *trial
	array     bool
	submitted []int // jobs that are to be submitted, in order
	inSlurm   map[int]bool
	calling   bool
}

// submitReady submits the jobs that are ready. Jobs that wait for others are submitted by a
// dependency, so without another call of an array.
func (r *tasksRun) submitReady() {
	var jobs []int
	for _, job := range r.t.progress.Left() {
		if r.t.progress.Jobs[job].After < 0 {
			jobs = append(jobs, job)
		}
	}
	if !r.array {
		r.submitted = jobs
		r.next()
		return
	}
	depth := r.t.progress.Depth
	r.t.calls.Sbatch += (int64(len(jobs)) + arrayTasks - 1) / arrayTasks * depth
	for _, job := range jobs {
		r.submit(job)
	}
}

// next submits the next job of a loop, and goes on after a while.
func (r *tasksRun) next() {
	if len(r.submitted) == 0 {
		r.calling = false
		return
	}
	r.calling = true
	job := r.submitted[0]
	r.submitted = r.submitted[1:]
	r.t.calls.Sbatch += r.t.progress.Depth // those of its chain at once
	r.submit(job)
	r.t.cluster.At(r.t.cluster.Now()+sbatchEvery*r.t.progress.Depth, r.next)
}

// submit submits a job, and after its end the one that waits for it.
func (r *tasksRun) submit(job int) {
	t := r.t
	p := t.cluster.Partition(0)
	j := &t.progress.Jobs[job]
	class := &t.progress.Classes[j.Class]
	request := cluster.Request{
		Partitions: []int{0}, Nodes: max(class.Nodes, 1), Runtime: j.Runtime,
		Each:  cluster.Resources{CPUs: class.CPUs, MemoryMB: class.MemoryBytes >> 20, GPUs: class.GPUs},
		Limit: min(max((class.RuntimeSeconds+59)/60*60, 60), p.Limit),
	}
	started := func(s *cluster.Job) { t.progress.TakeJob(job, s.Start) }
	over := func(s *cluster.Job) {
		t.fleet.Allocated += s.CPUs(&p) * (s.Ended - s.Start)
		t.progress.Finish(job, s.Ended)
		delete(r.inSlurm, job)
		if next := t.progress.Next(job); next >= 0 {
			if ready, _ := t.progress.IsReady(next); ready {
				r.submit(next)
			}
		}
	}
	if _, err := t.cluster.Submit(request, started, over); err != nil {
		panic(err) // the workloads fit the partitions
	}
	t.fleet.Requested++
	r.inSlurm[job] = true
}

// look polls once a minute, and submits what has failed every five.
func (r *tasksRun) look() {
	t := r.t
	begin := t.cluster.Now()
	var tick func()
	tick = func() {
		if t.progress.Done() {
			return
		}
		t.calls.Squeue++
		t.progress.Wake(t.cluster.Now())
		if (t.cluster.Now()-begin)%lookEvery == 0 {
			r.again()
		}
		t.cluster.At(t.cluster.Now()+60, tick)
	}
	t.cluster.At(begin+60, tick)
}

// again submits the jobs whose last attempt has failed.
func (r *tasksRun) again() {
	var failed []int
	for _, job := range r.t.progress.Left() {
		if ready, failures := r.t.progress.IsReady(job); ready && failures > 0 && !r.inSlurm[job] {
			r.inSlurm[job] = true
			failed = append(failed, job)
		}
	}
	if len(failed) == 0 {
		return
	}
	if r.array {
		r.t.calls.Sbatch++
		for _, job := range failed {
			r.submit(job)
		}
		return
	}
	r.submitted = slices.Concat(r.submitted, failed)
	if !r.calling {
		r.next()
	}
}
