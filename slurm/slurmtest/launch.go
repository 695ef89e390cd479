package slurmtest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Restart is one start of a job, as a launcher sees it.
type Restart struct {
	ID       slurm.JobID
	Number   int // Slurm's restart count; 0 is the first start
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
	restart *restart
}

// Launcher starts a restart's script on the first of its nodes, and returns its
// process. It must not block, and Exit must be called exactly once when the script
// has ended.
type Launcher func(c *Cluster, r *Restart) Process

// Process is a running script.
type Process interface {
	// Signal sends a signal by its name without SIG ("TERM", "KILL", "STOP",
	// "CONT", "USR1"). It must not block.
	Signal(name string, to Target)
}

// Target says which of a job's processes get a signal.
type Target uint8

// The targets that Slurm distinguishes. Steps are those that srun has started: a script
// without srun has none, and gets no signal that is sent to them.
const (
	Everything Target = iota
	Steps
	BatchShell
)

// Exit tells the cluster that the script has ended.
func (r *Restart) Exit(exit slurm.ExitCode) {
	r.cluster.do(func() { r.cluster.controller.exited(r.restart, exit) })
}

// OutOfMemory tells the cluster that the kernel has killed a process of the restart for
// its memory; the script may continue or exit.
func (r *Restart) OutOfMemory() {
	r.cluster.do(func() { r.restart.oom = true })
}

// StepStarted tells the cluster that srun has started a step, and returns its
// number.
func (r *Restart) StepStarted(name string) int {
	number := 0
	r.cluster.do(func() {
		number = len(r.restart.steps)
		r.restart.steps = append(r.restart.steps, &step{number: number, name: name, state: slurm.Running, start: r.cluster.clock.now})
	})
	return number
}

// StepEnded tells the cluster how a step has ended.
func (r *Restart) StepEnded(number int, state slurm.State, exit slurm.ExitCode) {
	r.cluster.do(func() {
		s := r.restart.steps[number]
		s.state, s.exit, s.end = state, exit, r.cluster.clock.now
	})
}

// describe returns a restart as a launcher sees it.
func (c *Cluster) describe(r *restart) *Restart {
	j := r.job
	d := &Restart{
		ID: j.id(), Number: r.number, Name: j.name, User: j.user, Script: j.script, Dir: j.dir,
		Append: j.appendOutput || r.number > 0, CPUs: j.need(r.nodes[0]).cpus, Memory: j.need(r.nodes[0]).memory,
		Deadline: r.limit, cluster: c, restart: r,
	}
	for _, n := range r.nodes {
		d.Nodes = append(d.Nodes, n.Name)
	}
	output := j.output
	if output == "" {
		output = "slurm-%j.out"
	}
	d.Output = inDir(j.dir, r.fill(output))
	if j.stderr != "" {
		d.Error = inDir(j.dir, r.fill(j.stderr))
	}
	d.Env = append(append([]string(nil), j.env...), r.variables(c.opts.Name)...)
	return d
}

// fill replaces the patterns in the name of a file.
func (r *restart) fill(pattern string) string {
	out := make([]byte, 0, len(pattern))
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' || i+1 == len(pattern) {
			out = append(out, pattern[i])
			continue
		}
		i++
		switch pattern[i] {
		case 'j', 'A':
			out = strconv.AppendInt(out, r.job.number, 10)
		case 'x':
			out = append(out, r.job.name...)
		case 'u':
			out = append(out, r.job.user...)
		case 'N':
			out = append(out, r.nodes[0].Name...)
		case 'n', 't':
			out = append(out, '0')
		default:
			out = append(out, pattern[i])
		}
	}
	return string(out)
}

// variables returns the variables that Slurm 22.05 sets for a batch script.
func (r *restart) variables(cluster string) []string {
	j := r.job
	need := j.need(r.nodes[0])
	env := []string{
		"SLURM_CLUSTER_NAME=" + cluster,
		fmt.Sprintf("SLURM_JOB_ID=%d", j.number),
		fmt.Sprintf("SLURM_JOBID=%d", j.number),
		"SLURM_JOB_NAME=" + j.name,
		"SLURM_JOB_PARTITION=" + j.partition,
		"SLURM_JOB_ACCOUNT=" + j.account,
		"SLURM_JOB_QOS=" + j.qos,
		"SLURM_JOB_USER=" + j.user,
		fmt.Sprintf("SLURM_JOB_UID=%d", j.uid),
		fmt.Sprintf("SLURM_JOB_NUM_NODES=%d", len(r.nodes)),
		fmt.Sprintf("SLURM_NNODES=%d", len(r.nodes)),
		"SLURM_JOB_NODELIST=" + r.nodeList(),
		"SLURM_NODELIST=" + r.nodeList(),
		"SLURMD_NODENAME=" + r.nodes[0].Name,
		"SLURM_NODEID=0", "SLURM_PROCID=0", "SLURM_LOCALID=0",
		fmt.Sprintf("SLURM_CPUS_ON_NODE=%d", need.cpus),
		fmt.Sprintf("SLURM_JOB_CPUS_PER_NODE=%d", need.cpus),
		fmt.Sprintf("SLURM_MEM_PER_NODE=%d", need.memory/slurm.MiB),
		"SLURM_SUBMIT_DIR=" + j.dir,
		"SLURM_TASKS_PER_NODE=1",
	}
	if r.number > 0 {
		env = append(env, fmt.Sprintf("SLURM_RESTART_COUNT=%d", r.number))
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
