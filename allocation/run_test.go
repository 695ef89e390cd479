package allocation

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun runs the loop under a clock of its own.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, func(o *slurmtest.Options) { o.Now = time.Now })
		tick := func(d time.Duration) {
			<-time.After(d)
			synctest.Wait()
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.loop.Run(ctx) }()
		tick(10 * time.Minute)
		if n := len(w.cluster.Calls()); n != 0 {
			t.Errorf("%d calls for nothing", n)
		}
		a := w.submit()
		w.work(w.scripts[0], 1)
		tick(10 * time.Minute)
		if n := w.calls(slurm.Squeue); n < 9 || n > 11 {
			t.Errorf("%d squeue in 10 minutes", n)
		}
		for range 3 {
			if _, err := w.store.Allocations.RequestCancel(t.Context(), []int64{a.ID}, "no work is left"); err != nil {
				t.Error(err)
			}
			w.loop.Wake()
		}
		before := w.calls(slurm.Squeue)
		tick(5 * time.Second)
		if n := w.calls(slurm.Scancel); n != 1 {
			t.Errorf("%d scancel in 5 s", n)
		}
		if n := w.calls(slurm.Squeue) - before; n > 2 {
			t.Errorf("three requests made %d squeue calls", n)
		}
		tick(time.Minute)
		w.ended(a, compute.AllocationCanceled)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestIntervals checks how often Slurm is called.
func TestIntervals(t *testing.T) {
	for _, tc := range []struct {
		name     string
		settings Settings
		change   func(w *world, id slurm.JobID)
		want     time.Duration
	}{
		{"all is well", Settings{}, nil, time.Minute},
		{"slow as configured", Settings{Poll: 5 * time.Minute}, nil, 5 * time.Minute},
		{"something is ending", Settings{}, func(w *world, id slurm.JobID) {
			_, _ = w.store.Allocations.RequestCancel(w.Context(), []int64{1}, "no work is left")
		}, 15 * time.Second},
		{"before Slurm forgets", Settings{MinJobAge: 10 * time.Second}, func(w *world, id slurm.JobID) {
			_, _ = w.store.Allocations.RequestCancel(w.Context(), []int64{1}, "no work is left")
		}, 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.settings = tc.settings
			w.boot(t.TempDir())
			a := w.submit()
			if tc.change != nil {
				tc.change(w, slurm.JobID{Number: a.SlurmJobID})
			}
			if got := w.pollOnce(); got != tc.want {
				t.Errorf("the next poll is in %s, want %s", got, tc.want)
			}
		})
	}
	t.Run("without accounting", func(t *testing.T) {
		w := newWorld(t, 1)
		w.loop.noAccounting, w.loop.set.MinJobAge = true, time.Minute
		w.submit()
		if got := w.pollOnce(); got != 30*time.Second {
			t.Errorf("the next poll is in %s", got)
		}
	})
}

// TestCommentsWithinBudget: with many allocations Slurm gets few calls, and every comment
// is updated in turn.
func TestCommentsWithinBudget(t *testing.T) {
	w := newWorld(t, 12)
	for range 4 {
		w.submit()
	}
	for _, l := range w.scripts {
		w.work(l, 4)
	}
	before := len(w.cluster.Calls())
	w.run(8 * time.Minute)
	if n := len(w.cluster.Calls()) - before; n > 13 {
		t.Errorf("%d calls in 8 minutes", n)
	}
	queue, err := w.client.Queue(t.Context(), slurm.QueueQuery{})
	w.must(err)
	for _, job := range queue.Jobs {
		if job.Comment == "" || job.Comment == "workflow 1" {
			t.Errorf("job %s has the comment %q", job.ID, job.Comment)
		}
	}
}
