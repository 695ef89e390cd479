package service

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestCancelAllocation: the proposal names the jobs that runners of the allocation hold,
// and only those.
func TestCancelAllocation(t *testing.T) {
	w := newWorld(t)
	if _, err := ProposeAllocationCancel(t.Context(), w.Service, 7); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("an unknown allocation: %v", err)
	}
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	_, err := w.store.Allocations.Intend(t.Context(), store.AllocationIntent{
		WorkflowID: w.id, IntentID: "aa", JobName: "x", Request: compute.AllocationRequest{Nodes: 2, WalltimeS: 7200},
	})
	w.must(err)
	a, err := w.store.Allocations.Adopt(t.Context(), store.FoundJob{IntentID: "aa", SlurmJobID: 17})
	w.must(err)
	var p api.AllocationCancellation
	propose := func() {
		t.Helper()
		w.unchanged(func() (err error) {
			p, err = ProposeAllocationCancel(t.Context(), w.Service, a.ID)
			return err
		})
	}
	if propose(); p.SlurmJobID != 17 || p.State != "pending" || len(p.Jobs) != 0 || p.NodeSecondsLeft != 2*7200 {
		t.Errorf("of a pending allocation it proposed %+v", p)
	}
	runner, err := w.store.Runners.Register(t.Context(), store.Registration{WorkflowID: w.id, IntentID: "aa", RegisterRequest: lease.RegisterRequest{
		Key: "first", Hostname: "n1", EndTime: w.Now().Add(2 * time.Hour).Format(time.RFC3339), NumNodes: 2, NodeType: compute.SchedulerSlurm,
		Allocation: &lease.AllocationMember{SlurmJobID: 17},
	}})
	w.must(err)
	elsewhere, err := w.store.ComputeNodes.Create(t.Context(), compute.Node{
		WorkflowID: w.id, Hostname: "here", PID: 1, StartTime: "2026-11-21T10:00:00Z", NumCPUs: 8, MemoryGB: 16, NumNodes: 1, Type: "local",
	})
	w.must(err)
	_, err = w.store.Jobs.ClaimNext(t.Context(), w.id, 2, nil)
	w.must(err)
	_, err = w.store.Jobs.Start(t.Context(), w.good, 0, runner.RunnerID)
	w.must(err)
	_, err = w.store.Jobs.Start(t.Context(), w.bad, 0, elsewhere.ID)
	w.must(err)
	started := w.Now()
	w.Now = func() time.Time { return started.Add(time.Hour) }
	propose()
	if p.State != "active" || len(p.Jobs) != 1 || p.Jobs[0].JobID != w.good || p.CPUSeconds != 2*3600 || p.NodeSecondsLeft != 2*3600 {
		t.Errorf("of an active allocation it proposed %+v", p)
	}
	for _, want := range []string{"will be canceled", "is being canceled"} {
		answer, err := CancelAllocation(t.Context(), w.store, me, a.ID)
		w.must(err)
		if got := answer.Message; got != "allocation 1 "+want {
			t.Errorf("%q, want that it %s", got, want)
		}
	}
	if propose(); !p.IsCanceling || len(p.Jobs) != 0 || p.CPUSeconds != 0 {
		t.Errorf("after that it proposed %+v", p)
	}
}
