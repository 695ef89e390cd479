package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// A job that was held before its stage started, and is then classified for a retry, waits
// for its stage.
func TestAHeldJobWaitsForItsStage(t *testing.T) {
	for _, all := range []bool{false, true} {
		s := newStaged(t, withChild(false))
		_, err := s.Jobs.ManageStatusChange(s.ctx, s.id("sub/a"), workflow.PendingFailed, 1)
		s.must(err)
		if all {
			_, err = s.Holds.Resolve(s.ctx, s.workflow, HoldSelection{}, hold.Classification{Status: workflow.Ready, Author: "me", Reason: "so"}, ResolveOptions{})
		} else {
			_, err = s.Jobs.Update(s.ctx, s.id("sub/a"), workflow.JobUpdate{Status: new(workflow.Ready)})
		}
		s.must(err)
		s.statusOf(map[string]workflow.JobStatus{"sub": workflow.Blocked, "sub/a": workflow.Blocked})
		s.sound(check.Witness{})
	}
}

// A job of a disabled sub-workflow inside one that has not started cannot be made to run
// before that.
func TestNoJobRunsBeforeTheStageAboveIt(t *testing.T) {
	s := newStaged(t, nested())
	_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, false, "me")
	s.must(err)
	_, err = s.Jobs.Update(s.ctx, s.id("out/in"), workflow.JobUpdate{Status: new(workflow.Disabled)})
	s.must(err)
	for _, to := range []workflow.JobStatus{workflow.Ready, workflow.Pending, workflow.Running, workflow.PendingFailed} {
		if _, err := s.Jobs.ManageStatusChange(s.ctx, s.id("out/in/x"), to, 1); err == nil {
			t.Errorf("it became %s", to)
		}
	}
	s.sound(check.Witness{})
}
