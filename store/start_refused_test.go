package store

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestNotStarted: a start that Slurm rejected was no attempt. The job stays with its
// runner, which may start it again or return it.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 2)
	h.turn()
	h.held[0].StartedMS, h.held[1].StartedMS = 5, 5
	h.turn()
	r.want(workflow.Running, workflow.Running)

	refused := []lease.Held{h.held[0], h.held[1]}
	h.held[0].StartedMS, h.held[1].StartedMS = 0, 0
	h.say(lease.TurnRequest{NotStarted: refused})
	r.want(workflow.Pending, workflow.Pending)

	h.held[0].StartedMS = 9
	h.turn()
	r.want(workflow.Running, workflow.Pending)
	h.say(lease.TurnRequest{NotStarted: refused}) // once more, late
	r.want(workflow.Running, workflow.Pending)

	h.free.Slots = 0
	h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{h.held[1].LeaseRef}})
	r.want(workflow.Running, workflow.Ready)

	// A job that is rejected and returned in one turn.
	refused[0].StartedMS = 9
	h.say(lease.TurnRequest{NotStarted: refused[:1], GiveBack: []lease.LeaseRef{refused[0].LeaseRef}})
	r.want(workflow.Ready, workflow.Ready)
	if n := r.number(`SELECT COUNT(*) FROM attempt`); n != 0 {
		t.Errorf("%d attempts", n)
	}
	r.must(r.Runners.NoteLaunchPause(r.ctx, h.id, workflow.LaunchPause{Reason: "Slurm does not answer", SinceMS: 1}))
	for _, kind := range []workflow.EventType{workflow.EventJobNotStarted, workflow.EventLaunchPaused} {
		if !slices.ContainsFunc(r.events(), func(e string) bool { return len(e) >= len(kind) && e[:len(kind)] == string(kind) }) {
			t.Errorf("no event %s in %q", kind, r.events())
		}
	}
	r.check()
}
