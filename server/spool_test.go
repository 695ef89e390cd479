package server

import (
	"errors"
	"testing"

	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// The spool of a killed runner is recorded once, and its file is removed only then.
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
	left := Spooled{RunID: r.run, Delivered: func() error { removed++; return nil }, Reports: []lease.Report{{
		LeaseRef: grants[0].LeaseRef, StartedMS: 1000, EndedMS: 2000, Evidence: ok(),
	}}}
	var unreadable error
	spool := spoolOf{store: a.Store, read: func(_, database string, runnerID int64) ([]Spooled, error) {
		if database == "" || runnerID != r.id {
			t.Errorf("requested runner %d of %q", runnerID, database)
		}
		return []Spooled{left}, unreadable
	}}
	over := []store.AllocationRunner{{RunnerID: r.id}}

	unreadable = errors.New("stale file handle")
	if err := spool.Deliver(t.Context(), over); err == nil || removed != 0 {
		t.Errorf("unreadable: %v, removed %d times", err, removed)
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
	job, err := a.Store.Jobs.Get(t.Context(), grants[0].JobID)
	if err != nil || job.Status != workflow.Completed {
		t.Errorf("job is %v, %v", job.Status, err)
	}
}

// A job that a killed runner had started was an attempt, although the start was not
// reported; one that it had not started was not.
func TestSpooledStartsAreAttempts(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	a.jobs(id, 2)
	r := a.runner(id, "k", 2)
	grants := r.turn(nil).Grants
	if len(grants) != 2 {
		t.Fatalf("%d grants, want two", len(grants))
	}
	old := grants[1].LeaseRef
	old.Fence--
	left := Spooled{RunID: r.run, Delivered: func() error { return nil }, Started: []lease.Held{
		{LeaseRef: grants[0].LeaseRef, StartedMS: 1000}, {LeaseRef: old, StartedMS: 500},
	}}
	spool := spoolOf{store: a.Store, read: func(string, string, int64) ([]Spooled, error) { return []Spooled{left}, nil }}
	for range 2 {
		if err := spool.Deliver(t.Context(), []store.AllocationRunner{{RunnerID: r.id}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Store.Runners.Expire(t.Context(), r.id, "it was killed"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} {
		attempts, err := a.Store.Jobs.Attempts(t.Context(), grants[i].JobID)
		if err != nil {
			t.Fatal(err)
		}
		var ended []workflow.CauseKind
		for _, x := range attempts {
			if x.EndedMS != nil {
				ended = append(ended, x.Cause.Kind)
			}
		}
		if len(ended) != want || want > 0 && ended[0] != workflow.CauseLost {
			t.Errorf("job %d has ended by %v, want %d attempts", i, ended, want)
		}
	}
}

// TestNextRunnerTellsOfStarts: the runner that follows a killed one reports what that had
// started to start; it remains the killed one's attempt.
func TestNextRunnerTellsOfStarts(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	a.jobs(id, 2)
	killed := a.runner(id, "k", 2)
	grants := killed.turn(nil).Grants
	next := a.runner(id, "n", 2)
	for range 2 { // as if the answer were lost
		next.turn(func(req *lease.TurnRequest) {
			req.Started = []lease.Held{{LeaseRef: grants[0].LeaseRef, StartedMS: 1000}}
			req.Free = lease.Free{}
		})
	}
	if err := a.Store.Runners.Expire(t.Context(), killed.id, "it was killed"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{2, 1} {
		job, err := a.Store.Jobs.Get(t.Context(), grants[i].JobID)
		if err != nil || job.Status != workflow.Ready || job.AttemptID != want {
			t.Errorf("job %d is %s at attempt %d, want ready at %d: %v", i, job.Status, job.AttemptID, want, err)
		}
	}
}
