package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestAReviewIsOfNow: without another pass it says how things stand after each
// change.
func TestAReviewIsOfNow(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	if w.review() != nil {
		t.Error("nobody has looked, but there is a review")
	}
	expect := func(when string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, w.review().Lines()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", when, diff)
		}
	}
	const refused = "1 ready job: no allocation, Slurm refused the last request: sbatch: no, permanent"
	w.answers = []error{refusal(slurm.Permanent)}
	r := w.submit(nil)
	expect("after a refusal", refused, "partition std: Slurm refused the last request: sbatch: no, permanent; again at "+r.Next.Format("15:04:05"))
	w.after(30 * time.Second)
	expect("after it was taken", "1 ready job: room in allocations that Slurm has not started yet")

	a := w.allocations(true)[0]
	runner, granted := w.start(a)
	expect("when the job is claimed", "nothing to request: no job is ready")
	w.jobs(1, 1, "1g", "PT20S")
	expect("with another job", "1 ready job: room in live allocations")
	_, err := w.store.Runners.Turn(t.Context(), runner, lease.TurnRequest{Turn: 2, RunID: a.RunID, Reports: []lease.Report{{
		LeaseRef: granted[0].LeaseRef, StartedMS: w.now.UnixMilli(), EndedMS: w.now.UnixMilli(), Evidence: workflow.Evidence{ExitCode: new(int64(0))},
	}}})
	w.must(err)
	w.now = w.now.Add(time.Second)
	w.end(a, compute.AllocationNodeFail)
	expect("when the allocation is gone", "1 ready job without a place: 1 allocation of 1 node for 5m with 1 CPU, 1.12 GiB in partition std",
		"1 ready job: room in allocations that are requested now")
	if w.asked != 2 {
		t.Errorf("Slurm was asked %d times", w.asked)
	}
}

// TestSubmittingAgainTriesAgain: whoever submits after a refusal has changed
// something.
func TestSubmittingAgainTriesAgain(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{refusal(slurm.Permanent)}
	if r := w.submit(nil); len(r.Refused) != 1 || r.Refused[0].Class != slurm.Permanent || len(r.Asked) != 0 {
		t.Fatalf("%+v", r)
	}
	w.now = w.now.Add(time.Second)
	if r := w.submit(nil); len(r.Asked) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestClassesOfRefusals: our own errors too say whether asking again may help.
func TestClassesOfRefusals(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want slurm.Class
	}{
		{refusal(slurm.Limit), slurm.Limit},
		{refusal(slurm.Ambiguous), slurm.Ambiguous},
		{workflow.Errorf(workflow.CodeInvalid, "invalid mem %q", "x"), slurm.Permanent},
		{workflow.Errorf(workflow.CodeUnavailable, "later"), slurm.Temporary},
		{errors.New("the cluster has no nodes"), slurm.Temporary},
	} {
		if got := refusalOf(tc.err); got.Class != tc.want || got.Text != tc.err.Error() {
			t.Errorf("%v: %+v", tc.err, got)
		}
	}
}
