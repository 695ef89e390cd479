package scheduler

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// slurmScheduler makes one with the user's own options of sbatch.
func (w *world) slurmScheduler(extra string) compute.SlurmScheduler {
	w.Helper()
	c, err := w.store.SlurmSchedulers.Create(w.Context(), compute.SlurmScheduler{
		WorkflowID: w.id, Name: "mine", Account: "research", Nodes: 1, Walltime: "01:00:00", Partition: new("std"), Extra: &extra,
	})
	w.must(err)
	return c
}

// byHand asks for an allocation as a person does, by a Slurm scheduler.
func (w *world) byHand() compute.Allocation {
	w.Helper()
	c := w.slurmScheduler("")
	request, err := allocation.RequestOf(&c)
	w.must(err)
	request.OutputDir = w.output
	a, err := w.Submit(w.Context(), allocation.Want{WorkflowID: w.id, SchedulerConfigID: &c.ID, Request: request, Why: "me asked for it"})
	w.must(err)
	return a
}

// TestWhatAPersonAskedForCounts, while it waits and before its runner has come,
// whether the partition is known or not.
func TestWhatAPersonAskedForCounts(t *testing.T) {
	for _, known := range []bool{true, false} {
		w := newWorld(t)
		if !known {
			w.site.Partitions = w.site.Partitions[1:]
		}
		w.jobs(1, 1, "1g", "PT10M")
		mine := w.byHand()
		if r := w.submit(nil); len(r.Asked) != 0 || r.Covered[0].Pending != 1 {
			t.Errorf("pending, partition known: %t: %+v", known, r)
		}
		w.now = w.now.Add(time.Minute)
		w.active(mine)
		if r := w.look(); len(r.Asked) != 0 || r.Covered[0].Live != 1 {
			t.Errorf("just started, partition known: %t: %+v", known, r)
		}
	}
}

// TestASurplusOfThePlanGoes: a person requested an allocation when the plan had
// asked already.
func TestASurplusOfThePlanGoes(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	planned := w.submit(nil).Asked
	w.now = w.now.Add(time.Second)
	w.byHand()
	r := w.look()
	if len(planned) != 1 || len(r.Canceled) != 1 || r.Canceled[0].Allocation != planned[0].ID {
		t.Errorf("planned %+v, canceled %+v", planned, r.Canceled)
	}
}

// TestASurplusThatBeginsStays: between the pass and what comes of it, a runner
// of the allocation has claimed the job for which it was requested.
func TestASurplusThatBeginsStays(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	planned := w.submit(nil).Asked[0]
	w.now = w.now.Add(time.Second)
	w.byHand()
	l := &pass{Scheduler: w.scheduler, memory: w.scheduler.memory[w.id], id: w.id, now: w.now}
	w.must(l.read(t.Context()))
	if _, granted := w.start(planned); len(granted) != 1 {
		t.Fatalf("granted: %v", granted)
	}
	w.must(l.carryOut(t.Context()))
	for _, a := range w.allocations(true) {
		if a.CancelMS != 0 {
			t.Errorf("canceled: %+v", a)
		}
	}
	if len(l.report.Canceled) != 0 {
		t.Errorf("said to be canceled: %+v", l.report.Canceled)
	}
}

// TestASubmissionIsSeenByItsOwnPassFirst: another pass would have requested what
// the submission then says nothing of.
func TestASubmissionIsSeenByItsOwnPassFirst(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	r, err := w.scheduler.Submit(t.Context(), w.id, func() error {
		w.must(w.store.Scheduling.Submit(t.Context(), w.id, compute.SubmitOptions{OutputDir: w.output}, nil, "me"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.scheduler.Schedule(ctx, w.id); !errors.Is(err, context.Canceled) {
			t.Errorf("another look: %v", err)
		}
		return nil
	})
	w.must(err)
	if len(r.Asked) != 1 {
		t.Errorf("asked for: %+v", r.Asked)
	}
}

// TestApartIsNotDuringAPass.
func TestApartIsNotDuringAPass(t *testing.T) {
	w := newWorld(t)
	w.must(w.scheduler.Apart(t.Context(), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.scheduler.Schedule(ctx, w.id); !errors.Is(err, context.Canceled) {
			t.Errorf("a look: %v", err)
		}
		return nil
	}))
	w.look()
}
