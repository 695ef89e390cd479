package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestOwnCancelIsKnown has two runners report that Slurm canceled their allocations; we
// canceled one of them.
func TestOwnCancelIsKnown(t *testing.T) {
	for _, tc := range []struct {
		name string
		ours bool
		said *workflow.SlurmEvidence // what Slurm tells the runner
		want string
	}{
		{"by the owner", false, &workflow.SlurmEvidence{JobState: failure.Cancelled, CanceledBy: "1000", Owner: "1000"}, "1 canceled_user canceled -1 none"},
		{"by us", true, &workflow.SlurmEvidence{JobState: failure.Cancelled, CanceledBy: "1000", Owner: "1000"}, "1 preempted terminated -1 retry"},
		{"by us, and Slurm does not say it", true, nil, "1 preempted terminated -1 retry"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.intend("aa")
			a := r.adopt("aa", 17, 0)
			h := r.join("aa", 17, 0)
			h.turn()
			h.start(1)
			if tc.ours {
				_, err := r.Allocations.RequestCancel(r.ctx, []int64{a.ID}, "no work is left")
				r.must(err)
				r.must(r.Allocations.RecordCancel(r.ctx, []int64{a.ID}))
			}
			h.turn(lease.Report{LeaseRef: h.held[0].LeaseRef, StartedMS: r.now.UnixMilli(), EndedMS: r.now.UnixMilli() + 1000,
				Evidence: workflow.Evidence{KilledBy: workflow.KilledByDrain, Slurm: tc.said}})
			if got := r.attempts(0); len(got) != 1 || got[0] != tc.want {
				t.Errorf("attempts %q, want %q", got, tc.want)
			}
			if tc.said != nil && tc.said.CanceledByUs {
				t.Error("the caller's evidence was changed")
			}
			r.check()
		})
	}
}

// TestTakenIsKnown has a runner report an attempt that ended while Slurm was preempting
// its allocation, which the runner does not know.
func TestTakenIsKnown(t *testing.T) {
	drained, code := workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain}, int64(3)
	nodeFail := &workflow.SlurmEvidence{JobState: "NODE_FAIL"}
	for name, tc := range map[string]struct {
		seen Observation
		said workflow.Evidence
		want string
	}{
		"nobody knows":            {Observation{}, drained, "1 walltime terminated 152 retry"},
		"its node failed":         {Observation{NodeLoss: nodeFail}, drained, "1 node_fail failed 143 retry"},
		"it is preempted":         {Observation{NodeLoss: &workflow.SlurmEvidence{JobState: "PREEMPTED", Inferred: true}}, drained, "1 preempted terminated 143 retry"},
		"it was requeued":         {Observation{RestartCount: 1}, drained, "1 preempted terminated 143 retry"},
		"its process was told":    {Observation{NodeLoss: nodeFail}, workflow.Evidence{Signal: 15}, "1 node_fail failed 143 retry"},
		"the runner knows better": {Observation{NodeLoss: nodeFail}, workflow.Evidence{Signal: 15, KilledBy: workflow.KilledByDrain, Slurm: &workflow.SlurmEvidence{JobState: "PREEMPTED"}}, "1 preempted terminated 143 retry"},
		"it failed by itself":     {Observation{NodeLoss: nodeFail}, workflow.Evidence{ExitCode: &code}, "1 exit failed 3 fail"},
		"it crashed":              {Observation{NodeLoss: nodeFail}, workflow.Evidence{Signal: 11}, "1 signal failed 139 fail"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.intend("aa")
			a := r.adopt("aa", 17, 0)
			h := r.join("aa", 17, 0)
			h.turn()
			h.start(1)
			tc.seen.AllocationID, tc.seen.State = a.ID, compute.AllocationActive
			r.observe(tc.seen)
			h.turn(lease.Report{LeaseRef: h.held[0].LeaseRef, StartedMS: r.now.UnixMilli(), EndedMS: r.now.UnixMilli() + 1000, Evidence: tc.said})
			if got := r.attempts(0); len(got) != 1 || got[0] != tc.want {
				t.Errorf("attempts %q, want %q", got, tc.want)
			}
			r.check()
		})
	}
}

// TestRunnerKnowsWhy: what a runner reports about a preemption of its allocation is kept,
// until Slurm says that there is none.
func TestRunnerKnowsWhy(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.intend("aa")
	a := r.adopt("aa", 17, 0)
	h := r.join("aa", 17, 0)
	h.turn()
	h.start(1)
	said := workflow.SlurmEvidence{JobState: failure.Preempted, Reason: "its end was moved", Inferred: true}
	h.turn(lease.Report{LeaseRef: h.held[0].LeaseRef, StartedMS: r.now.UnixMilli(), EndedMS: r.now.UnixMilli() + 1000,
		Evidence: workflow.Evidence{Signal: 15, Slurm: &said}})
	known := func() workflow.SlurmEvidence {
		a, err := r.Allocations.Get(r.ctx, a.ID)
		r.must(err)
		if a.NodeLoss == nil {
			return workflow.SlurmEvidence{}
		}
		return *a.NodeLoss
	}
	if got := known(); got != said {
		t.Errorf("it is taken for %+v, want %+v", got, said)
	}
	seen := Observation{AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "COMPLETING"}
	r.observe(seen)
	if got := known(); got != said {
		t.Errorf("after a look that knows nothing of it, it is taken for %+v", got)
	}
	seen.NodeLoss = &workflow.SlurmEvidence{}
	r.observe(seen)
	if got := known(); got != *seen.NodeLoss {
		t.Errorf("Slurm does not take it, and it is taken for %+v", got)
	}
	r.check()
}

// TestAccountSteps fills in what reports did not contain, only for the runner's own
// attempts.
func TestAccountSteps(t *testing.T) {
	r := newRig(t, independent(2)...)
	h, other := r.hand("n1", 1), r.hand("n2", 1)
	h.turn()
	other.turn()
	code, start := int64(0), r.now.UnixMilli()
	for _, runner := range []*hand{h, other} {
		runner.turn(lease.Report{LeaseRef: runner.held[0].LeaseRef, StartedMS: start, EndedMS: start + 2000, Evidence: workflow.Evidence{ExitCode: &code}})
	}
	rss, cpu := int64(5<<20), 1.0
	for range 2 { // it may be repeated
		r.must(r.SlurmStats.AccountSteps(r.ctx, h.id, []compute.SlurmStats{
			{JobID: r.ids[0], RunID: 1, AttemptID: 1, MaxRSSBytes: &rss, AveCPUSeconds: &cpu},
			{JobID: r.ids[1], RunID: 1, AttemptID: 1, MaxRSSBytes: &rss},
			{JobID: r.ids[0], RunID: 1, AttemptID: 9, MaxRSSBytes: &rss},
		}))
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM slurm_stats`:                                                             1,
		`SELECT peak_memory_bytes FROM result WHERE job_id = (SELECT min(id) FROM job)`:                rss,
		`SELECT CAST(avg_cpu_percent AS INTEGER) FROM result WHERE job_id = (SELECT min(id) FROM job)`: 50,
		`SELECT count(*) FROM attempt WHERE peak_memory_bytes > 0`:                                     1,
	} {
		if got := r.number(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	r.check()
}

// TestNothingFitsInTheTimeLeft: a runner does not wait for jobs, of a minute, for which
// no time is left, wherever they are.
func TestNothingFitsInTheTimeLeft(t *testing.T) {
	long := rigJob{needs: workflow.ResourceRequirements{NumCPUs: 1}}
	behind := long
	behind.after = []int{0}
	r := newRig(t, long, behind)
	r.hand("n1", 1).withNode(1, 1).turn() // takes the first
	h := r.hand("n2", 1).withNode(1, 1)
	if answer := h.turn(); !answer.ClaimableLater {
		t.Errorf("without an end: %+v", answer)
	}
	left := int64(30)
	h.free.TimeLeftSeconds = &left
	if answer := h.turn(); answer.ClaimableLater || answer.OpenJobs != 2 {
		t.Errorf("with half a minute left: %+v", answer)
	}
}
