package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/fleet"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestTheRunnerSaysWhenItEnds: what an allocation can run is known before Slurm is polled
// again.
func TestTheRunnerSaysWhenItEnds(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	end := r.now.Add(time.Hour).Truncate(time.Second)
	_, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, IntentID: "aa", RegisterRequest: lease.RegisterRequest{
		Key: "first", Hostname: "n1", EndTime: end.Format(time.RFC3339), NumNodes: 1, NodeType: compute.SchedulerSlurm,
		Allocation: &lease.AllocationMember{SlurmJobID: 17},
	}})
	r.must(err)
	if got := r.allocation(a.ID); got.State != compute.AllocationActive || got.LimitMS != end.UnixMilli() {
		t.Errorf("%s until %d, want active until %d", got.State, got.LimitMS, end.UnixMilli())
	}
	limit := end.Add(time.Hour).UnixMilli()
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "RUNNING", LimitMS: limit})
	if got := r.allocation(a.ID).LimitMS; got != limit {
		t.Errorf("Slurm's word is worth less: %d, want %d", got, limit)
	}
}

// TestSchedulerOf: whatever a runner reports, torc's clients find its allocation.
func TestSchedulerOf(t *testing.T) {
	a := compute.Allocation{ScheduledComputeNodeID: 7, SlurmJobID: 123}
	for said, want := range map[string]string{
		"": `{"scheduler_id":7,"slurm_job_id":"123","type":"slurm"}`,
		`{"scheduler_id":123,"slurm_node_id":1,"type":"x"}`: `{"scheduler_id":7,"slurm_job_id":"123","slurm_node_id":1,"type":"slurm"}`,
	} {
		var value any
		if said != "" {
			if err := json.Unmarshal([]byte(said), &value); err != nil {
				t.Fatal(err)
			}
		}
		all, err := fleet.SchedulerOf(&a, value)
		if got, _ := json.Marshal(all); err != nil || string(got) != want {
			t.Errorf("schedulerOf(%s) = %s, %v, want %s", said, got, err, want)
		}
	}
	if _, err := fleet.SchedulerOf(&a, []any{1}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a list: %v", err)
	}
}

// TestNodeListIsKnownEarly: an allocation that ends before the first poll has nodes
// nevertheless, from its runner or from accounting.
func TestNodeListIsKnownEarly(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	join := func(nodes string) {
		_, err := r.Runners.Register(r.ctx, Registration{WorkflowID: r.workflow, IntentID: "aa", RegisterRequest: lease.RegisterRequest{
			Key: "first", Hostname: "n1", StartTime: "2026-11-21T10:00:00+00:00", NumNodes: 1, NodeType: compute.SchedulerSlurm,
			Allocation: &lease.AllocationMember{SlurmJobID: 17, NodeList: nodes},
		}})
		r.must(err)
	}
	join("")
	if got := r.allocation(a.ID); got.NodeList != "" || got.State != compute.AllocationActive {
		t.Errorf("after the call of a runner that does not say it: %+v", got)
	}
	join("n[1-2]")
	if got := r.allocation(a.ID).NodeList; got != "n[1-2]" {
		t.Errorf("after the call of a runner: %q", got)
	}
	join("n9")
	r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationDone, NodeList: "n8"}))
	if got := r.allocation(a.ID).NodeList; got != "n[1-2]" {
		t.Errorf("at the end: %q", got)
	}
	r.intend("bb")
	b := r.adopt("bb", 18, 0)
	r.must(r.Allocations.End(r.ctx, b.ID, compute.AllocationEnd{Cause: compute.AllocationDone, NodeList: "n8"}))
	if got := r.allocation(b.ID).NodeList; got != "n8" {
		t.Errorf("one that nobody has seen: %q", got)
	}
	r.check()
}
