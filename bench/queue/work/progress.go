package work

import (
	"cmp"
	"slices"
	"time"
)

// retryDelay is how long a job waits after an attempt that failed, in seconds.
const retryDelay = 30

// status is where a job is.
type status int8

const (
	blocked status = iota
	ready
	delayed
	running
	done
)

// Progress is how far a workflow is. Times are in seconds.
type Progress struct {
	*Workload
	Begin      int64 // when it was submitted
	FirstStart int64 // -1: none has started
	End        int64 // of the last job
	Waited     int64 // the sum, from ready to the start of an attempt
	Attempts   int64
	Used       int64 // CPU seconds of attempts that ended by themselves

	status  []status
	since   []int64 // when it became ready, or is to
	failed  []int
	behind  [][]int // jobs that wait for a job
	queue   [][]int // ready jobs of a class
	delayed []int   // jobs, the first to become ready first
	counts  [done + 1]int64
	became  int64 // how often a job has become ready

	finished [][]time.Duration // the runtimes of the done jobs of a class
}

// NewProgress returns a workflow that is submitted at a time.
func NewProgress(w *Workload, now int64) *Progress {
	n := len(w.Jobs)
	p := &Progress{Workload: w, Begin: now, FirstStart: -1, status: make([]status, n), since: make([]int64, n), failed: make([]int, n),
		behind: make([][]int, n), queue: make([][]int, len(w.Classes)), finished: make([][]time.Duration, len(w.Classes))}
	p.counts[blocked] = int64(n)
	for i := range w.Jobs {
		if after := w.Jobs[i].After; after >= 0 {
			p.behind[after] = append(p.behind[after], i)
		} else {
			p.enqueue(i, now)
		}
	}
	return p
}

func (p *Progress) set(job int, s status) {
	p.counts[p.status[job]]--
	p.counts[s]++
	p.status[job] = s
}

func (p *Progress) enqueue(job int, now int64) {
	p.set(job, ready)
	p.became++
	p.since[job] = now
	class := p.Jobs[job].Class
	p.queue[class] = append(p.queue[class], job)
}

// Wake makes the jobs ready whose delay is over, and returns when the next one's is; 0 if
// there is none.
func (p *Progress) Wake(now int64) (next int64) {
	for len(p.delayed) > 0 {
		job := p.delayed[0]
		if p.since[job] > now {
			return p.since[job]
		}
		p.delayed = p.delayed[1:]
		p.enqueue(job, p.since[job])
	}
	return 0
}

// Ready returns how many jobs of a class are ready.
func (p *Progress) Ready(class int) int64 { return int64(len(p.queue[class])) }

// Delayed returns how many jobs of a class are delayed.
func (p *Progress) Delayed(class int) (n int64) {
	for _, job := range p.delayed {
		if p.Jobs[job].Class == class {
			n++
		}
	}
	return n
}

// Behind returns how many jobs of a class wait for a job that runs.
func (p *Progress) Behind(class int) (n int64) {
	for job, s := range p.status {
		if s == running {
			for _, b := range p.behind[job] {
				if p.Jobs[b].Class == class {
					n++
				}
			}
		}
	}
	return n
}

// Ahead are blocked jobs of a class that are equally many steps from being ready.
type Ahead struct {
	Class int
	Steps int64 // 1: behind jobs that are not blocked
	Count int64
}

// Ahead returns the blocked jobs, nearest first. A job comes after the one that it waits for.
func (p *Progress) Ahead() (all []Ahead) {
	steps := make([]int64, len(p.status))
	index := map[[2]int64]int{}
	for job, s := range p.status {
		if s != blocked {
			continue
		}
		class := p.Jobs[job].Class
		steps[job] = steps[p.Jobs[job].After] + 1
		key := [2]int64{steps[job], int64(class)}
		if _, known := index[key]; !known {
			index[key] = len(all)
			all = append(all, Ahead{Class: class, Steps: steps[job]})
		}
		all[index[key]].Count++
	}
	slices.SortFunc(all, func(a, b Ahead) int { return cmp.Or(cmp.Compare(a.Steps, b.Steps), cmp.Compare(a.Class, b.Class)) })
	return all
}

// Next returns a job that waits for a job; -1 if there is none. In the workloads there is at
// most one.
func (p *Progress) Next(job int) int {
	if len(p.behind[job]) == 0 {
		return -1
	}
	return p.behind[job][0]
}

// IsReady reports whether a job is ready, and how many of its attempts have failed.
func (p *Progress) IsReady(job int) (is bool, failed int) {
	return p.status[job] == ready, p.failed[job]
}

// Open returns how many jobs are not done, and how many of these run.
func (p *Progress) Open() (open, runs int64) {
	return int64(len(p.Jobs)) - p.counts[done], p.counts[running]
}

// Done reports whether all jobs are done.
func (p *Progress) Done() bool { return p.counts[done] == int64(len(p.Jobs)) }

// Runtimes returns how long the last jobs of a class ran that are done, at most so many.
func (p *Progress) Runtimes(class, most int) []time.Duration {
	all := p.finished[class]
	return all[max(len(all)-most, 0):]
}

// Left returns the jobs that are not done.
func (p *Progress) Left() (jobs []int) {
	for job, s := range p.status {
		if s != done {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// Take starts an attempt of the first ready job of a class, and returns the job and how long
// the attempt runs.
func (p *Progress) Take(class int, now int64) (job int, runtime int64) {
	job = p.queue[class][0]
	p.queue[class] = p.queue[class][1:]
	return job, p.begin(job, now)
}

// TakeJob is Take for a certain ready job.
func (p *Progress) TakeJob(job int, now int64) (runtime int64) {
	queue := &p.queue[p.Jobs[job].Class]
	for i, j := range *queue {
		if j == job {
			*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
			break
		}
	}
	return p.begin(job, now)
}

func (p *Progress) begin(job int, now int64) int64 {
	p.set(job, running)
	p.Waited += now - p.since[job]
	p.Attempts++
	if p.FirstStart < 0 {
		p.FirstStart = now
	}
	return p.Jobs[job].Runtime
}

// Finish ends an attempt: it succeeds, or fails as the workload says.
func (p *Progress) Finish(job int, now int64) {
	j := &p.Jobs[job]
	c := &p.Classes[j.Class]
	p.Used += j.Runtime * c.CPUs * max(c.Nodes, 1)
	if p.failed[job] < j.Fails {
		p.failed[job]++
		p.set(job, delayed)
		p.since[job] = now + retryDelay
		p.delayed = append(p.delayed, job)
		return
	}
	p.set(job, done)
	p.End = now
	p.finished[j.Class] = append(p.finished[j.Class], time.Duration(j.Runtime)*time.Second)
	for _, b := range p.behind[job] {
		p.enqueue(b, now)
	}
}

// Return makes a job ready again whose allocation has ended.
func (p *Progress) Return(job int, now int64) { p.enqueue(job, now) }
