package slurmtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// refusal is the output of a program that writes an error and fails.
func refusal(text string) slurm.Output {
	return slurm.Output{Stderr: []byte(text + "\n"), ExitCode: 1}
}

// failed is the rejection of a job for a reason.
func failed(text string) slurm.Output {
	return refusal("sbatch: error: Batch job submission failed: " + text)
}

// overLimit is the rejection that names a limit.
func overLimit(name string) slurm.Output {
	return refusal("sbatch: error: " + name + "\nsbatch: error: Batch job submission failed: " +
		"Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")
}

// sbatch accepts jobs into the queue.
type sbatch struct {
	clock      *timeline
	queue      *queue
	scheduler  *scheduler
	partitions partitions
	accounts   map[string]string // to the QOS of their jobs
	qos        map[string]Limits
}

// run accepts a job, or returns why it does not.
func (s sbatch) run(cmd slurm.Command, user string, uid int) slurm.Output {
	r := request{requeue: true, nodes: 1, cpusPerTask: 1, memory: -1, dir: cmd.Dir, env: cmd.Env, script: cmd.Stdin}
	fromScript := r
	rest, err := r.parseOptions(cmd.Args)
	if err != nil {
		return refusal(err.Error())
	}
	name := "sbatch"
	switch {
	case r.wrap != "":
		name, r.script = "wrap", []byte("#!/bin/sh\n"+r.wrap+"\n")
	case len(rest) > 0:
		name = filepath.Base(rest[0])
		if r.script, err = os.ReadFile(inDir(cmd.Dir, rest[0])); err != nil {
			return refusal("sbatch: error: Unable to open file " + rest[0])
		}
	}
	switch {
	case len(r.script) == 0:
		return refusal("sbatch: error: Batch script is empty!")
	case len(r.script) < 2 || string(r.script[:2]) != "#!":
		return refusal("sbatch: error: This does not look like a batch script.  The first\nsbatch: error: line must start with #! followed by the path to an interpreter.")
	}
	// Arguments override directives, so the directives go first.
	merged := fromScript
	merged.script = r.script
	if _, err := merged.parseOptions(append(directives(r.script), cmd.Args...)); err != nil {
		return refusal(err.Error())
	}
	if merged.name == "" {
		merged.name = name
	}
	out := s.accept(merged, user, uid)
	if merged.testOnly {
		out.Stderr = bytes.ReplaceAll(out.Stderr, []byte("sbatch: error: Batch job submission failed: "), []byte("allocation failure: "))
	}
	return out
}

// accept makes a job of a request if the cluster can run it.
func (s sbatch) accept(r request, user string, uid int) slurm.Output {
	if out, ok := s.complete(&r); !ok {
		return out
	}
	if r.reservation != "" {
		switch known := s.scheduler.reservation(r.reservation); {
		case known == nil:
			return failed("Requested reservation is invalid")
		case !known.allows(user, r.account):
			return failed("Access denied to requested reservation")
		}
	}
	limits := s.qos[r.qos]
	if limits.MaxWall > 0 && r.time > limits.MaxWall {
		return overLimit("QOSMaxWallDurationPerJobLimit")
	}
	if limits.MaxSubmitPerUser > 0 && s.queue.submitted(user, r.qos) >= limits.MaxSubmitPerUser {
		return overLimit("QOSMaxSubmitJobPerUserLimit")
	}
	j := &job{
		request: r, user: user, uid: uid, submit: s.clock.now, eligible: s.clock.now.Add(r.begin),
		state: slurm.Pending, held: r.held, canceler: -1,
	}
	if j.cpusPerNode() > s.scheduler.nodes.mostCPUs() {
		return failed("More processors requested than permitted")
	}
	if s.scheduler.place(j, (*node).whole) == nil {
		return failed("Requested node configuration is not available")
	}
	if r.testOnly {
		return s.test(j)
	}
	s.queue.add(j)
	s.clock.after(r.begin, func() {})
	return slurm.Output{Stdout: fmt.Appendf(nil, "%d\n", j.number)}
}

// test answers --test-only: when the job would start. Slurm refuses a job that could not
// start on an empty cluster now, because its nodes are down or reserved.
func (s sbatch) test(j *job) slurm.Output {
	if s.scheduler.place(j, s.scheduler.admitting(j, (*node).usable)) == nil {
		if r := s.scheduler.reservation(j.reservation); r != nil && s.clock.now.Before(r.Start) {
			return failed("Invalid time specified")
		}
		return failed("Requested node configuration is not available")
	}
	found, ok := s.scheduler.plan(j).jobs[j]
	if !ok {
		return failed("Requested node configuration is not available")
	}
	names := make([]string, len(found.nodes))
	for i, n := range found.nodes {
		names[i] = n.Name
	}
	return slurm.Output{Stderr: fmt.Appendf(nil, "sbatch: Job %d to start at %s using %d processors on nodes %s in partition %s\n",
		s.queue.lastID+1, stamp(found.start), j.cpusPerNode()*j.nodes, slurm.JoinNodes(names), j.partition)}
}

// complete fills in defaults and checks names and the time limit; false if one of them is
// wrong.
func (s sbatch) complete(r *request) (slurm.Output, bool) {
	p, ok := s.partitions.named(r.partition)
	if !ok {
		return failed("Invalid partition name specified"), false
	}
	r.partition = p.Name
	if r.account == "" {
		r.account = DefaultAccount
	}
	qos, ok := s.accounts[r.account]
	if !ok {
		return failed("Invalid account or account/partition combination specified"), false
	}
	if r.qos == "" {
		r.qos = qos
	}
	if r.qos != qos {
		return failed("Invalid qos specification"), false
	}
	if r.time == 0 {
		r.time = p.DefaultTime
	}
	if r.time > p.MaxTime {
		return failed("Requested time limit is invalid (missing or exceeds some limit)"), false
	}
	if r.memory < 0 {
		if r.memoryPerCPU == 0 {
			r.memoryPerCPU = 256 * slurm.MiB
		}
		r.memory = r.memoryPerCPU * int64(r.cpusPerNode())
	}
	return slurm.Output{}, true
}

func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
