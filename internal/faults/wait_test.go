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
	// roomPatience is how long Slurm may have no room for what a test requests, because
	// other tests use the nodes.
	roomPatience = 5 * time.Minute
	// roomPollInterval is the interval at which Slurm is asked whether that is so.
	roomPollInterval = 5 * time.Second
)

// eventually waits until a condition holds. Time in which Slurm has no room for a job of
// the world does not count, and Slurm is made to start jobs that it has requeued.
func (w *world) eventually(within time.Duration, what string, condition func() bool) {
	w.t.Helper()
	began := time.Now()
	looked, withoutRoom := began, time.Duration(0)
	slurmtest.Eventually(w.t, within+roomPatience, what, func() bool {
		if condition() {
			return true
		}
		if now := time.Now(); now.Sub(looked) >= roomPollInterval {
			pending := w.pending()
			w.startRequeued(pending)
			if slices.ContainsFunc(pending, waitsForRoom) {
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

// pending returns the world's Slurm jobs that wait, none if Slurm does not answer.
func (w *world) pending() []slurm.Job {
	queue, err := w.root.Queue(context.WithoutCancel(w.t.Context()), slurm.QueueQuery{User: slurmtest.TestUser})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(queue.Jobs, func(j slurm.Job) bool {
		return !strings.Contains(j.Name, w.name()) || j.State != slurm.Pending
	})
}

// startRequeued has Slurm start requeued jobs as soon as it can. Slurm would otherwise
// have each wait for two minutes whenever a job of this test or of another preempts it.
func (w *world) startRequeued(pending []slurm.Job) {
	for _, j := range pending {
		if j.Restarts > 0 && j.Reason == "BeginTime" {
			w.admin("update", "JobId="+text(j.ID.Number), "StartTime=now")
		}
	}
}

// waitsForRoom reports whether a pending job waits only until others have left the nodes.
func waitsForRoom(j slurm.Job) bool {
	return j.Reason == "Resources" || j.Reason == "Priority" || strings.HasPrefix(j.Reason, "Nodes required for job")
}
