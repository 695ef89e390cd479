package store

import (
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// TestDeletedJobsOfAnEndedStage: the verdict of a sub-workflow stays when its jobs are
// deleted, and says how many there were; the checker knows that it cannot count these,
// and finds what they do not explain.
func TestDeletedJobsOfAnEndedStage(t *testing.T) {
	def := withChild(true)
	def.Stages[0].Policy.SuccessIf = `completed_in("a") == 1 && total == 3`
	def.Jobs = append(def.Jobs, job("sub/c", first, 2))
	s := newStaged(t, def)
	s.play(map[string]int64{"sub/b": 1})
	verdict := func() *stage.StageVerdict {
		t.Helper()
		all, err := s.Workflows.Stages(s.ctx, s.workflow)
		s.must(err)
		if all[0].State != stage.Ended || all[0].Verdict == nil {
			t.Fatalf("%+v", all[0])
		}
		return all[0].Verdict
	}
	if v := verdict(); !v.Succeeded() || v.TotalSteps != 3 || v.Failed != 1 || v.DeletedJobs != 0 {
		t.Fatalf("%+v", v)
	}
	for i, name := range []string{"sub/b", "sub/a"} {
		_, err := s.Jobs.Delete(s.ctx, s.id(name), "me")
		s.must(err)
		s.check()
		s.sound(check.Witness{})
		if v := verdict(); !v.Succeeded() || v.TotalSteps != 3 || v.Failed != 1 || v.DeletedJobs != int64(i+1) {
			t.Errorf("%+v", v)
		}
	}
}

// A sub-workflow whose end job failed and was deleted has failed nevertheless.
func TestDeletedEndJobOfAStage(t *testing.T) {
	s := newStaged(t, nested())
	s.play(map[string]int64{"out/end": 1})
	s.sound(check.Witness{})
	_, err := s.Jobs.Delete(s.ctx, s.id("out/end"), "me")
	s.must(err)
	s.sound(check.Witness{})
}

// A job that is deleted before a stage ends is not part of its verdict, and a repeated
// stage has a new verdict.
func TestDeletedJobsOfARunningStage(t *testing.T) {
	s := newStaged(t, withChild(false))
	answer := s.end(s.node.turn(), nil) // sub/a is granted
	_, err := s.Jobs.Delete(s.ctx, s.id("sub/b"), "me")
	s.must(err)
	answer = s.end(answer, map[string]int64{"sub/a": 1})
	stages, err := s.Workflows.Stages(s.ctx, s.workflow)
	s.must(err)
	if v := stages[0].Verdict; v == nil || v.TotalSteps != 1 || v.DeletedJobs != 0 || len(answer.Grants) != 0 {
		t.Fatalf("%+v", v)
	}
	s.sound(check.Witness{})
}

// TestCheckOfAStageVerdict: errors in a verdict are found, even after jobs were deleted
// if their number does not explain them.
func TestCheckOfAStageVerdict(t *testing.T) {
	if *inMemory || *asNetwork {
		t.Skip("nobody else can read the database")
	}
	h := &history{rig: newRig(t)}
	s := &staged{rig: h.rig}
	s.load(withChild(true))
	s.play(map[string]int64{"sub/b": 1})
	spoilt := func(path string, value any) []check.Finding {
		return h.checkAfter(t, fmt.Sprintf(`UPDATE stage SET verdict = json_set(verdict, '%s', %v) WHERE name = 'sub'`, path, value))
	}
	for _, deleted := range []bool{false, true} {
		if deleted {
			_, err := s.Jobs.Delete(s.ctx, s.id("sub/a"), "me")
			s.must(err)
		}
		if findings := h.checkAfter(t, `SELECT 1`); len(findings) > 0 {
			t.Fatalf("nothing is wrong, but: %v", findings)
		}
		for _, tc := range []struct {
			path          string
			value         any
			text, without string // without the deleted job
		}{
			{"$.total_steps", 3, "total_steps is 3, a recount says 2", "total_steps is 3, without 1 deleted job a recount says 1"},
			{"$.total_steps", 1, "total_steps is 1, a recount says 2", "total_steps is 1, without 1 deleted job a recount says 1"},
			{"$.failed", 0, "failed is 0, a recount says 1", "failed is 0, without 1 deleted job a recount says 1"},
			{"$.completed", 3, "completed is 3, a recount says 1", "completed is 3, without 1 deleted job a recount says 0"},
			{"$.retried", -1, "retried is -1, a recount says 0", "retried is -1, without 1 deleted job a recount says 0"},
			{"$.by_cause.exit", 0, "causes are map[exit:0]", "causes are map[exit:0]"},
		} {
			text := tc.text
			if deleted {
				text = tc.without
			}
			t.Run(fmt.Sprintf("deleted %t %s %v", deleted, tc.path, tc.value), func(t *testing.T) {
				wantFinding(t, spoilt(tc.path, tc.value), "P11", text)
			})
		}
	}
}
