package allocation

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// drained is the report of a runner that has ended an attempt because it had to leave.
func (w *world) drained(ref lease.LeaseRef) lease.TurnRequest {
	return lease.TurnRequest{Turn: 3, RunID: w.workflow.RunID, Reports: []lease.Report{{
		LeaseRef: ref, StartedMS: w.now.UnixMilli(), EndedMS: w.now.UnixMilli(),
		Evidence: workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain},
	}}}
}

// wantCause checks how the first attempt of the first job ended.
func (w *world) wantCause(cause workflow.CauseKind, confidence workflow.Confidence) {
	w.Helper()
	all, err := w.store.Jobs.Attempts(w.Context(), w.jobs[0])
	w.must(err)
	if c := all[0].Cause; c.Kind != cause || c.Confidence != confidence {
		w.Errorf("the attempt ended by %+v, want %s (%s)", c, cause, confidence)
	}
}

// TestPreemptionIsKnownEarly: a runner that leaves because its end was moved forward does
// not report a preemption; the daemon knows of it.
func TestPreemptionIsKnownEarly(t *testing.T) {
	w := newWorld(t, 1, func(o *slurmtest.Options) {
		o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "CANCEL", GraceTime: 2 * time.Minute}}
	})
	a := w.submit()
	refs := w.work(w.scripts[0], 1)
	w.pollOnce()
	w.scripts[0].ignoresTerm = true // only steps are told
	w.cluster.Preempt(slurm.JobID{Number: a.SlurmJobID})
	w.pollOnce()
	_, err := w.store.Runners.Turn(t.Context(), w.scripts[0].runner, w.drained(refs[0]))
	w.must(err)
	w.wantCause(workflow.CausePreempted, workflow.Likely)
	w.sound()
}

// TestNodeFailIsKnownBeforeTheOrder: a runner was ordered to stop because Slurm considers
// its node failed; its reports count as failures of the node.
func TestNodeFailIsKnownBeforeTheOrder(t *testing.T) {
	w := newWorld(t, 1)
	w.submit()
	refs := w.work(w.scripts[0], 1)
	w.pollOnce()
	w.cluster.KillNode(w.scripts[0].Nodes[0], false)
	w.ordered = func(int64) {
		_, err := w.store.Runners.Turn(t.Context(), w.scripts[0].runner, w.drained(refs[0]))
		w.must(err)
		w.ordered = nil
	}
	w.run(4 * time.Minute)
	w.wantCause(workflow.CauseNodeFail, workflow.Certain)
	w.sound()
}

// TestSpoolKnowsTheEnd: spooled reports are judged by how the allocation ended.
func TestSpoolKnowsTheEnd(t *testing.T) {
	w := newWorld(t, 1, func(o *slurmtest.Options) {
		o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "CANCEL"}}
	})
	a := w.submit()
	refs := w.work(w.scripts[0], 1)
	w.spool = func([]store.AllocationRunner) error {
		_, err := w.store.Runners.Turn(t.Context(), w.scripts[0].runner, w.drained(refs[0]))
		return err
	}
	w.cluster.Preempt(slurm.JobID{Number: a.SlurmJobID})
	w.run(3 * time.Minute)
	w.ended(a, compute.AllocationPreempted)
	w.wantCause(workflow.CausePreempted, workflow.Certain)
	w.sound()
}

// TestOneEmptyQueue: squeue wrongly shows nothing, while sacct already says that the
// allocation is over, and its runner is still ending its jobs.
func TestOneEmptyQueue(t *testing.T) {
	empty := func(o slurm.Output) slurm.Output { // only the header
		heading, _, _ := strings.Cut(string(o.Stdout), "\n")
		return slurm.Output{Stdout: []byte(heading + "\n")}
	}
	for name, tc := range map[string]struct {
		end   func(w *world, id slurm.JobID)
		cause compute.AllocationCause
	}{
		"canceled":  {func(w *world, id slurm.JobID) { w.cluster.CancelAs(0, id) }, compute.AllocationCanceledAdmin},
		"preempted": {func(w *world, id slurm.JobID) { w.cluster.Preempt(id) }, compute.AllocationPreempted},
		"requeued":  {func(w *world, id slurm.JobID) { w.cluster.Requeue(id) }, compute.AllocationRequeued},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, func(o *slurmtest.Options) {
				o.KillWait, o.Partitions = 30*time.Second, []slurmtest.Partition{{Name: "debug", PreemptMode: "CANCEL"}}
			})
			w.loop.submitter.script.Requeue = true
			a := w.submit()
			w.work(w.scripts[0], 1)
			w.pollOnce()
			w.scripts[0].ignoresTerm = true
			tc.end(w, slurm.JobID{Number: a.SlurmJobID})
			w.cluster.Inject(slurmtest.Fault{Program: slurm.Squeue, Done: true, Times: 1, Answer: empty})
			for !w.scripts[0].over {
				w.pollOnce()
				if first := w.allocations()[0]; first.State == compute.AllocationEnded && !w.scripts[0].over {
					t.Fatalf("it ended with a job in it: %s (%s)", first.Cause, first.CauseText)
				}
				w.advance(5 * time.Second)
			}
			w.run(2 * time.Minute)
			w.ended(a, tc.cause)
			w.sound()
		})
	}
}
