package store

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// newSilent is a rig with a job that runs in an allocation, and has a policy for a runner
// that has been silent for five minutes.
func newSilent(t *testing.T, policy workflow.TimeoutPolicy) (*rig, compute.Allocation, *hand) {
	t.Helper()
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Heartbeat: limit("5m", policy)})
	a := r.intend("aa")
	h := r.join("aa", 17, 0)
	h.turn()
	h.start(1)
	return r, a, h
}

// A runner in an allocation may still run its jobs: they keep their leases until Slurm
// has ended it.
func TestHeartbeatTimeoutsInAllocations(t *testing.T) {
	for _, tc := range []struct {
		policy workflow.TimeoutPolicy
		want   workflow.JobStatus
		cause  string
	}{
		{workflow.OnTimeoutRetry, workflow.Ready, "lost"},
		{workflow.OnTimeoutFail, workflow.Failed, "lost"},
		{workflow.OnTimeoutFailWorkflow, workflow.Failed, "lost"},
		{workflow.OnTimeoutAlert, workflow.Ready, "preempted"},
	} {
		t.Run(string(tc.policy), func(t *testing.T) {
			r, a, h := newSilent(t, tc.policy)
			for range 2 {
				_, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, 6*time.Minute)
				r.must(err)
			}
			r.want(workflow.Running)
			why := r.allocation(a.ID).CancelWhy
			if tc.policy != workflow.OnTimeoutAlert && !strings.Contains(why, "timeouts.heartbeat") {
				t.Errorf("the allocation is canceled for %q", why)
			} else if tc.policy == workflow.OnTimeoutAlert && why != "" {
				t.Errorf("the allocation is canceled: %s", why)
			}
			r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationCanceled, Confidence: workflow.Certain,
				Slurm: workflow.SlurmEvidence{JobState: "CANCELLED", Reason: why, CanceledByUs: true}}))
			r.want(tc.want)
			if n := r.number(`SELECT COUNT(*) FROM attempt WHERE cause = ?`, tc.cause); n != 1 {
				t.Errorf("%d attempts ended by %s", n, tc.cause)
			}
			if delay := r.number(`SELECT not_before_ms FROM job`) - r.now.UnixMilli(); tc.want == workflow.Ready && delay > 0 {
				t.Errorf("the next attempt waits for %d ms for one that is gone", delay)
			}
			r.sound(check.Witness{})
		})
	}
}

// Slurm continues a stopped runner before it ends it: what the runner then reports is the
// end of the same attempt.
func TestHeartbeatTimeoutIsReported(t *testing.T) {
	canceled := &workflow.SlurmEvidence{JobState: failure.Cancelled}
	for name, tc := range map[string]struct {
		policy   workflow.TimeoutPolicy
		evidence workflow.Evidence
		want     workflow.JobStatus
	}{
		"told by Slurm": {workflow.OnTimeoutRetry, workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain, Slurm: canceled}, workflow.Ready},
		"told by us":    {workflow.OnTimeoutFail, workflow.Evidence{Signal: 15, KilledBy: workflow.KilledBySibling}, workflow.Failed},
		"told by both":  {workflow.OnTimeoutFail, workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain, Slurm: canceled}, workflow.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			r, a, h := newSilent(t, tc.policy)
			_, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, 6*time.Minute)
			r.must(err)
			r.must(r.Allocations.RecordCancel(r.ctx, []int64{a.ID}))
			h.free.Slots = 0
			h.turn(lease.Report{LeaseRef: h.held[0].LeaseRef, StartedMS: r.now.UnixMilli(), EndedMS: r.now.UnixMilli() + 1000, Evidence: tc.evidence})
			r.want(tc.want)
			if n := r.number(`SELECT COUNT(*) FROM attempt WHERE cause = 'lost' AND cause_text LIKE '%timeouts.heartbeat%'`); n != 1 {
				t.Error("the attempt did not end by the silence of its runner")
			}
			r.sound(check.Witness{})
		})
	}
}

// A runner that Slurm has suspended need not call.
func TestHeartbeatWhileSuspended(t *testing.T) {
	r, a, h := newSilent(t, "")
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "SUSPENDED"})
	if n, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, time.Hour); n != 0 || err != nil || r.allocation(a.ID).CancelMS != 0 {
		t.Errorf("%d jobs, %v", n, err)
	}
}
