package slurmtest

import (
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// job is a job of the fake cluster.
type job struct {
	request
	number       int64
	user         string
	uid          int
	submit       time.Time
	eligible     time.Time
	state        slurm.State // without flags
	reason       string
	held         bool
	restarts     []*restart // the last one is the current one, if it has started
	restartCount int
	ended        time.Time
	exit         slurm.ExitCode
	canceler     int // uid of the user who cancelled it; -1 if nobody did
}

// restart is one start of a job on its nodes.
type restart struct {
	job         *job
	number      int // 0 is the first start
	nodes       []*node
	start       time.Time
	limit       time.Time // when its time is over
	suspendedAt time.Time
	end         time.Time
	state       slurm.State
	exit        slurm.ExitCode
	completing  bool // Slurm has ended it and waits for its processes
	released    bool // its nodes are free again
	suspended   bool
	preempted   bool // it has been told to end
	requeue     bool // the job waits again when this restart is over
	hold        bool // and is held then
	oom         bool
	process     Process
	alive       bool            // its script has not ended
	unreported  *slurm.ExitCode // its script ended while its slurmd was dead
	steps       []*step
}

// step is a step that srun started.
type step struct {
	number     int
	name       string
	state      slurm.State
	exit       slurm.ExitCode
	start, end time.Time
}

func (j *job) id() slurm.JobID { return slurm.JobID{Number: j.number} }

func (j *job) over() bool { return j.state.Over() && !j.completing() }

func (j *job) completing() bool {
	r := j.current()
	return r != nil && r.completing && !r.released
}

// current returns the current restart, whether it runs or has ended; nil if the job waits
// for its next restart, or ended before it.
func (j *job) current() *restart {
	if n := len(j.restarts); n > 0 && j.restarts[n-1].number == j.restartCount {
		return j.restarts[n-1]
	}
	return nil
}

// shown returns the state as squeue shows it.
func (j *job) shown() slurm.State {
	if r := j.current(); r != nil && !r.released {
		switch {
		case r.completing:
			return slurm.Completing
		case r.suspended:
			return slurm.Suspended
		}
	}
	return j.state
}

func (j *job) nodeNames() string {
	if r := j.current(); r != nil {
		return r.nodeList()
	}
	return ""
}

func (j *job) batchHost() string {
	if r := j.current(); r != nil {
		return r.nodes[0].Name
	}
	return ""
}

// endTime returns when the job ended, or will end by its limit; zero if it waits.
func (j *job) endTime() time.Time {
	r := j.current()
	switch {
	case r != nil && !r.end.IsZero():
		return r.end
	case r != nil:
		return r.limit
	case j.state == slurm.Pending:
		return time.Time{}
	}
	return j.ended
}

// timeLeft returns how much of its limit the job has left.
func (j *job) timeLeft(now time.Time) time.Duration {
	r := j.current()
	switch {
	case r == nil:
		return j.time
	case r.end.IsZero():
		return max(r.limit.Sub(now), 0)
	}
	return max(j.time-r.end.Sub(r.start), 0)
}

// need returns what a job takes of a node.
func (j *job) need(n *node) room {
	takes := room{cpus: j.cpusPerNode(), memory: j.memory, gpus: j.gpus}
	if j.exclusive {
		takes.cpus = n.CPUs
	}
	if j.wholeMemory {
		takes.memory = n.Memory
	}
	return takes
}

// tres returns what a job takes in total, as Slurm writes it.
func (j *job) tres(nodes int) string {
	cpus := j.cpusPerNode() * nodes
	text := "cpu=" + strconv.Itoa(cpus) + ",mem=" + slurm.FormatMemory(j.memory*int64(nodes)) +
		",node=" + strconv.Itoa(nodes) + ",billing=" + strconv.Itoa(cpus)
	if j.gpus > 0 {
		text += ",gres/gpu=" + strconv.Itoa(j.gpus*nodes)
	}
	return text
}

func (r *restart) nodeList() string {
	names := make([]string, len(r.nodes))
	for i, n := range r.nodes {
		names[i] = n.Name
	}
	return slurm.JoinNodes(names)
}

// unreachable reports whether no slurmd is left that could send a signal.
func (r *restart) unreachable() bool {
	for _, n := range r.nodes {
		if !n.dead {
			return false
		}
	}
	return true
}
