package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// heldOf returns what a runner holds of its grants, started or not.
func heldOf(grants []lease.Grant, startedMS int64) []lease.Held {
	var held []lease.Held
	for _, g := range grants {
		held = append(held, lease.Held{LeaseRef: g.LeaseRef, StartedMS: startedMS})
	}
	return held
}

// TestSilentRunnersAreNamed: jobs on a silent runner are shown with the time since its
// latest turn.
func TestSilentRunnersAreNamed(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	a.jobs(id, 2)
	r := a.runner(id, "k", 1)
	grants := r.turn(nil).Grants
	r.turn(func(q *lease.TurnRequest) { q.Held = heldOf(grants, a.now.UnixMilli()) })
	status, why := fmt.Sprintf("/workflows/%d/status", id), fmt.Sprintf("/workflows/%d/why", id)
	if got := a.send("GET", status, ""); strings.Contains(got.text, "silent") {
		t.Errorf("at once: %s", got.text)
	}
	a.now = a.now.Add(45 * time.Second)
	a.send("GET", status, "").want(200, `"hostname":"n1","jobs":2,"silent_seconds":45`)
	a.send("GET", fmt.Sprintf("/workflows/%d/running_jobs", id), "").want(200, `"silent_seconds":45`)
	a.send("GET", why, "").want(200, "(n1), 2 jobs: silent for 45s")
	a.send("GET", fmt.Sprintf("/jobs/%d/why", grants[0].JobID), "").want(200, "its runner has been silent for 45s")
	r.turn(func(q *lease.TurnRequest) { q.Held = heldOf(grants, a.now.UnixMilli()) })
	if got := a.send("GET", status, ""); strings.Contains(got.text, "silent") {
		t.Errorf("after a turn: %s", got.text)
	}
}

// TestPausedRunnersAreNamed: a runner for which Slurm starts nothing reports that, and
// there is one event about it.
func TestPausedRunnersAreNamed(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	a.jobs(id, 1)
	r := a.runner(id, "k", 1)
	grants := r.turn(nil).Grants
	pause := &workflow.LaunchPause{Reason: "Unable to contact slurm controller", SinceMS: a.now.UnixMilli()}
	for range 3 {
		a.now = a.now.Add(10 * time.Second)
		r.turn(func(q *lease.TurnRequest) { q.Held, q.Paused, q.Free = heldOf(grants, 0), pause, lease.Free{} })
	}
	a.send("GET", fmt.Sprintf("/workflows/%d/status", id), "").want(200, `"paused":{"reason":"Unable to contact slurm controller"`)
	const text = "has started no jobs for 30s, because Slurm does not: Unable to contact slurm controller"
	a.send("GET", fmt.Sprintf("/workflows/%d/why", id), "").want(200, text)
	a.send("GET", fmt.Sprintf("/jobs/%d/why", grants[0].JobID), "").want(200, text)
	if got := a.send("GET", fmt.Sprintf("/events?workflow_id=%d", id), ""); strings.Count(got.text, "launch_paused") != 1 {
		t.Errorf("events: %s", got.text)
	}
	r.turn(func(q *lease.TurnRequest) { q.Held = heldOf(grants, 0) })
	if got := a.send("GET", fmt.Sprintf("/workflows/%d/status", id), ""); strings.Contains(got.text, "paused") {
		t.Errorf("afterwards: %s", got.text)
	}
}

// TestLeavingRunnersOfAllocations: Slurm is polled about the allocations of leaving
// runners, but not for other runners.
func TestLeavingRunnersOfAllocations(t *testing.T) {
	polls := 0
	a := newAPI(t, func(s *Server) { s.PollAllocations = func() { polls++ } })
	id := a.workflow()
	a.jobs(id, 1)
	r := a.runner(id, "k", 1)
	post[lease.LeaveResponse](a, fmt.Sprintf("/runners/%d/leave", r.id), lease.LeaveRequest{})
	if polls != 0 {
		t.Errorf("%d polls for a runner of no allocation", polls)
	}
	made, err := a.Store.Allocations.Intend(t.Context(), store.AllocationIntent{
		WorkflowID: id, RunID: r.run, IntentID: "i", JobName: "torc:i", SecretHash: []byte("h"), Request: compute.AllocationRequest{Nodes: 1, WalltimeS: 60},
	})
	if err == nil {
		_, err = a.Store.Allocations.Adopt(t.Context(), store.FoundJob{IntentID: made.IntentID, SlurmJobID: 7})
	}
	if err != nil {
		t.Fatal(err)
	}
	known, err := a.Store.Runners.Register(t.Context(), store.Registration{WorkflowID: id, IntentID: "i", RegisterRequest: lease.RegisterRequest{
		Key: "in", Hostname: "n1", StartTime: "2026-11-21T10:00:00Z", NumCPUs: 1, MemoryBytes: 1 << 30, NumNodes: 1,
		NodeType: compute.SchedulerSlurm, OutputDir: t.TempDir(), Allocation: &lease.AllocationMember{SlurmJobID: 7},
	}})
	if err != nil {
		t.Fatal(err)
	}
	post[lease.LeaveResponse](a, fmt.Sprintf("/runners/%d/leave", known.RunnerID), lease.LeaveRequest{})
	if polls != 1 {
		t.Errorf("%d polls, want 1", polls)
	}
	a.send("GET", fmt.Sprintf("/workflows/%d/allocations", id), "").want(200, `"runners_left":true`)
}
