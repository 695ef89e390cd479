package store

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// Whatever is done to a workflow with stages, it ends once per run and generation, and
// keeps all guarantees.
func TestWorkflowsWithStagesEnd(t *testing.T) {
	s := &staged{rig: newRig(t)}
	rapid.Check(t, func(t *rapid.T) {
		s.load(rapid.SampledFrom([]func() *workflow.Definition{
			func() *workflow.Definition { return withChild(true) }, func() *workflow.Definition { return withChild(false) }, withEnd, nested,
		}).Draw(t, "definition")())
		if n := rapid.Int64Range(0, 2).Draw(t, "max_failures"); n > 0 {
			s.do(func(tx *core.Tx) error {
				return tx.ExecOne(`UPDATE workflow SET policy = json_object('max_failures', ?) WHERE id = ?`, n, s.workflow)
			})
		}
		codes := map[string]int64{}
		for _, j := range s.def.Jobs {
			codes[j.Name] = rapid.SampledFrom([]int64{0, 0, 1}).Draw(t, j.Name)
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			id := s.ids[rapid.IntRange(0, len(s.ids)-1).Draw(t, "job")]
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				s.play(codes)
			case 1: // rejected where it makes no sense
				_, _ = s.Jobs.Retry(s.ctx, id, 1, 1000)
			case 2:
				_, _ = s.Jobs.ManageStatusChange(s.ctx, id, rapid.SampledFrom([]workflow.JobStatus{workflow.Ready, workflow.Uninitialized}).Draw(t, "status"), 1)
			case 3:
				_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, rapid.Bool().Draw(t, "failed only"), "me")
				s.must(err)
			case 4:
				s.initialize()
			case 5:
				s.hold(hold.ClaimHold{Kind: hold.HoldBreaker, Name: "gpu", Reason: "a breaker"})
			case 6:
				_, err := s.ClaimHolds.Release(s.ctx, s.workflow, "", "me")
				s.must(err)
			}
			s.check()
		}
		s.initialize()
		for range s.ids { // each time something failed that had not failed before, or it has ended
			s.play(codes)
			if s.number(`SELECT has_ended FROM workflow WHERE id = ?`, s.workflow) == 1 {
				break
			}
			if released, err := s.ClaimHolds.Release(s.ctx, s.workflow, "", "me"); err != nil || len(released) == 0 {
				t.Fatalf("it goes on without an end, and nothing is held: %v", err)
			}
		}
		if s.number(`SELECT has_ended FROM workflow WHERE id = ?`, s.workflow) != 1 {
			t.Fatalf("it has not ended: %v", s.statuses())
		}
		if s.tb.Failed() {
			t.FailNow()
		}
	})
	s.sound(check.Witness{})
}
