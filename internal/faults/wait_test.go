package faults

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

const (
	// patience is how long a workflow may take to end after its fault.
	patience = 2 * time.Minute
	// roomPatience is how long Slurm may have no room for what a test asks of
	// it, because other tests use the nodes.
	roomPatience = 5 * time.Minute
	// roomLook is how often Slurm is asked whether that is so.
	roomLook = 5 * time.Second
)

// eventually waits until a condition holds. The time in which Slurm has no room
// for a job of the world does not count.
func (w *world) eventually(within time.Duration, what string, condition func() bool) {
	w.t.Helper()
	began := time.Now()
	looked, withoutRoom := began, time.Duration(0)
	slurmtest.Eventually(w.t, within+roomPatience, what, func() bool {
		if condition() {
			return true
		}
		if now := time.Now(); now.Sub(looked) >= roomLook {
			if w.waitsForRoom() {
				withoutRoom += now.Sub(looked)
			}
			looked = now
		}
		if time.Since(began)-withoutRoom > within {
			w.t.Fatalf("waited %v in vain, and %v more for room on the nodes: %s", within, withoutRoom.Round(time.Second), what)
		}
		return false
	})
}

// waitsForRoom reports whether a Slurm job of the world waits only until others
// have left the nodes.
func (w *world) waitsForRoom() bool {
	queue, err := w.root.Queue(context.WithoutCancel(w.t.Context()), slurm.QueueQuery{User: slurmtest.TestUser})
	return err == nil && slices.ContainsFunc(queue.Jobs, func(j slurm.Job) bool {
		return strings.Contains(j.Name, w.name()) && j.State == slurm.Pending &&
			(j.Reason == "Resources" || j.Reason == "Priority" || strings.HasPrefix(j.Reason, "Nodes required for job"))
	})
}
