package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// said formats outcomes: "0 ready", "1 0: why".
func said(outcomes []hold.VerdictOutcome) (all []string) {
	for _, o := range outcomes {
		if o.Error != "" {
			all = append(all, fmt.Sprintf("%d: %s", o.Entry, o.Error))
		}
		for _, j := range o.Jobs {
			if j.Resolved {
				all = append(all, fmt.Sprintf("%d %s %s %s", o.Entry, j.JobName, j.Status, j.Asks))
			} else {
				all = append(all, fmt.Sprintf("%d %s: %s", o.Entry, j.JobName, j.Error))
			}
		}
		resolved := o.Error == ""
		for _, j := range o.Jobs {
			resolved = resolved && j.Resolved
		}
		if resolved != o.Resolved {
			all = append(all, fmt.Sprintf("%d resolved: %v", o.Entry, o.Resolved))
		}
	}
	return all
}

// TestResolveHoldsEach: entries apply in their order, a wrong one does not stop the
// others, and a dry run returns the same and changes nothing.
func TestResolveHoldsEach(t *testing.T) {
	r, _ := newHeldRig(t, independent(4), "a", "a", "b", "c")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	like := held[0].Fingerprint
	verdicts := []hold.HoldVerdict{
		{Job: "j1", Action: workflow.ActionFail, Reason: "its input is broken", Author: "ann", Confidence: workflow.Likely},
		{Fingerprint: like, Action: workflow.ActionRetry, Reason: "the disk was full"},
		{Job: fmt.Sprint(r.ids[1]), Action: workflow.ActionRetry, Reason: "again"},
		{Fingerprint: like, Action: workflow.ActionRetry, Reason: "again"},
		{JobID: r.ids[2], Action: workflow.ActionRetry},
		{JobID: r.ids[2], Action: "hold", Reason: "x"},
		{JobID: r.ids[2], Action: workflow.ActionRetry, Memory: "lots", Reason: "x"},
		{JobID: r.ids[2], Job: "2", Action: workflow.ActionRetry, Reason: "x"},
		{Job: "nobody", Action: workflow.ActionRetry, Reason: "x"},
		{JobID: 999, Action: workflow.ActionRetry, Reason: "x"},
		{Job: "j2", Action: workflow.ActionRetry, Reason: "x"},
	}
	want := []string{
		"0 j1 failed ", "1 j0 ready ", "2 j1: an earlier entry has decided it", "3: earlier entries have decided all jobs with the fingerprint " + like,
		"4: a classification needs a reason", `5: invalid action "hold" for a held job`, `6: memory "lots": not a whole number`,
		"7: select the jobs by exactly one of job, job_id, job_ids and fingerprint", `8: workflow 1 has no job "nobody"`, "9 : workflow 1 has no job 999", "10 j2 ready ",
	}
	seq := len(r.events())
	dry, err := r.Holds.ResolveEach(r.ctx, r.workflow, verdicts, ResolveOptions{DryRun: true})
	r.must(err)
	r.want(workflow.PendingFailed, workflow.PendingFailed, workflow.PendingFailed, workflow.PendingFailed)
	if now := len(r.events()); now != seq {
		t.Errorf("a dry run wrote %d events", now-seq)
	}
	out, err := r.Holds.ResolveEach(r.ctx, r.workflow, verdicts, ResolveOptions{})
	r.must(err)
	got := said(out)
	for i := range got {
		if i < len(want) && strings.HasPrefix(got[i], want[i]) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(out, dry); diff != "" {
		t.Errorf("the dry run says something else (-want +got):\n%s", diff)
	}
	r.want(workflow.Ready, workflow.Failed, workflow.Ready, workflow.PendingFailed)
	facts, err := r.Jobs.Facts(r.ctx, r.ids[1])
	r.must(err)
	if c := facts.Classifications; len(c) != 1 || c[0].Author != "ann" || c[0].Confidence != workflow.Likely {
		t.Errorf("kept: %+v", c)
	}
	r.check()
}

// TestResolveHoldsBeyondTheSite: requirements that would fit nowhere are rejected with
// what there is, unless forced.
func TestResolveHoldsBeyondTheSite(t *testing.T) {
	needs := workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}
	r, h := newHeldRig(t, []rigJob{{needs: needs}, {needs: needs}})
	_, err := r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	r.do(func(tx *core.Tx) error { return tx.ExecOne(`UPDATE compute_node SET compute_node_type = 'slurm'`) })
	r.Scheduling.PublishPlaces(r.workflow, fakePlaces{unplaced: func(c placement.Class) string {
		if c.MemoryBytes > 4<<30 {
			return "partition std: memory: largest node has 4.00 GiB"
		}
		return ""
	}})
	ask := func(memory string, o ResolveOptions) hold.HoldOutcome {
		t.Helper()
		w := hold.Classification{Status: workflow.Ready, Reason: "more", Memory: memory}
		out, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[:1]}, w, o)
		r.must(err)
		return out[0]
	}
	if o := ask("8g", ResolveOptions{}); o.Resolved || !strings.Contains(o.Error, "memory 1g -> 8g) fit nowhere: partition std: memory: largest node has 4.00 GiB") {
		t.Errorf("8g: %+v", o)
	}
	r.want(workflow.PendingFailed, workflow.PendingFailed)
	for memory, o := range map[string]ResolveOptions{"8g": {Force: true, DryRun: true}, "4g": {DryRun: true}} {
		if o := ask(memory, o); !o.Resolved {
			t.Errorf("%s: %+v", memory, o)
		}
	}
	if o := ask("8g", ResolveOptions{Force: true}); !o.Resolved {
		t.Errorf("forced: %+v", o)
	}
	r.check()
}

// It is unknown how large the next machine is that somebody runs the jobs on.
func TestResolveHoldsWithoutARunner(t *testing.T) {
	r, h := newHeldRig(t, []rigJob{{needs: workflow.ResourceRequirements{NumCPUs: 1, Memory: "1g"}}})
	_, err := r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	w := hold.Classification{Status: workflow.Ready, Reason: "more", Memory: "900g"}
	out, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, w, ResolveOptions{})
	r.must(err)
	if !out[0].Resolved {
		t.Errorf("%+v", out)
	}
}

// A name that two jobs share refers to neither.
func TestResolveHoldsOfAmbiguousName(t *testing.T) {
	r, _ := newHeldRig(t, independent(2), "a", "b")
	r.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE job SET name = 'same' WHERE workflow_id = ?`, r.workflow)
		return err
	})
	got, err := r.Holds.ResolveEach(r.ctx, r.workflow, []hold.HoldVerdict{{Job: "same", Action: workflow.ActionFail, Reason: "x"}}, ResolveOptions{})
	r.must(err)
	if !strings.Contains(got[0].Error, `2 jobs of workflow 1 have the name "same"`) {
		t.Errorf("outcome %+v", got)
	}
}
