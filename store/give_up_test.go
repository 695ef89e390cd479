package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// A run that is given up goes on to its end like every other one: with its end
// job, whatever holds claims, and with its verdict behind that.
func TestAGivenUpRunHasItsEndJob(t *testing.T) {
	s := newStaged(t, withChild(true))
	s.setPolicy(workflow.RunPolicy{Deadline: &workflow.Deadline{After: "1h", Policy: workflow.DeadlineStopNew}})
	s.initialize() // the deadline begins
	answer := s.node.turn()
	s.node.turn(exited(answer.Grants[0].LeaseRef, 0)) // sub/a is granted
	s.node.held[0].StartedMS = s.now.UnixMilli()
	s.passDeadlines(time.Hour)
	s.node.free.Slots = 0
	s.node.turn(exited(s.node.held[0].LeaseRef, 0))
	s.passDeadlines(0)
	s.statusOf(map[string]workflow.JobStatus{
		"before": workflow.Completed, "sub": workflow.Canceled, "sub/a": workflow.Completed, "sub/b": workflow.Canceled,
		"after": workflow.Canceled, "end": workflow.Ready,
	})
	s.node.free.Slots = 4
	if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Reason == "" || v.TotalSteps != 3 || v.Canceled != 2 {
		t.Errorf("%+v", v)
	}
	s.sound(Witness{})

	// Repeating what it canceled opens it again, and it is not given up any more.
	_, err := s.ResetJobStatus(s.ctx, s.workflow, true, "me")
	s.must(err)
	if r := s.number(`SELECT given_up IS NULL AND has_ended = 0 FROM workflow`); r != 1 {
		t.Error("it is still given up")
	}
	s.sound(Witness{})
}

// The verdict of a run that its last job gives up is that of a run that was given
// up, whatever else it would have been.
func TestTheLastJobGivesUpTheRun(t *testing.T) {
	hold := []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "h", DefaultAction: workflow.ActionHold}}}
	for name, test := range map[string]struct {
		timeouts workflow.Timeouts
		held     bool
	}{
		"waiting": {workflow.Timeouts{Queue: limit("1h", workflow.OnTimeoutFailWorkflow)}, false},
		"held":    {workflow.Timeouts{Total: limit("1h", workflow.OnTimeoutFailWorkflow)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setTimeouts(test.timeouts)
			r.says(workflow.RunPolicy{End: &workflow.EndPolicy{SuccessIf: "failed >= 0"}, RetryPolicies: hold})
			if test.held {
				h := r.hand("n1", 1)
				h.turn()
				h.turn(exited(h.held[0].LeaseRef, 1))
			}
			r.pass(time.Hour)
			if v := r.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Reason == "" {
				t.Errorf("%+v", v)
			}
			if n := r.number(`SELECT COUNT(*) FROM event WHERE type = 'run_given_up'`); n != 1 {
				t.Errorf("%d events say that it was given up", n)
			}
			r.sound(Witness{})
		})
	}
}
