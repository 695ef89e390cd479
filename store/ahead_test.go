package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestAhead: blocked jobs are counted by the longest chain of dependencies in front of them, and a
// step goes when the jobs before it have completed.
func TestAhead(t *testing.T) {
	big := workflow.ResourceRequirements{NumCPUs: 4, Memory: "2g"}
	r := newRig(t,
		rigJob{}, rigJob{}, // ready
		rigJob{after: []int{0}}, rigJob{after: []int{0, 1}}, // one step away
		rigJob{after: []int{2}, needs: big}, rigJob{after: []int{0, 4}}, // two and three
		rigJob{after: []int{5, 1}, needs: big}, // four
	)
	type ahead struct{ Steps, CPUs, Count int64 }
	look := func() (all []ahead) {
		t.Helper()
		jobs, err := r.Scheduling.Ahead(r.ctx, r.workflow)
		r.must(err)
		for _, j := range jobs {
			all = append(all, ahead{j.Steps, j.Class.CPUs, j.Count})
		}
		return all
	}
	if diff := cmp.Diff([]ahead{{1, 1, 2}, {2, 4, 1}, {3, 1, 1}, {4, 4, 1}}, look()); diff != "" {
		t.Error(diff)
	}
	h := r.hand("n1", 1)
	grants := h.turn().Grants
	h.turn(exitReport(grants[0].LeaseRef, 0, time.Minute))
	if diff := cmp.Diff([]ahead{{1, 1, 1}, {1, 4, 1}, {2, 1, 1}, {3, 4, 1}}, look()); diff != "" {
		t.Errorf("after the first job: %s", diff)
	}
}

// TestRuntimes: the runtimes of completed jobs count, those of failed ones do not.
func TestRuntimes(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{}, rigJob{}, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 2}})
	h := r.hand("n1", 3)
	grants := h.turn().Grants
	h.turn(exitReport(grants[0].LeaseRef, 0, time.Minute), exitReport(grants[1].LeaseRef, 1, time.Second), exitReport(grants[2].LeaseRef, 0, time.Hour))
	classes := []int64{r.number(`SELECT class_id FROM job WHERE id = ?`, r.ids[0]), r.number(`SELECT class_id FROM job WHERE id = ?`, r.ids[4])}
	got, err := r.Scheduling.Runtimes(r.ctx, classes)
	r.must(err)
	first := got[classes[0]]
	slices.Sort(first)
	if diff := cmp.Diff([]time.Duration{time.Minute, time.Hour}, first); diff != "" || len(got[classes[1]]) > 0 {
		t.Errorf("%s, of the other class %v", diff, got[classes[1]])
	}
}

// exitReport reports a job that exited with a code after some time.
func exitReport(ref lease.LeaseRef, code int64, ran time.Duration) lease.Report {
	r := exited(ref, code)
	r.EndedMS = r.StartedMS + ran.Milliseconds()
	return r
}
