package allocation

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// meanwhile is a Slurm during whose squeue something happens.
type meanwhile struct {
	Slurm
	before, after func()
	recorded      func() // after sacct; nil: nothing
}

func (m *meanwhile) Queue(ctx context.Context, q slurm.QueueQuery) (slurm.Queue, error) {
	m.before()
	defer m.after()
	return m.Slurm.Queue(ctx, q)
}

func (m *meanwhile) Accounting(ctx context.Context, q slurm.AccountingQuery) (slurm.Accounting, error) {
	if m.recorded != nil {
		defer m.recorded()
	}
	return m.Slurm.Accounting(ctx, q)
}

// during has the loop poll once, with something that happens after squeue.
func (w *world) during(after func()) {
	w.Helper()
	whole := w.loop.slurm
	w.loop.slurm = &meanwhile{Slurm: whole, before: func() {}, after: after}
	w.pollOnce()
	w.loop.slurm = whole
}

// TestSubmittedDuringAPoll: an allocation whose sbatch answers while squeue runs counts
// neither as abandoned nor as never created, whether squeue lists it already or not.
func TestSubmittedDuringAPoll(t *testing.T) {
	for name, isSeen := range map[string]bool{"squeue knows of it": true, "squeue does not": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			s := w.loop.Submitter()
			a, script, err := s.intend(t.Context(), &w.workflow, "0123456789abcdef", w.want())
			w.must(err)
			submit := func() {
				_, err := s.sbatch(t.Context(), a, script)
				w.must(err)
			}
			m := &meanwhile{Slurm: w.loop.slurm, before: func() {}, after: func() {}}
			if isSeen {
				m.before = submit
			} else {
				m.after = submit
			}
			w.loop.slurm = m
			w.pollOnce()
			w.loop.slurm = m.Slurm
			if n := w.calls(slurm.Scancel); n != 0 {
				t.Errorf("scancel was run %d times", n)
			}
			if a := w.only(); a.State == compute.AllocationIntent || !a.IsLive() || a.CancelSentMS != 0 {
				t.Errorf("the allocation is %+v", a)
			}
			w.work(w.scripts[0], 1)
			w.sound()
		})
	}
}

// TestLateAnswerOfSbatch: sbatch answers after all polls, and later than its time limit:
// its job is not abandoned.
func TestLateAnswerOfSbatch(t *testing.T) {
	w := newWorld(t, 1)
	s := w.loop.Submitter()
	a, script, err := s.intend(t.Context(), &w.workflow, "0123456789abcdef", w.want())
	w.must(err)
	w.advance(3 * time.Minute)
	whole := w.loop.slurm
	w.loop.slurm = &meanwhile{Slurm: whole, before: func() {}, after: func() {}, recorded: func() {
		_, err := s.sbatch(t.Context(), a, script)
		w.must(err)
	}}
	w.pollOnce()
	w.loop.slurm = whole
	if a := w.only(); !a.IsLive() || a.SlurmJobID == 0 {
		t.Errorf("the allocation is %+v", a)
	}
	w.pollOnce()
	if n := w.calls(slurm.Scancel); n != 0 {
		t.Errorf("scancel was run %d times", n)
	}
	w.work(w.scripts[0], 1)
	w.sound()
}

// TestRunnerComesDuringAPoll: an allocation that has had no runner for too long is not
// canceled if one registers at last, and has claimed a job.
func TestRunnerComesDuringAPoll(t *testing.T) {
	w := newWorld(t, 1)
	w.submit()
	w.run(9 * time.Minute)
	w.advance(2 * time.Minute)
	w.during(func() { w.work(w.scripts[0], 1) })
	w.pollOnce()
	if a := w.only(); a.CancelMS != 0 || w.calls(slurm.Scancel) != 0 {
		t.Errorf("the allocation is %+v", a)
	}
	w.statuses(workflow.Running)
	w.sound()
}

// TestRunnerCallsDuringAPoll: nor is one whose silent runner calls again, while the
// spool of another one is read.
func TestRunnerCallsDuringAPoll(t *testing.T) {
	w := newWorld(t, 2)
	for i := range 2 {
		w.submit()
		w.must(w.register(w.scripts[i]))
	}
	w.pollOnce()
	w.vanish(w.scripts[0])
	w.advance(11 * time.Minute)
	w.scripts[1].silence = 11 * time.Minute
	w.spool = func([]store.AllocationRunner) error {
		w.scripts[1].silence = 0
		return nil
	}
	w.pollOnce()
	if a := w.allocations()[1]; a.CancelMS != 0 || w.scripts[1].silence != 0 {
		t.Errorf("the allocation is %+v", a)
	}
}

// TestRunnerComesAndGoesDuringAPoll: a runner's spool is read even if the runner
// registered and was killed while squeue ran.
func TestRunnerComesAndGoesDuringAPoll(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.pollOnce()
	var read []int64
	w.spool = func(runners []store.AllocationRunner) error {
		for _, r := range runners {
			read = append(read, r.RunnerID)
		}
		return nil
	}
	whole := w.loop.slurm
	w.loop.slurm = &meanwhile{Slurm: whole, before: func() {
		w.work(w.scripts[0], 1)
		w.vanish(w.scripts[0])
	}, after: func() {}}
	w.pollOnce()
	w.loop.slurm = whole
	w.run(2 * time.Minute)
	w.ended(a, compute.AllocationFailed)
	if !slices.Equal(read, []int64{w.scripts[0].runner}) {
		t.Errorf("the files of %v were read, want that of %d", read, w.scripts[0].runner)
	}
	w.sound()
}
