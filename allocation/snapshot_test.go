package allocation

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestPoll: a poll that a caller waits for shows the present state, and simultaneous
// callers share one.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, func(o *slurmtest.Options) { o.Now = time.Now })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.loop.Run(ctx) }()
		a := w.submit()
		synctest.Wait()
		<-time.After(30 * time.Second) // the loop polls once a minute
		w.cluster.Suspend(slurm.JobID{Number: a.SlurmJobID})
		before := w.calls(slurm.Squeue)
		looks := make(chan error)
		for range 3 {
			go func() { looks <- w.loop.Poll(ctx) }()
		}
		for range 3 {
			if err := <-looks; err != nil {
				t.Error(err)
			}
		}
		if n := w.calls(slurm.Squeue) - before; n > 2 {
			t.Errorf("three callers made %d squeue calls", n)
		}
		if job := w.loop.Seen().Jobs[a.SlurmJobID]; job.State != slurm.Suspended {
			t.Errorf("the poll shows %q", job.State)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := w.loop.Poll(t.Context()); err == nil {
			t.Error("a poll after the end of the loop")
		}
	})
}
