package store

import (
	"slices"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// A job that a client claimed and never started waits again if a dependency was reopened
// in the meantime.
func TestReturnUnstarted(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{after: []int{0}, runIf: workflow.RunIfAlways}, rigJob{})
	_, err := r.Jobs.Complete(r.ctx, r.completion(0, r.node("n1"), failed, 1))
	r.must(err)
	_, err = r.Jobs.ClaimNext(r.ctx, r.workflow, 9, nil)
	r.must(err)
	_, err = r.Jobs.Retry(r.ctx, r.ids[0], 1, 9)
	r.must(err)
	r.want(ready, pending, pending)
	for before, want := range []int64{0, 2} { // the second time, 1 ms later
		n, err := r.Jobs.ReturnUnstarted(r.ctx, r.now.UnixMilli()+int64(before))
		if r.must(err); n != want {
			t.Errorf("%d jobs returned, want %d", n, want)
		}
	}
	r.want(ready, blocked, ready)
}

// The end of a delay is found by a query before and one after it.
func TestDelayed(t *testing.T) {
	r := newRig(t, independent(2)...)
	at := r.now.UnixMilli()
	r.do(func(tx *core.Tx) error {
		for i, id := range r.ids {
			if err := tx.ExecOne(`UPDATE job SET not_before_ms = ? WHERE id = ?`, at+int64(1000*(i+1)), id); err != nil {
				return err
			}
		}
		return nil
	})
	for _, look := range []struct {
		until, next int64
		due         bool
	}{{0, 1000, false}, {1000, 2000, true}, {2000, 0, true}} {
		due, next, err := r.Jobs.Delayed(r.ctx, at, at+look.until)
		r.must(err)
		if look.next += at; look.next == at {
			look.next = 0
		}
		if slices.Contains(due, r.workflow) != look.due || next != look.next {
			t.Errorf("until %d: due %v, next %d", look.until, due, next-at)
		}
	}
	open := func() bool {
		t.Helper()
		open, err := r.Workflows.HaveOpenWork(r.ctx)
		r.must(err)
		return open
	}
	if !open() {
		t.Error("no open work while a delay runs")
	}
	if r.now = r.now.Add(time.Hour); open() {
		t.Error("open work after the delays")
	}
}
