package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// shape describes allocations of two CPUs of a node. In partitions whose jobs can be
// preempted they use so much of its memory that the preempting job has no other choice.
// Without a node, Slurm chooses: repeated jobs may have to avoid one.
func shape(partition, node string, walltime time.Duration) string {
	memory := "700M"
	if partition != "debug" {
		memory = "2500M"
	}
	extra := "--cpus-per-task=2"
	if node != "" {
		extra += " --nodelist=" + node
	}
	return fmt.Sprintf("slurm_schedulers: [{name: s, account: research, partition: %s, mem: %s, nodes: 1, walltime: %q, extra: %q}]\n",
		partition, memory, slurm.FormatDuration(walltime), extra)
}

// sweep is n jobs that run for so many seconds, and what they do when told to end.
func sweep(n, seconds int, manner string) string {
	return fmt.Sprintf(`resource_requirements: [{name: small, num_cpus: 1, memory: 100m, runtime: PT%dS}]
compute_node_wait_for_new_jobs_seconds: 0
parameters: {i: "1:%d"}
jobs: [{name: "job{i}", command: "./job.sh %d %s", resource_requirements: small, use_parameters: [i]}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: s, max_ready_age: PT1S, max_submit_per_minute: 30}]
`, seconds, n, seconds, manner)
}

// preempt has a job of higher priority occupy a node for so many seconds.
func (w *world) preempt(node string, seconds int) slurm.JobID {
	w.t.Helper()
	job, err := w.user.Submit(w.t.Context(), slurm.Submission{Dir: w.dir, Script: []byte(fmt.Sprintf(
		"#!/bin/bash\n#SBATCH --job-name=%s-preemptor --account=research --partition=debug --nodelist=%s --mem=2500M --output=/dev/null\nsleep %d\n",
		w.name(), node, seconds))})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.root.Cancel(context.WithoutCancel(w.t.Context()), job.ID) })
	return job.ID
}

// TestPreemptionByRequeue: the daemon polls so rarely that Slurm ends the runner before
// the daemon notices, and starts it again later. No other allocation is requested, and
// the repeated jobs run there.
func TestPreemptionByRequeue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t), "requeue=true", "poll_interval_secs=600")
	id := w.submit(shape("standby", "n1", 10*time.Minute) + sweep(6, 8, ""))
	before := w.untilRunning(id, 2)
	w.preempt("n1", 4)
	w.eventually(patience, "Slurm requeues the allocation", func() bool {
		return hasAllocation(w.allocations(id), func(a api.Allocation) bool { return a.SlurmJobID == before.SlurmJobID && a.RestartCount > 0 })
	})
	w.settle(id, nil)
	w.expectSubmissions(1)
	w.expectPreempted(before.ID)
	w.expectAttempts(id, "preempted")
}

// TestPreemptionWithAnActionAlone: an allocation that is requested once, at the start, is
// requested again after a preemption.
func TestPreemptionWithAnActionAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	jobs, _, _ := strings.Cut(sweep(4, 15, ""), "actions:")
	id := w.submit(shape("standby", "n3", 10*time.Minute) + jobs +
		"actions: [{trigger_type: on_workflow_start, action_type: schedule_nodes, scheduler: s, scheduler_type: slurm, num_allocations: 1}]\n")
	before := w.untilRunning(id, 2)
	w.preempt("n3", 4)
	w.settle(id, nil)
	w.expectPreempted(before.ID)
	w.expectAttempts(id, "preempted")
	w.expectReplaced(id)
}

// TestPreemptionWithoutRequeue and TestPreemptionByCancel: the runner learns that its end
// is near and leaves within the grace time; the daemon requests another allocation.
func TestPreemptionWithoutRequeue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("standby", "n2", 10*time.Minute) + sweep(4, 15, ""))
	before := w.untilRunning(id, 2)
	w.preempt("n2", 4)
	w.settle(id, nil)
	w.expectPreempted(before.ID)
	w.expectAttempts(id, "preempted")
}

func TestPreemptionByCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("scavenge", "n3", 10*time.Minute) + sweep(4, 15, ""))
	before := w.untilRunning(id, 2)
	w.preempt("n3", 4)
	w.settle(id, nil)
	w.expectPreempted(before.ID)
	w.expectAttempts(id, "preempted")
}

// TestPreemptionOfSteps: Slurm signals the steps itself.
func TestPreemptionOfSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit("execution_config: {mode: slurm}\n" + shape("standby", "", 10*time.Minute) + sweep(4, 15, ""))
	before := w.untilRunning(id, 2)
	w.eventually(patience, "its node is known", func() bool {
		return hasAllocation(w.allocations(id), func(a api.Allocation) bool {
			before = a
			return a.NodeList != ""
		})
	})
	w.preempt(before.NodeList, 4)
	w.settle(id, nil)
	w.expectPreempted(before.ID)
	w.expectAttempts(id, "preempted")
}

// TestPreemptionBeforeTheFirstClaim: the runner finds no daemon until it is preempted.
func TestPreemptionBeforeTheFirstClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	first := w.preempt("n4", 300)
	id := w.submit(shape("scavenge", "n4", 10*time.Minute) + sweep(2, 3, ""))
	job := w.allocations(id)[0].SlurmJobID
	w.killDaemon()
	if err := w.user.Cancel(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.eventually(patience, "the allocation runs", func() bool { return w.slurmState(job) == slurm.Running })
	w.preempt("n4", 4)
	w.eventually(patience, "it is preempted", func() bool { return w.slurmState(job).Over() })
	w.startDaemon()
	w.settle(id, nil)
	w.expectOneAttempt(id)
	w.expectPreempted(w.allocations(id)[0].ID)
}

func hasAllocation(all []api.Allocation, is func(api.Allocation) bool) bool {
	for _, a := range all {
		if is(a) {
			return true
		}
	}
	return false
}

// expectPreempted checks that an allocation was preempted.
func (w *world) expectPreempted(allocation int64) {
	w.t.Helper()
	if a := w.allocation(allocation); a.Cause != "preempted" {
		w.t.Errorf("the allocation ended by %s (%s): %s", a.Cause, a.Confidence, a.CauseText)
	}
}

// expectReplaced checks that each allocation but the last was preempted, by this test or
// by jobs of others, and was requested again once.
func (w *world) expectReplaced(id int64) {
	w.t.Helper()
	all := w.allocations(id)
	if len(all) < 2 {
		w.t.Fatalf("%d allocations, want another one", len(all))
	}
	for _, a := range all[:len(all)-1] {
		w.expectPreempted(a.ID)
	}
	w.expectSubmissions(len(all))
}

// expectAttempts checks that some job has an attempt that ended by a cause, and that
// `why` says so.
func (w *world) expectAttempts(id int64, cause string) {
	w.t.Helper()
	for _, j := range w.allJobs(id) {
		attempts, err := w.client.Jobs.Attempts(w.t.Context(), *j.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, x := range attempts {
			if x.Cause == cause {
				w.expectWhy(id, j.Name, cause)
				return
			}
		}
	}
	w.t.Errorf("no attempt ended by %s", cause)
	for _, j := range w.allJobs(id) {
		w.t.Log(w.why(*j.ID))
	}
}
