package server

import (
	"errors"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// What a runner wrote down before it was killed is recorded once, and its file
// is removed only then.
func TestSpoolIsDelivered(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	a.jobs(id, 1)
	r := a.runner(id, "k", 1)
	grants := r.turn(nil).Grants
	if len(grants) != 1 {
		t.Fatalf("%d grants, want one", len(grants))
	}
	removed := 0
	left := Spooled{RunID: r.run, Delivered: func() error { removed++; return nil }, Reports: []api.Report{{
		LeaseRef: grants[0].LeaseRef, StartedMS: 1000, EndedMS: 2000, Evidence: ok(),
	}}}
	var unreadable error
	spool := spoolOf{store: a.Store, read: func(_, database string, runnerID int64) ([]Spooled, error) {
		if database == "" || runnerID != r.id {
			t.Errorf("asked for runner %d of %q", runnerID, database)
		}
		return []Spooled{left}, unreadable
	}}
	over := []store.AllocationRunner{{RunnerID: r.id}}

	unreadable = errors.New("stale file handle")
	if err := spool.Deliver(t.Context(), over); err == nil || removed != 0 {
		t.Errorf("what cannot be read: %v, removed %d times", err, removed)
	}
	unreadable = nil
	for range 2 { // the second time as if the removal had failed
		if err := spool.Deliver(t.Context(), over); err != nil {
			t.Fatal(err)
		}
	}
	if removed != 2 {
		t.Errorf("removed %d times, want after each delivery", removed)
	}
	job, err := a.Store.Job(t.Context(), grants[0].JobID)
	if err != nil || job.Status != workflow.Completed {
		t.Errorf("job is %v, %v", job.Status, err)
	}
}
