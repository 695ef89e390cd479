package store

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/event"
)

// doubts returns the events about kills whose victim is in doubt.
func (r *rig) doubts() (all []event.OOMDoubtfulPayload) {
	r.tb.Helper()
	events, err := r.Events.After(r.ctx, r.workflow, 0, 1000)
	r.must(err)
	for _, e := range events {
		if e.Type != workflow.EventOOMDoubtful {
			continue
		}
		var p event.OOMDoubtfulPayload
		r.must(json.Unmarshal(e.Data, &p))
		all = append(all, p)
	}
	return all
}

// Two jobs exit with 0, and one of them has lost a process to the kernel. Their policies
// say which of them fail; in any case an event names both.
func TestOOMInDoubt(t *testing.T) {
	for _, tc := range []struct {
		policy string
		want   []workflow.JobStatus
	}{
		{"", []workflow.JobStatus{workflow.Failed, workflow.Completed}},
		{`"oom_partial": "fail_likely"`, []workflow.JobStatus{workflow.Failed, workflow.Completed}},
		{`"oom_partial": "ignore"`, []workflow.JobStatus{workflow.Completed, workflow.Completed}},
		{`"oom_partial": "fail_all"`, []workflow.JobStatus{workflow.Failed, workflow.Failed}},
	} {
		t.Run(tc.policy, func(t *testing.T) {
			r := newRig(t, independent(2)...)
			if tc.policy != "" {
				r.usePolicies(`{"retry_policies": [{"name": "mine", ` + tc.policy + `}]}`)
			}
			h := r.hand("n1", 2)
			h.turn()
			first, second := exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0)
			first.Evidence.OOMKills, second.Evidence.OOMKills = 1, 1
			// Only the daemon knows the policies.
			first.Evidence.OOMShare = &workflow.OOMShare{Doubtful: 1, Likely: true, Others: []string{"second"}, OtherCount: 1, Policy: "nonsense"}
			second.Evidence.OOMShare = &workflow.OOMShare{Doubtful: 1, Others: []string{"first"}, OtherCount: 1}
			h.free.Slots = 0
			h.turn(first, second)
			r.want(tc.want...)
			doubts := r.doubts()
			if len(doubts) != 2 {
				t.Fatalf("%d events on doubts: %v", len(doubts), r.events())
			}
			var statuses []workflow.JobStatus
			for _, p := range doubts {
				statuses = append(statuses, p.Status)
			}
			if diff := cmp.Diff(tc.want, statuses); diff != "" {
				t.Errorf("statuses in events (-want +got):\n%s", diff)
			}
			if !slices.Equal(doubts[0].Others, []string{"second"}) || !doubts[0].Likely || doubts[1].Likely || doubts[0].Kills != 1 {
				t.Errorf("events %+v", doubts)
			}
			findings, err := check.Deep(r.ctx, r.Path(), check.Witness{})
			r.must(err)
			for _, f := range findings {
				t.Error("the database: ", f)
			}
		})
	}
}

// Slurm calls an allocation OUT_OF_MEMORY. If no job of it is known to have lost a
// process, an event names them all.
func TestOutOfMemoryOfNobody(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cause compute.AllocationCause
		kills int64 // that the runner has counted
		want  int
	}{
		{"nobody knows", compute.AllocationOOM, 0, 1},
		{"a runner has seen it", compute.AllocationOOM, 1, 0},
		{"not out of memory", compute.AllocationDone, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, independent(3)...)
			a := r.intend("aa")
			h := r.join("aa", 17, 0)
			h.free.Slots = 2
			h.turn()
			h.free.Slots = 0
			first, second := exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0)
			first.Evidence.OOMKills = tc.kills
			h.turn(first, second)
			r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: tc.cause, Confidence: workflow.Certain, Text: "Slurm says OUT_OF_MEMORY"}))
			doubts := r.doubts()
			if len(doubts) != tc.want {
				t.Fatalf("%d events: %v", len(doubts), r.events())
			}
			if tc.want == 0 {
				return
			}
			names := []string{r.name(0), r.name(1)}
			if p := doubts[0]; p.AllocationID != a.ID || p.OtherCount != 2 || !slices.Equal(p.Others, names) || p.RunID != 1 ||
				p.Text != "Slurm says OUT_OF_MEMORY; which job lost a process is unknown, candidates are "+names[0]+", "+names[1] {
				t.Errorf("event %+v, want one about %v", p, names)
			}
		})
	}
}

// name returns the name of a job.
func (r *rig) name(i int) string {
	r.tb.Helper()
	j, err := r.Jobs.Get(r.ctx, r.ids[i])
	r.must(err)
	return j.Name
}
