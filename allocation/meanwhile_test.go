package allocation

import (
	"context"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// meanwhile is a Slurm during whose squeue something happens.
type meanwhile struct {
	Slurm
	before, after func()
}

func (m *meanwhile) Queue(ctx context.Context, q slurm.QueueQuery) (slurm.Queue, error) {
	m.before()
	defer m.after()
	return m.Slurm.Queue(ctx, q)
}

// TestSubmittedDuringALook: an allocation whose sbatch answers while squeue runs
// is neither taken for one that had been given up, nor for one that nobody has
// made, whether squeue knows of it already or not.
func TestSubmittedDuringALook(t *testing.T) {
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
			m := &meanwhile{w.loop.slurm, func() {}, func() {}}
			if isSeen {
				m.before = submit
			} else {
				m.after = submit
			}
			w.loop.slurm = m
			w.look()
			w.loop.slurm = m.Slurm
			if n := w.calls(slurm.Scancel); n != 0 {
				t.Errorf("scancel was run %d times", n)
			}
			if a := w.only(); a.State == workflow.AllocationIntent || !a.IsLive() || a.CancelSentMS != 0 {
				t.Errorf("the allocation is %+v", a)
			}
			w.work(w.lives[0], 1)
			w.sound()
		})
	}
}
