package slurmtest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Life is one start of a job: what a launcher gets to know.
type Life struct {
	ID       slurm.JobID
	Restart  int
	Name     string
	User     string
	Script   []byte
	Dir      string
	Output   string // file for standard output; patterns are filled in
	Error    string // "": the same file
	Append   bool   // --open-mode=append, or a restart
	Env      []string
	Nodes    []string
	CPUs     int   // per node
	Memory   int64 // bytes per node
	Deadline time.Time

	cluster *Cluster
	life    *life
}

// Launcher starts a life's script, on the first of its nodes, and returns what
// receives its signals. It must not block, and the process must in the end
// call Exit exactly once.
type Launcher func(c *Cluster, l *Life) Process

// Process is a running script.
type Process interface {
	// Signal gives a signal by its name without SIG ("TERM", "KILL", "STOP",
	// "CONT", "USR1"). It must not block.
	Signal(name string, to Target)
}

// Target says which of a job's processes get a signal.
type Target uint8

// The targets that Slurm distinguishes. Steps are what srun has started: a
// script without srun has none, and sees nothing of a signal to them.
const (
	Everything Target = iota
	Steps
	BatchShell
)

// Exit tells the cluster that the script has ended.
func (l *Life) Exit(exit slurm.ExitCode) {
	l.cluster.do(func() { l.cluster.exited(l.life, exit) })
}

// OutOfMemory tells the cluster that the kernel has killed a process of the
// life for its memory; the script may go on or exit.
func (l *Life) OutOfMemory() {
	l.cluster.do(func() { l.life.oom = true })
}

// StepStarted tells the cluster that srun has started a step, and returns its
// number.
func (l *Life) StepStarted(name string) int {
	number := 0
	l.cluster.do(func() {
		number = len(l.life.steps)
		l.life.steps = append(l.life.steps, &step{number: number, name: name, state: slurm.Running, start: l.cluster.now})
	})
	return number
}

// StepEnded tells the cluster how a step has ended.
func (l *Life) StepEnded(number int, state slurm.State, exit slurm.ExitCode) {
	l.cluster.do(func() {
		s := l.life.steps[number]
		s.state, s.exit, s.end = state, exit, l.cluster.now
	})
}

// describe is what a launcher gets to know of a life.
func (c *Cluster) describe(l *life) *Life {
	j := l.job
	d := &Life{
		ID: j.id(), Restart: l.restart, Name: j.name, User: j.user, Script: j.script, Dir: j.dir,
		Append: j.appendOutput || l.restart > 0, CPUs: j.need(l.nodes[0]).cpus, Memory: j.need(l.nodes[0]).memory,
		Deadline: l.limit, cluster: c, life: l,
	}
	for _, n := range l.nodes {
		d.Nodes = append(d.Nodes, n.Name)
	}
	output := j.output
	if output == "" {
		output = "slurm-%j.out"
	}
	d.Output = inDir(j.dir, c.fill(output, l))
	if j.stderr != "" {
		d.Error = inDir(j.dir, c.fill(j.stderr, l))
	}
	d.Env = append(append([]string(nil), j.env...), c.variables(l)...)
	return d
}

// fill replaces the patterns of file names.
func (c *Cluster) fill(pattern string, l *life) string {
	out := make([]byte, 0, len(pattern))
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' || i+1 == len(pattern) {
			out = append(out, pattern[i])
			continue
		}
		i++
		switch pattern[i] {
		case 'j', 'A':
			out = strconv.AppendInt(out, l.job.number, 10)
		case 'x':
			out = append(out, l.job.name...)
		case 'u':
			out = append(out, l.job.user...)
		case 'N':
			out = append(out, l.nodes[0].Name...)
		case 'n', 't':
			out = append(out, '0')
		default:
			out = append(out, pattern[i])
		}
	}
	return string(out)
}

// variables are those of Slurm 22.05 in the batch script.
func (c *Cluster) variables(l *life) []string {
	j := l.job
	need := j.need(l.nodes[0])
	env := []string{
		"SLURM_CLUSTER_NAME=" + c.opts.Name,
		fmt.Sprintf("SLURM_JOB_ID=%d", j.number),
		fmt.Sprintf("SLURM_JOBID=%d", j.number),
		"SLURM_JOB_NAME=" + j.name,
		"SLURM_JOB_PARTITION=" + j.partition,
		"SLURM_JOB_ACCOUNT=" + j.account,
		"SLURM_JOB_QOS=" + j.qos,
		"SLURM_JOB_USER=" + j.user,
		fmt.Sprintf("SLURM_JOB_UID=%d", j.uid),
		fmt.Sprintf("SLURM_JOB_NUM_NODES=%d", len(l.nodes)),
		fmt.Sprintf("SLURM_NNODES=%d", len(l.nodes)),
		"SLURM_JOB_NODELIST=" + l.nodeList(),
		"SLURM_NODELIST=" + l.nodeList(),
		"SLURMD_NODENAME=" + l.nodes[0].Name,
		"SLURM_NODEID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0",
		fmt.Sprintf("SLURM_CPUS_ON_NODE=%d", need.cpus),
		fmt.Sprintf("SLURM_JOB_CPUS_PER_NODE=%d", need.cpus),
		fmt.Sprintf("SLURM_MEM_PER_NODE=%d", need.memory/slurm.MiB),
		"SLURM_SUBMIT_DIR=" + j.dir,
		"SLURM_TASKS_PER_NODE=1",
	}
	if l.restart > 0 {
		env = append(env, fmt.Sprintf("SLURM_RESTART_COUNT=%d", l.restart))
	}
	if j.gpus > 0 {
		devices := ""
		for i := range j.gpus {
			devices += "," + strconv.Itoa(i)
		}
		env = append(env, "SLURM_JOB_GPUS="+devices[1:], "CUDA_VISIBLE_DEVICES="+devices[1:], "SLURM_GPUS_ON_NODE="+strconv.Itoa(j.gpus))
	}
	return env
}
