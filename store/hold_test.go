package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// newHeldRig is a rig whose jobs have failed with a text on stderr and are held.
func newHeldRig(t *testing.T, jobs []rigJob, stderr ...string) (*rig, *hand) {
	t.Helper()
	r := newRig(t, jobs...)
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, r.workflow)
	})
	r.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE resource_requirements SET memory = '1g', runtime = 'PT1M' WHERE memory = ''`)
		return err
	})
	h := r.hand("n1", int64(len(jobs)))
	r.failAll(h, stderr...)
	return r, h
}

// failAll has a runner claim jobs and fail each.
func (r *rig) failAll(h *hand, stderr ...string) {
	r.tb.Helper()
	h.turn()
	var reports []lease.Report
	for i, held := range h.held {
		report := exited(held.LeaseRef, 1)
		if i < len(stderr) {
			report.Evidence.StderrTail = stderr[i]
		}
		reports = append(reports, report)
	}
	h.turn(reports...)
}

func TestHeldJobs(t *testing.T) {
	r, _ := newHeldRig(t, independent(3), "step 1 broke", "step 2 broke", "other")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	groups := hold.GroupHeld(held)
	if len(groups) != 2 || groups[0].Count != 2 || groups[0].ExampleID != r.ids[0] || groups[0].SinceMS != r.now.UnixMilli() ||
		groups[0].Reason == "" || groups[0].Cause != workflow.CauseExit {
		t.Errorf("groups %+v", groups)
	}
	if all, err := r.Holds.List(r.ctx, 0); err != nil || cmp.Diff(held, all) != "" {
		t.Errorf("of all workflows: %+v, %v", all, err)
	}
	_, err = r.Holds.List(r.ctx, r.workflow+1)
	wantCode(t, err, workflow.CodeNotFound)
}

// TestResolveHolds: jobs that cannot be resolved are named, the others are resolved.
func TestResolveHolds(t *testing.T) {
	r, h := newHeldRig(t, independent(4), "a", "a", "b", "c")
	ready := hold.Classification{Status: workflow.Ready, Author: "ann", Reason: "the disk was full"}
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	out, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{Fingerprint: held[0].Fingerprint}, ready, ResolveOptions{})
	r.must(err)
	if len(out) != 2 || !out[0].Resolved || out[1].Attempt != 2 {
		t.Errorf("of a fingerprint: %+v", out)
	}
	r.want(workflow.Ready, workflow.Ready, workflow.PendingFailed, workflow.PendingFailed)
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{Fingerprint: held[0].Fingerprint}, ready, ResolveOptions{})
	wantCode(t, err, workflow.CodeNotFound)

	failed := hold.Classification{Status: workflow.Failed, Author: "ann", Reason: "hopeless"}
	out, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: []int64{r.ids[2], r.ids[0], 999, r.ids[2]}}, failed, ResolveOptions{})
	r.must(err)
	var resolved []bool
	for _, o := range out {
		resolved = append(resolved, o.Resolved)
		if o.Resolved == (o.Error != "") {
			t.Errorf("outcome %+v", o)
		}
	}
	if diff := cmp.Diff([]bool{false, true, false}, resolved); diff != "" {
		t.Errorf("resolved (-want +got):\n%s", diff)
	}
	r.want(workflow.Ready, workflow.Ready, workflow.Failed, workflow.PendingFailed)

	for range workflow.ClassifiedRetryLimit - 1 {
		r.failAll(h)
		_, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, ready, ResolveOptions{})
		r.must(err)
	}
	r.failAll(h)
	out, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, ready, ResolveOptions{})
	r.must(err)
	if len(out) != 3 || out[0].Resolved || !strings.Contains(out[0].Error, "all 3 retries") || *out[0].Status != workflow.PendingFailed || !out[2].Resolved {
		t.Errorf("at the limit: %+v", out)
	}
	facts, err := r.Jobs.Facts(r.ctx, r.ids[2])
	r.must(err)
	if text := explain.Job(facts).String(); !strings.Contains(text, "attempt 1: classified as failed by ann 0s ago: hopeless") {
		t.Error(text)
	}
	r.check()
}

// TestResolveHoldsWithMore: the job requests more, those that share its requirements do
// not.
func TestResolveHoldsWithMore(t *testing.T) {
	needs := workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}
	r, _ := newHeldRig(t, []rigJob{{needs: needs}, {needs: needs}})
	more := hold.Classification{Status: workflow.Ready, Reason: "too little", Memory: "2g", Runtime: "2h"}
	out, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[:1]}, more, ResolveOptions{})
	r.must(err)
	if !strings.Contains(out[0].Asks, "-> 2g, runtime ") || !strings.HasSuffix(out[0].Asks, "-> PT2H") {
		t.Errorf("asks for %q", out[0].Asks)
	}
	for i, want := range []int64{2 << 30, 1 << 30} {
		got := r.number(`SELECT q.memory_bytes FROM job j JOIN claim_class c ON c.id = j.class_id JOIN resource_requirements q ON q.id = c.requirements_id
			WHERE j.id = ?`, r.ids[i])
		if got != want {
			t.Errorf("job %d asks for %d bytes, want %d", i, got, want)
		}
	}
	_, err = r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, more, ResolveOptions{})
	wantCode(t, err, workflow.CodeConflict)
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, hold.Classification{Status: workflow.Ready}, ResolveOptions{})
	wantCode(t, err, workflow.CodeInvalid)
}

func TestResolveAHoldBeforeTheFirstAttempt(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.PendingFailed, 1)
	r.must(err)
	out, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, hold.Classification{Status: workflow.Failed, Author: "me", Reason: "no use"}, ResolveOptions{})
	r.must(err)
	if len(out) != 1 || !out[0].Resolved {
		t.Fatalf("%+v", out)
	}
	r.want(workflow.Failed, workflow.Canceled)
	r.sound(check.Witness{})
}

// TestEarlierVerdicts: jobs that fail alike later are listed with what was decided before,
// and what became of it.
func TestEarlierVerdicts(t *testing.T) {
	r, h := newHeldRig(t, independent(3), "a", "a", "b")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	if j := held[0]; j.Attempt != 1 || j.RetriesLeft != workflow.ClassifiedRetryLimit {
		t.Errorf("%+v", j)
	}
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[:1]},
		hold.Classification{Status: workflow.Ready, Author: "ann", Reason: "again", NumCPUs: 2}, ResolveOptions{Force: true})
	r.must(err)
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[1:2]}, hold.Classification{Status: workflow.Failed, Author: "bob", Reason: "no"}, ResolveOptions{})
	r.must(err)
	r.failAll(h, "a")
	earlier, all, err := r.Holds.Earlier(r.ctx, held[0].Fingerprint, 10)
	r.must(err)
	if len(earlier) != 2 || earlier[0].Author != "bob" || earlier[0].Outcome != "" || earlier[1].Outcome != "failed again" || earlier[1].NumCPUs != 2 {
		t.Errorf("%+v", earlier)
	}
	if got := all.Text(); got != "0 of 1 retry succeeded, 1 job was given up" {
		t.Error(got)
	}
	held, err = r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	g := hold.GroupHeld(held)[0]
	if g.Attempts != 2 || g.RetriesLeft != workflow.ClassifiedRetryLimit-1 {
		t.Errorf("%+v", g)
	}
}

// TestOutgrownWithoutRunner: where nothing can be requested, the runners of the past are the
// limit of what a retry may ask for.
func TestOutgrownWithoutRunner(t *testing.T) {
	r, h := newHeldRig(t, []rigJob{{needs: workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}}}, "a")
	h.withNode(4, 4)
	_, err := r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	for _, c := range []hold.Classification{{Memory: "10t"}, {NumCPUs: 100_000}} {
		c.Status, c.Reason = workflow.Ready, "x"
		o, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids}, c, ResolveOptions{})
		r.must(err)
		if o[0].Resolved || !strings.Contains(o[0].Error, "fit nowhere") {
			t.Errorf("%+v: %+v", c, o)
		}
	}
	o, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids}, hold.Classification{Status: workflow.Ready, Reason: "x", Memory: "10t"}, ResolveOptions{Force: true})
	r.must(err)
	if !o[0].Resolved {
		t.Errorf("forced: %+v", o)
	}
}
