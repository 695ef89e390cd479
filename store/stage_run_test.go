package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// After a reset there is no running stage, even before the initialization.
func TestResetStages(t *testing.T) {
	s := newStaged(t, withChild(true))
	answer := s.node.turn()
	s.node.turn(exited(answer.Grants[0].LeaseRef, 0)) // sub/a is granted
	_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, false, "me")
	s.must(err)
	if n := s.number(`SELECT COUNT(*) FROM stage WHERE state != 'not_started'`); n != 0 {
		t.Errorf("%d stages are not at their beginning", n)
	}
	s.check()
	s.sound(check.Witness{})
	s.initialize()
	if diff := cmp.Diff([]string{"before", "sub/a", "sub/b", "after", "end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	s.sound(check.Witness{})
}

// A sub-workflow that ends in another run than it started in counts the attempts of the
// former.
func TestStageAcrossRuns(t *testing.T) {
	s := newStaged(t, withChild(false))
	answer := s.node.turn()
	answer = s.node.turn(exited(answer.Grants[0].LeaseRef, 0))
	s.node.turn(exited(answer.Grants[0].LeaseRef, 1)) // sub/a failed, sub/b is skipped, sub has failed
	_, err := s.Jobs.Retry(s.ctx, s.id("sub/a"), 1, 10)
	s.must(err)
	w, err := s.Workflows.Reset(s.ctx, s.workflow, true, "me")
	s.must(err)
	s.node = s.hand("n2", 10)
	s.node.runID = w.RunID
	if diff := cmp.Diff([]string{"sub/a", "sub/b", "after"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	stages, err := s.Workflows.Stages(s.ctx, s.workflow)
	s.must(err)
	if v := stages[0].Verdict; stages[0].RunID != w.RunID || v == nil || v.RunID != w.RunID || !v.Succeeded() {
		t.Errorf("%+v, verdict %+v", stages[0], v)
	}
	s.sound(check.Witness{})
}

// No job can be made to run before its stage.
func TestNotBeforeTheStage(t *testing.T) {
	s := newStaged(t, withEnd())
	_, err := s.Jobs.ManageStatusChange(s.ctx, s.id("end"), workflow.Running, 1)
	wantCode(t, err, workflow.CodeConflict)
	s.sound(check.Witness{})
}

// withUndo is two jobs, one after the other, each with an undo.
func withUndo() *workflow.Definition {
	d := &workflow.Definition{
		Policy: &workflow.RunPolicy{OnFailure: &workflow.CompensationPolicy{When: []workflow.CompensationCase{workflow.CompensateFailed, workflow.CompensateCanceled}}},
		Jobs:   []workflow.JobDefinition{job("a", inMain), job("b", inMain, 0)},
	}
	stage.AddCompensation(d, map[int32]string{0: "true", 1: "true"})
	return d
}

// A compensation stays disabled until it is needed, and one of a canceled run repeats
// what failed.
func TestUndoOfACanceledRunIsRepeated(t *testing.T) {
	s := newStaged(t, withUndo())
	s.sound(check.Witness{})
	s.node.turn() // a is granted
	_, err := s.Workflows.Cancel(s.ctx, s.workflow)
	s.must(err)
	s.node.held = nil
	answer := s.node.turn()
	if len(answer.Grants) != 1 || s.name(answer.Grants[0].JobID) != "undo/a" {
		t.Fatalf("%+v", answer)
	}
	s.node.turn(exited(answer.Grants[0].LeaseRef, 1))
	s.statusOf(map[string]workflow.JobStatus{"undo/a": workflow.Ready, "undo/b": workflow.Disabled})
	s.sound(check.Witness{})
	s.now = s.now.Add(time.Minute) // its backoff
	if diff := cmp.Diff([]string{"undo/a"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if got := s.compensation(); got != "completed" {
		t.Errorf("compensation: %s", got)
	}
	s.sound(check.Witness{})
}

// After a reset a compensation is disabled as it was after its creation.
func TestResetCompensationRests(t *testing.T) {
	s := newStaged(t, withUndo())
	for answer := s.node.turn(); len(answer.Grants) > 0; {
		answer = s.end(answer, map[string]int64{"b": 1})
	}
	s.play(nil)
	if got := s.compensation(); got != "completed" {
		t.Fatalf("compensation: %s", got)
	}
	_, err := s.Workflows.Reset(s.ctx, s.workflow, true, "me")
	s.must(err)
	_, err = s.Workflows.ResetJobs(s.ctx, s.workflow, false, "me")
	s.must(err)
	resting := map[string]workflow.JobStatus{"undo/a": workflow.Disabled, "undo/b": workflow.Disabled}
	s.statusOf(resting)
	s.initialize()
	s.statusOf(resting)
	s.check()
	s.sound(check.Witness{})
}

// A sub-workflow job that somebody makes ready in a canceled run is granted to no runner.
func TestASubWorkflowOfACanceledRunWaits(t *testing.T) {
	s := newStaged(t, withChild(false))
	s.end(s.node.turn(), nil) // sub/a is granted
	_, err := s.Workflows.Cancel(s.ctx, s.workflow)
	s.must(err)
	_, err = s.Jobs.ManageStatusChange(s.ctx, s.id("sub"), workflow.Ready, 1)
	s.must(err)
	s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Blocked})
}

// An end job that times out for the second time while it waits in a run has two attempts.
func TestTimeoutOfAnEndJobThatRunsAgain(t *testing.T) {
	def := withEnd()
	def.Jobs[4].Policy = &workflow.JobPolicy{Timeouts: &workflow.Timeouts{Queue: limit("1h", workflow.OnTimeoutFail)}}
	s := newStaged(t, def)
	s.play(map[string]int64{"step3": 1})
	s.statusOf(map[string]workflow.JobStatus{"step3": workflow.Failed, "end": workflow.Completed})
	_, err := s.Jobs.Retry(s.ctx, s.id("step3"), 1, 10)
	s.must(err)
	answer := s.node.turn()
	s.node.free.Slots = 0
	s.end(answer, nil)
	s.statusOf(map[string]workflow.JobStatus{"step3": workflow.Completed, "end": workflow.Ready})
	s.pass(time.Hour)
	s.statusOf(map[string]workflow.JobStatus{"end": workflow.Terminated})
	attempts, err := s.Jobs.Attempts(s.ctx, s.id("end"))
	s.must(err)
	if len(attempts) != 2 {
		t.Errorf("%d attempts: %+v", len(attempts), attempts)
	}
	s.sound(check.Witness{})
}
