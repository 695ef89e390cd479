package store

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// deadlined is a rig whose run has just started, with a deadline of an hour.
func deadlined(t *testing.T, p workflow.DeadlinePolicy, jobs ...rigJob) *rig {
	t.Helper()
	r := newRig(t, jobs...)
	r.setPolicy(workflow.RunPolicy{Deadline: &workflow.Deadline{After: "1h", Policy: p}})
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{}))
	return r
}

// passDeadlines has time pass and then the daemon apply deadlines.
func (r *rig) passDeadlines(d time.Duration) int {
	r.tb.Helper()
	r.now = r.now.Add(d)
	n, err := r.Timeouts.ApplyDeadlines(r.ctx)
	r.must(err)
	return n
}

func TestDeadlineAlerts(t *testing.T) {
	r := deadlined(t, workflow.DeadlineAlert, independent(1)...)
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{OnlyUninitialized: true})) // does not restart it
	if r.passDeadlines(time.Hour-time.Millisecond) != 0 || r.passDeadlines(time.Millisecond) != 1 || r.passDeadlines(time.Hour) != 0 {
		t.Error("the deadline does not pass once, after an hour")
	}
	if n := len(r.alerts()); n != 1 {
		t.Errorf("%d alerts", n)
	}
	r.want(workflow.Ready)
	r.sound(check.Witness{})
}

// stop_new: live jobs continue; then the run has failed, although nobody can ever start
// the rest.
func TestDeadlineStopsClaims(t *testing.T) {
	r := deadlined(t, workflow.DeadlineStopNew, independent(2)...)
	h := r.hand("n1", 1)
	h.turn()
	r.passDeadlines(time.Hour)
	r.want(workflow.Pending, workflow.Ready)
	if jobs, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 5, nil); err != nil || len(jobs) > 0 {
		t.Errorf("torc's clients get %v, %v", jobs, err)
	}
	answer := h.turn(exited(h.held[0].LeaseRef, 0)) // the runner need not leave before the verdict
	if len(answer.Grants) > 0 || answer.ClaimableLater || !answer.Complete {
		t.Errorf("after the deadline: %+v", answer)
	}
	v := r.ended()
	if v.EventType != string(workflow.EventWorkflowFailed) || v.Canceled != 1 || v.Completed != 1 || !strings.Contains(v.Reason, "deadline") {
		t.Errorf("verdict: %+v", v)
	}
	r.want(workflow.Completed, workflow.Canceled)
	r.sound(check.Witness{})
}

// If nothing was left to start, the run has its usual end.
func TestDeadlineOfTheLastJobs(t *testing.T) {
	r := deadlined(t, workflow.DeadlineStopNew, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	r.passDeadlines(time.Hour)
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.passDeadlines(0)
	if v := r.ended(); v.EventType != string(workflow.EventWorkflowCompleted) {
		t.Errorf("verdict: %+v", v)
	}
}

func TestDeadlineFails(t *testing.T) {
	r := deadlined(t, workflow.DeadlineFail, independent(2)...)
	r.hand("n1", 1).turn()
	r.passDeadlines(time.Hour)
	r.want(workflow.Canceled, workflow.Canceled)
	if v := r.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Canceled != 2 {
		t.Errorf("verdict: %+v", v)
	}
	r.sound(check.Witness{})
	_, err := r.Workflows.Reset(r.ctx, r.workflow, false, "me")
	r.must(err)
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{}))
	if n := r.passDeadlines(time.Hour - time.Millisecond); n != 0 {
		t.Error("the deadline of the new run is that of the old one")
	}
}
