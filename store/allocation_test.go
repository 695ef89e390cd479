package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// intend stores an intent of the rig's workflow.
func (r *rig) intend(intent string) compute.Allocation {
	r.tb.Helper()
	a, err := r.Allocations.Intend(r.ctx, AllocationIntent{
		WorkflowID: r.workflow, RunID: 1, IntentID: intent, JobName: "torc:w.1.r1." + intent, SchedulerConfigID: new(int64(5)), Why: "2 jobs are ready",
		Request: compute.AllocationRequest{Nodes: 1, WalltimeS: 3600, Partition: "debug"}, SecretHash: []byte("hash of " + intent),
	})
	r.must(err)
	return a
}

// adopt records the Slurm job of an intent.
func (r *rig) adopt(intent string, job, restarts int64) compute.Allocation {
	r.tb.Helper()
	a, err := r.Allocations.Adopt(r.ctx, FoundJob{IntentID: intent, SlurmJobID: job, RestartCount: restarts})
	r.must(err)
	return a
}

// observe stores the observed state of an allocation.
func (r *rig) observe(o Observation) {
	r.tb.Helper()
	r.must(r.Allocations.Observe(r.ctx, []Observation{o}))
}

func (r *rig) allocation(id int64) compute.Allocation {
	r.tb.Helper()
	a, err := r.Allocations.Get(r.ctx, id)
	r.must(err)
	return a
}

// tryJoin registers a runner in an allocation.
func (r *rig) tryJoin(intent string, job, restarts int64) (*hand, error) {
	r.tb.Helper()
	answer, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, IntentID: intent, RegisterRequest: lease.RegisterRequest{
		Key: fmt.Sprintf("%s-%d-%d-%d", intent, job, restarts, len(r.changes)), Hostname: "n1", StartTime: "2026-11-21T10:00:00+00:00",
		NumCPUs: 8, MemoryBytes: 1 << 36, NumNodes: 1, NodeType: compute.SchedulerSlurm, MaxParallelJobs: 8,
		Allocation: &lease.AllocationMember{SlurmJobID: job, RestartCount: restarts},
	}})
	return &hand{rig: r, id: answer.RunnerID, free: lease.Free{Slots: 8}}, err
}

func (r *rig) join(intent string, job, restarts int64) *hand {
	r.tb.Helper()
	h, err := r.tryJoin(intent, job, restarts)
	r.must(err)
	return h
}

// start records that the first n leases of the runner run.
func (h *hand) start(n int) {
	h.tb.Helper()
	for i := range n {
		h.held[i].StartedMS = h.now.UnixMilli()
	}
	h.turn()
}

func (r *rig) scheduledStatus(id int64) string {
	r.tb.Helper()
	n, err := r.ScheduledComputeNodes.Get(r.ctx, id)
	r.must(err)
	return n.Status
}

func TestIntentIsStoredOnce(t *testing.T) {
	r := newRig(t, independent(1)...)
	a, again := r.intend("aa"), r.intend("aa")
	if diff := cmp.Diff(a, again); diff != "" {
		t.Errorf("the same intent again (-first +again):\n%s", diff)
	}
	if a.State != compute.AllocationIntent || a.SlurmJobID != 0 || a.AskedMS != r.now.UnixMilli() {
		t.Errorf("an intent is %+v", a)
	}
	_, err := r.Allocations.Intend(r.ctx, AllocationIntent{WorkflowID: r.workflow, RunID: 7, IntentID: "bb", JobName: "x"})
	if workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("an intent for another run: %v", err)
	}
	if _, err := r.Workflows.Cancel(r.ctx, r.workflow); err != nil {
		t.Fatal(err)
	}
	_, err = r.Allocations.Intend(r.ctx, AllocationIntent{WorkflowID: r.workflow, RunID: 1, IntentID: "bb", JobName: "x"})
	if workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("an intent for a canceled workflow: %v", err)
	}
}

func TestAdoptedOnce(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	if a.State != compute.AllocationPending || a.SlurmJobID != 17 || r.scheduledStatus(a.ScheduledComputeNodeID) != compute.ScheduledPending {
		t.Errorf("after sbatch: %+v", a)
	}
	if diff := cmp.Diff(a, r.adopt("aa", 17, 0)); diff != "" {
		t.Errorf("told again:\n%s", diff)
	}
	twin := r.adopt("aa", 18, 0)
	if !twin.IsDuplicate || twin.CancelMS == 0 || twin.ID == a.ID {
		t.Errorf("a second job of one intent: %+v", twin)
	}
	if diff := cmp.Diff(twin, r.adopt("aa", 18, 0)); diff != "" {
		t.Errorf("the second job told again:\n%s", diff)
	}
	if n := r.number(`SELECT COUNT(*) FROM scheduled_compute_node`); n != 1 {
		t.Errorf("torc's clients see %d allocations", n)
	}
	r.sound(check.Witness{})
}

// TestJobOfAbandonedIntentIsCanceled: a job that appears after its intent was abandoned is canceled.
func TestJobOfAbandonedIntentIsCanceled(t *testing.T) {
	r := newRig(t, independent(1)...)
	a := r.intend("aa")
	r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationNever, Confidence: workflow.Likely, Text: "never made"}))
	if late := r.adopt("aa", 17, 0); !late.IsDuplicate || late.CancelMS == 0 {
		t.Errorf("it is %+v", late)
	}
	if _, err := r.tryJoin("aa", 17, 0); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("its runner: %v", err)
	}
	r.sound(check.Witness{})
}

func TestObservations(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationPending, SlurmState: "PENDING", SlurmReason: "Priority"})
	start, limit := r.now.UnixMilli(), r.now.Add(time.Hour).UnixMilli()
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "RUNNING", NodeList: "n1", StartMS: start, LimitMS: limit})
	a = r.allocation(a.ID)
	if a.State != compute.AllocationActive || a.NodeList != "n1" || a.StartMS != start || r.scheduledStatus(a.ScheduledComputeNodeID) != compute.ScheduledActive {
		t.Errorf("active: %+v", a)
	}
	h := r.join("aa", 17, 0)
	if got := h.turn().EndTime; got != view.Rfc3339(limit) {
		t.Errorf("a runner that does not know its end is told %q", got)
	}
	limit = r.now.Add(2 * time.Hour).UnixMilli()
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "RUNNING", NodeList: "n1", StartMS: start, LimitMS: limit})
	if got := h.turn().EndTime; got != view.Rfc3339(limit) {
		t.Errorf("the runner is told that it ends at %q, want %q", got, view.Rfc3339(limit))
	}
	if want := []string{"allocation_asked", "scheduler_node_created", "allocation_submitted", "allocation_active", "compute_node_started"}; !slices.Equal(r.events(), want) {
		t.Errorf("events %q, want %q", r.events(), want)
	}
}

// TestRunnerIsFasterThanPolls: a runner's call shows which job an intent is and that it
// is active.
func TestRunnerIsFasterThanPolls(t *testing.T) {
	r := newRig(t, independent(2)...)
	a := r.intend("aa")
	h := r.join("aa", 17, 0)
	if got := r.allocation(a.ID); got.State != compute.AllocationActive || got.SlurmJobID != 17 {
		t.Errorf("it is %+v", got)
	}
	if n, err := r.ComputeNodes.Get(r.ctx, h.id); err != nil || *n.SchedulerConfigID != 5 ||
		string(n.Scheduler) != fmt.Sprintf(`{"scheduler_id":%d,"slurm_job_id":"17","type":"slurm"}`, r.allocation(a.ID).ScheduledComputeNodeID) {
		t.Errorf("the runner is %+v, %v", n, err)
	}
	// An earlier poll does not revert that.
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationPending, SlurmState: "PENDING"})
	if got := r.allocation(a.ID); got.State != compute.AllocationActive {
		t.Errorf("it is %s again", got.State)
	}
	// Another node of it, and the other job of the intent.
	r.join("aa", 17, 0)
	if _, err := r.tryJoin("aa", 18, 0); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("the second job of one intent: %v", err)
	}
	if n := r.number(`SELECT COUNT(*) FROM allocation WHERE is_duplicate = 1 AND cancel_ms > 0 AND slurm_job_id = 18`); n != 1 {
		t.Errorf("%d duplicates are to be canceled", n)
	}
	if _, err := r.tryJoin("zz", 19, 0); workflow.CodeOf(err) != workflow.CodeForbidden {
		t.Errorf("an intent that nobody has: %v", err)
	}
	r.sound(check.Witness{})
}

// TestRequeueIsAnotherLife has Slurm requeue an allocation in which a job runs.
func TestRequeueIsAnotherLife(t *testing.T) {
	for _, how := range []string{"seen in the queue", "told by its runner", "found after its end"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t, independent(2)...)
			r.intend("aa")
			first := r.adopt("aa", 17, 0)
			h := r.join("aa", 17, 0)
			h.turn()
			h.start(1)
			preempted := compute.AllocationEnd{Cause: compute.AllocationPreempted, Confidence: workflow.Certain, Text: "preempted",
				Slurm: workflow.SlurmEvidence{JobState: "PREEMPTED"}}
			switch how {
			case "seen in the queue":
				r.observe(Observation{AllocationID: first.ID, State: compute.AllocationPending, SlurmState: "PENDING", RestartCount: 1})
				r.observe(Observation{AllocationID: first.ID, State: compute.AllocationPending, SlurmState: "PENDING", RestartCount: 1})
			case "told by its runner":
				r.join("aa", 17, 1)
			case "found after its end":
				r.must(r.Allocations.End(r.ctx, first.ID, preempted))
				r.adopt("aa", 17, 1)
			}
			live, err := r.Allocations.Live(r.ctx)
			r.must(err)
			second := live[len(live)-1]
			if second.RestartCount != 1 || second.SlurmJobID != 17 || second.ID == first.ID || r.allocation(first.ID).SupersededMS == 0 {
				t.Fatalf("the second life is %+v", second)
			}
			if _, err := r.tryJoin("aa", 17, 0); workflow.CodeOf(err) != workflow.CodeConflict {
				t.Errorf("another runner of the first life: %v", err)
			}
			if found, err := r.Allocations.OfSecret(r.ctx, []byte("hash of aa")); err != nil || found.ID != second.ID {
				t.Errorf("the secret leads to %d, %v", found.ID, err)
			}
			r.must(r.Allocations.End(r.ctx, first.ID, preempted))
			r.want(workflow.Ready, workflow.Ready)
			if n := r.number(`SELECT COUNT(*) FROM allocation WHERE is_duplicate = 0`); n != 2 {
				t.Errorf("there are %d lives", n)
			}
			r.join("aa", 17, 1)
			r.sound(check.Witness{})
		})
	}
}

// TestEndAllocation has an allocation end in which one job runs and another is only
// claimed.
func TestEndAllocation(t *testing.T) {
	for _, tc := range []struct {
		name    string
		end     compute.AllocationEnd
		running workflow.JobStatus // what becomes of the running job
		cause   workflow.CauseKind
		counted int64
		torc    string
		delayed bool
	}{
		{"preempted", compute.AllocationEnd{Cause: compute.AllocationPreempted, Slurm: workflow.SlurmEvidence{JobState: "PREEMPTED"}},
			workflow.Ready, workflow.CausePreempted, 0, compute.ScheduledComplete, false},
		{"canceled by us", compute.AllocationEnd{Cause: compute.AllocationCanceled, Slurm: workflow.SlurmEvidence{JobState: "CANCELLED", CanceledByUs: true}},
			workflow.Ready, workflow.CausePreempted, 0, compute.ScheduledCanceled, false},
		{"canceled by its owner", compute.AllocationEnd{Cause: compute.AllocationCanceledUser, Slurm: workflow.SlurmEvidence{JobState: "CANCELLED", CanceledBy: "7", Owner: "7"}},
			workflow.Canceled, workflow.CauseCanceledUser, 0, compute.ScheduledCanceled, false},
		{"canceled by root", compute.AllocationEnd{Cause: compute.AllocationCanceledAdmin, Slurm: workflow.SlurmEvidence{JobState: "CANCELLED", CanceledBy: "0", Owner: "7"}},
			workflow.Canceled, workflow.CauseCanceledAdmin, 0, compute.ScheduledCanceled, false},
		{"out of time", compute.AllocationEnd{Cause: compute.AllocationWalltime, Slurm: workflow.SlurmEvidence{JobState: "TIMEOUT"}},
			workflow.Terminated, workflow.CauseWalltime, 0, compute.ScheduledComplete, false},
		{"out of memory", compute.AllocationEnd{Cause: compute.AllocationOOM, Slurm: workflow.SlurmEvidence{JobState: "OUT_OF_MEMORY"}},
			workflow.Failed, workflow.CauseOOM, 0, compute.ScheduledComplete, false},
		{"node failed", compute.AllocationEnd{Cause: compute.AllocationNodeFail, Slurm: workflow.SlurmEvidence{JobState: "NODE_FAIL"}},
			workflow.Ready, workflow.CauseNodeFail, 1, compute.ScheduledComplete, true},
		{"its runner died", compute.AllocationEnd{Cause: compute.AllocationFailed, Slurm: workflow.SlurmEvidence{JobState: "FAILED"}},
			workflow.Ready, workflow.CauseLost, 1, compute.ScheduledComplete, false},
		{"nobody knows", compute.AllocationEnd{Cause: compute.AllocationLost}, workflow.Ready, workflow.CauseLost, 1, compute.ScheduledComplete, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, independent(2)...)
			a := r.intend("aa")
			h := r.join("aa", 17, 0)
			h.turn()
			h.start(1)
			tc.end.Confidence, tc.end.Text = workflow.Certain, "it is over"
			r.must(r.Allocations.End(r.ctx, a.ID, tc.end))
			r.want(tc.running, workflow.Ready)
			if n := r.number(`SELECT COUNT(*) FROM attempt WHERE cause = ?`, string(tc.cause)); n != 1 || r.number(`SELECT COUNT(*) FROM attempt`) != 1 {
				t.Errorf("%d of %d attempts are %s", n, r.number(`SELECT COUNT(*) FROM attempt`), tc.cause)
			}
			if n := r.number(`SELECT counted_failures FROM job WHERE id = ?`, r.ids[0]); n != tc.counted {
				t.Errorf("%d failures count, want %d", n, tc.counted)
			}
			if delayed := r.number(`SELECT not_before_ms > 0 FROM job WHERE id = ?`, r.ids[0]) == 1; delayed != tc.delayed {
				t.Errorf("it waits for processes that may still run: %t, want %t", delayed, tc.delayed)
			}
			a = r.allocation(a.ID)
			if a.State != compute.AllocationEnded || a.Cause != tc.end.Cause || r.scheduledStatus(a.ScheduledComputeNodeID) != tc.torc {
				t.Errorf("the allocation is %s (%s), torc's row %s", a.State, a.Cause, r.scheduledStatus(a.ScheduledComputeNodeID))
			}
			before := r.events()
			r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationLost}))
			r.observe(Observation{AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "RUNNING"})
			if got := r.allocation(a.ID); !cmp.Equal(got, a) || !slices.Equal(r.events(), before) {
				t.Error("what had ended has changed")
			}
			if answer := h.turn(); !answer.Has(lease.OrderStop) {
				t.Error("its runner is not told to stop")
			}
			r.sound(check.Witness{})
		})
	}
}

func TestCancelIsRecordedFirst(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	r.must(r.Allocations.RecordCancel(r.ctx, []int64{a.ID}))
	if r.allocation(a.ID).CancelTries != 0 {
		t.Error("scancel was noted that nobody has decided on")
	}
	n, err := r.Allocations.RequestCancel(r.ctx, []int64{a.ID}, "no work is left")
	r.must(err)
	again, err := r.Allocations.RequestCancel(r.ctx, []int64{a.ID}, "another reason")
	r.must(err)
	if a = r.allocation(a.ID); n != 1 || again != 0 || a.CancelWhy != "no work is left" || a.CancelSentMS != 0 {
		t.Errorf("decided %d and %d times: %+v", n, again, a)
	}
	if !slices.ContainsFunc(r.changes, func(c Changes) bool { return c.Cancels }) {
		t.Error("nobody is told")
	}
	if _, err := r.tryJoin("aa", 17, 0); workflow.CodeOf(err) != workflow.CodeConflict || !strings.Contains(err.Error(), "no work is left") {
		t.Errorf("its runner: %v", err)
	}
	r.must(r.Allocations.RecordCancel(r.ctx, []int64{a.ID}))
	if a = r.allocation(a.ID); a.CancelSentMS == 0 || a.CancelTries != 1 {
		t.Errorf("after scancel: %+v", a)
	}
}

// A scancel affects the restart that Slurm's job is in by then: its end is caused by us.
func TestCancelOfAJobThatIsRequeued(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	_, err := r.Allocations.RequestCancel(r.ctx, []int64{a.ID}, "no work is left")
	r.must(err)
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationPending, RestartCount: 1, SlurmState: "PENDING"})
	r.must(r.Allocations.RecordCancel(r.ctx, []int64{a.ID}))
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationPending, RestartCount: 2, SlurmState: "PENDING"})
	if n := r.number(`SELECT COUNT(*) FROM allocation WHERE slurm_job_id = 17 AND cancel_sent_ms != 0`); n != 3 {
		t.Errorf("%d lives are known to be canceled by us, want 3", n)
	}
}

// TestWorkflowLetsGo cancels and deletes a workflow that has an allocation.
func TestWorkflowLetsGo(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	pending := r.adopt("aa", 17, 0)
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	if a := r.allocation(pending.ID); a.CancelMS == 0 {
		t.Error("canceled: the allocation is not to be")
	}
	r.sound(check.Witness{})
	_, err = r.Workflows.Delete(r.ctx, r.workflow, false)
	r.must(err)
	live, err := r.Allocations.Live(r.ctx)
	r.must(err)
	if len(live) != 1 || live[0].SlurmJobID != 17 {
		t.Fatalf("deleted: what Slurm still has is forgotten: %v", live)
	}
	r.observe(Observation{AllocationID: pending.ID, State: compute.AllocationActive, SlurmState: "COMPLETING", RestartCount: 1})
	for _, a := range append(live, compute.Allocation{ID: pending.ID + 1}) {
		if err := r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationCanceled, Text: "canceled"}); err != nil {
			t.Error(err)
		}
	}
	if n := r.number(`SELECT COUNT(*) FROM allocation`); n != 0 {
		t.Errorf("%d allocations are left of a deleted workflow", n)
	}
	r.sound(check.Witness{})
}

func TestAllocationIsWork(t *testing.T) {
	r := newRig(t, independent(1)...)
	a := r.intend("aa")
	if open, err := r.Workflows.HaveOpenWork(r.ctx); err != nil || !open {
		t.Errorf("with an intent: %t, %v", open, err)
	}
	r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationRefused, Refusal: "limit", Text: "AssocMaxSubmitJobLimit"}))
	if open, err := r.Workflows.HaveOpenWork(r.ctx); err != nil || open {
		t.Errorf("after its end: %t, %v", open, err)
	}
	state := compute.AllocationEnded
	list, total, err := r.Allocations.List(r.ctx, AllocationFilter{WorkflowID: r.workflow, State: &state}, sqlite.Page{Limit: 10})
	if err != nil || total != 1 || list[0].Refusal != "limit" {
		t.Errorf("%d ended: %v, %v", total, list, err)
	}
	if list, _, err := r.Allocations.List(r.ctx, AllocationFilter{WorkflowID: r.workflow, Live: true}, sqlite.Page{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("live: %v, %v", list, err)
	}
}
