package store

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// setTimeouts gives all jobs of a rig timeouts.
func (r *rig) setTimeouts(t workflow.Timeouts) {
	r.tb.Helper()
	p := workflow.JobPolicy{Timeouts: &t}
	r.must(workflow.ProblemsError("job", p.Validate()))
	text, err := json.Marshal(p)
	r.must(err)
	r.do(func(tx *core.Tx) error {
		id, err := policyOf(tx, r.workflow, string(text), t.NeedDaemon())
		if err != nil {
			return err
		}
		_, err = tx.Exec(`UPDATE job SET policy_id = ? WHERE workflow_id = ?`, id, r.workflow)
		tx.Ready(r.workflow)
		return err
	})
}

// pass has time pass and then the daemon check timeouts.
func (r *rig) pass(d time.Duration) {
	r.tb.Helper()
	r.now = r.now.Add(d)
	overdue, err := r.Timeouts.Overdue(r.ctx)
	r.must(err)
	for _, o := range overdue {
		if _, err := r.Timeouts.Expire(r.ctx, o, "nobody is there"); err != nil {
			r.tb.Fatal(err)
		}
	}
}

// alertSubjects returns the subjects of all alerts of a rig.
func (r *rig) alertSubjects() []string {
	r.tb.Helper()
	var all []string
	for _, a := range r.alerts() {
		all = append(all, a.Subject)
	}
	return all
}

// begins claims what there is room for, starts it, and takes nothing more.
func (h *hand) begins() {
	h.turn()
	for i := range h.held {
		h.held[i].StartedMS = h.now.UnixMilli()
	}
	h.free.Slots = 0
	h.turn()
}

func limit(after string, p workflow.TimeoutPolicy) *workflow.TimeLimit {
	return &workflow.TimeLimit{After: after, Policy: p}
}

// One alert for all jobs that wait, once for each wait.
func TestQueueTimeoutAlerts(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.setTimeouts(workflow.Timeouts{Queue: limit("1h", "")})
	r.pass(time.Hour - time.Millisecond)
	if got := r.alerts(); len(got) > 0 {
		t.Fatalf("too early: %v", got)
	}
	r.pass(time.Millisecond)
	r.pass(5 * time.Hour)
	if diff := cmp.Diff([]string{"timeouts.queue (1h) of j0, j1, j2"}, r.alertSubjects()); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
	if text := r.alerts()[0].Text; !strings.Contains(text, "nobody is there") {
		t.Errorf("the alert does not explain: %s", text)
	}
	// It is claimed and returned: another wait.
	h := r.hand("n1", 1)
	h.turn()
	h.free.Slots = 0
	h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{h.held[0].LeaseRef}})
	r.pass(time.Hour - time.Millisecond)
	if n := len(r.alerts()); n != 1 {
		t.Errorf("%d alerts before the second wait is over", n)
	}
	r.pass(time.Millisecond)
	if diff := cmp.Diff("timeouts.queue (1h) of j0", r.alertSubjects()[1]); diff != "" {
		t.Errorf("alert of the second wait (-want +got):\n%s", diff)
	}
	r.want(workflow.Ready, workflow.Ready, workflow.Ready)
	r.sound(check.Witness{})
}

// A delay before a retry does not count as waiting for a runner.
func TestQueueTimeoutBeginsAfterTheDelay(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Queue: limit("1h", "")})
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE job SET not_before_ms = ? WHERE id = ?`, r.now.Add(2*time.Hour).UnixMilli(), r.ids[0])
	})
	r.pass(3*time.Hour - time.Millisecond)
	if got := r.alerts(); len(got) > 0 {
		t.Fatalf("too early: %v", got)
	}
	r.pass(time.Millisecond)
	if n := len(r.alerts()); n != 1 {
		t.Errorf("%d alerts", n)
	}
}

// Jobs behind one whose time is over are skipped, and an attempt says why.
func TestTimeoutsOfWaitingJobsFail(t *testing.T) {
	for name, timeouts := range map[string]workflow.Timeouts{
		"queue": {Queue: limit("1h", workflow.OnTimeoutFail)},
		"total": {Total: limit("1h", "")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, chainOf(2)...)
			r.setTimeouts(timeouts)
			r.pass(time.Hour)
			r.want(workflow.Terminated, workflow.Canceled)
			attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
			r.must(err)
			if len(attempts) != 1 || attempts[0].Cause.Kind != workflow.CauseTimeout || attempts[0].StartedMS != nil ||
				!strings.HasPrefix(attempts[0].Cause.Text, "timeouts."+name) {
				t.Errorf("attempts: %+v", attempts)
			}
			if v := r.ended(); v.Failed != 0 || v.Terminated != 1 || v.Canceled != 1 || v.ByCause[workflow.CauseTimeout] != 1 {
				t.Errorf("verdict: %+v", v)
			}
			r.sound(check.Witness{})
		})
	}
}

// All attempts and waits count; a running attempt is told to end, and what it reports is
// the end.
func TestTotalTimeoutEndsARunningAttempt(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	h := r.hand("n1", 3)
	h.begins()
	r.pass(time.Hour)
	answer := h.turn()
	if len(answer.Cancel) != 3 {
		t.Fatalf("to end: %v", answer.Cancel)
	}
	r.pass(time.Hour) // nothing else is done meanwhile
	h.turn(endedByUs(h.held[0].LeaseRef, workflow.KilledBySibling), exited(h.held[1].LeaseRef, 0), completedInGrace(h.held[2].LeaseRef))
	r.want(workflow.Terminated, workflow.Completed, workflow.Completed) // the second one was just in time
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	if attempts[0].Cause.Kind != workflow.CauseTimeout || !strings.HasPrefix(attempts[0].Decision.Reason, "timeouts.total") {
		t.Errorf("attempt: %+v", attempts[0])
	}
	r.sound(check.Witness{})
}

// A runner that has not started the job returns it; then it has failed.
func TestTotalTimeoutOfAClaimedJob(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	h := r.hand("n1", 1)
	h.turn()
	h.free.Slots = 0
	r.pass(time.Hour)
	h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{h.held[0].LeaseRef}})
	r.pass(0)
	r.want(workflow.Terminated)
	r.sound(check.Witness{})
}

// Only a person can retry a job whose time is over; it then has all of its time.
func TestRetryAfterTheTotalTimeout(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	r.pass(time.Hour)
	r.want(workflow.Terminated, workflow.Canceled)
	_, err := r.Jobs.Retry(r.ctx, r.ids[0], 1, 9)
	wantCode(t, err, workflow.CodeConflict)
	if err == nil || !strings.Contains(err.Error(), "timeouts.total: it was first ready 1h ago") {
		t.Errorf("the refusal: %v", err)
	}
	r.want(workflow.Terminated, workflow.Canceled)
	_, err = r.Jobs.RetryAnew(r.ctx, r.ids[0], 1, 9)
	r.must(err)
	r.sound(check.Witness{})
	r.pass(time.Hour - time.Millisecond)
	r.want(workflow.Ready, workflow.Blocked)
	h := r.hand("n1", 1)
	h.begins()
	r.want(workflow.Running, workflow.Blocked)
	r.pass(time.Millisecond)
	if answer := h.turn(); len(answer.Cancel) != 1 {
		t.Errorf("to end: %v", answer.Cancel)
	}
	r.sound(check.Witness{})
}

// A torc client cannot retry a job that has no time left.
func TestRetryOfARunningJobWithoutTime(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	h := r.hand("n1", 1)
	h.begins()
	r.pass(time.Hour - time.Millisecond)
	r.now = r.now.Add(time.Millisecond)
	_, err := r.Jobs.Retry(r.ctx, r.ids[0], 1, 9)
	wantCode(t, err, workflow.CodeConflict)
	r.want(workflow.Running)
}

// A held job has no more time than others.
func TestTotalTimeoutOfAHeldJob(t *testing.T) {
	r, _ := newHeldRig(t, independent(1))
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE job SET first_ready_ms = ? WHERE id = ?`, tx.NowMS, r.ids[0])
	})
	r.pass(time.Hour)
	r.want(workflow.Failed)
	facts, err := r.Jobs.Facts(r.ctx, r.ids[0])
	r.must(err)
	if c := facts.Classifications; len(c) != 1 || c[0].Author != "timeouts.total" {
		t.Errorf("classifications: %+v", c)
	}
}

// fail_workflow: live jobs are ended, waiting ones do not run, and the run has failed
// with the reason.
func TestTimeoutFailsTheWorkflow(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{needs: workflow.ResourceRequirements{NumCPUs: 2}}, rigJob{after: []int{0}})
	r.setTimeouts(workflow.Timeouts{Queue: limit("1h", workflow.OnTimeoutFailWorkflow)})
	h := r.hand("n1", 1)
	h.begins()
	r.pass(time.Hour)
	r.want(workflow.Canceled, workflow.Terminated, workflow.Canceled)
	v := r.ended()
	if v.EventType != string(workflow.EventWorkflowFailed) || !strings.Contains(v.Reason, "job j1: timeouts.queue") || v.Canceled != 2 {
		t.Errorf("verdict: %+v", v)
	}
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	if text := attempts[0].Cause.Text; !strings.HasPrefix(text, "the run was aborted: job j1: timeouts.queue") {
		t.Errorf("the attempt that was ended: %s", text)
	}
	if sum, err := r.Workflows.Summary(r.ctx, r.workflow); err != nil || sum.GivenUp != v.Reason {
		t.Errorf("the summary says %q, %v", sum.GivenUp, err)
	}
	if answer := h.turn(); len(answer.Voided) != 1 || answer.OpenJobs != 0 {
		t.Errorf("the runner goes on: %+v", answer)
	}
	r.sound(check.Witness{})
	_, err = r.Workflows.Reset(r.ctx, r.workflow, true, "me")
	r.must(err)
	if w, err := r.Workflows.Get(r.ctx, r.workflow); err != nil || w.IsCanceled || w.Verdict != "" {
		t.Errorf("after a reset: %+v, %v", w, err)
	}
}

// An attempt that its runner has ended at its timeout: the job's own policy precedes all
// rules.
func TestRunTimeoutPolicies(t *testing.T) {
	for policy, want := range map[workflow.TimeoutPolicy][]workflow.JobStatus{
		workflow.OnTimeoutRetry:        {workflow.Ready, workflow.Ready},
		workflow.OnTimeoutFail:         {workflow.Terminated, workflow.Ready},
		workflow.OnTimeoutFailWorkflow: {workflow.Terminated, workflow.Canceled},
	} {
		t.Run(string(policy), func(t *testing.T) {
			r := newRig(t, independent(2)...)
			limit := int64(3)
			r.setPolicy(workflow.RunPolicy{RetryPolicies: []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "p", Rules: []workflow.RetryRule{
				{When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseTimeout}}, Action: workflow.ActionRetry, Limit: &limit},
			}}}}})
			r.setTimeouts(workflow.Timeouts{Run: &workflow.RunLimit{After: "1h", Policy: policy}})
			h := r.hand("n1", 1)
			h.turn()
			h.free.Slots = 0
			h.turn(endedByUs(h.held[0].LeaseRef, workflow.KilledByTimeout))
			r.want(want...)
			w, err := r.Workflows.Get(r.ctx, r.workflow)
			r.must(err)
			if failed := w.Verdict != ""; failed != (policy == workflow.OnTimeoutFailWorkflow) {
				t.Errorf("the verdict is %q", w.Verdict)
			}
			r.sound(check.Witness{})
		})
	}
}

// With alert, the attempt is not killed.
func TestRunTimeoutAlerts(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Run: &workflow.RunLimit{After: "1h", Policy: workflow.OnTimeoutAlert}})
	h := r.hand("n1", 1)
	h.turn()
	h.held[0].StartedMS = r.now.UnixMilli()
	h.turn()
	r.pass(time.Hour)
	r.pass(time.Hour)
	if diff := cmp.Diff([]string{"timeouts.run (1h) of j0"}, r.alertSubjects()); diff != "" {
		t.Errorf("alerts (-want +got):\n%s", diff)
	}
	if answer := h.turn(); len(answer.Cancel) > 0 {
		t.Error("the attempt is ended")
	}
	r.want(workflow.Running)
}

// The silence of a runner is judged for each job by the job's own policy.
func TestHeartbeatTimeouts(t *testing.T) {
	for _, tc := range []struct {
		policy workflow.TimeoutPolicy
		want   workflow.JobStatus
		alerts int
	}{
		{workflow.OnTimeoutRetry, workflow.Ready, 0},
		{workflow.OnTimeoutFail, workflow.Failed, 0},
		{workflow.OnTimeoutAlert, workflow.Running, 1},
		{workflow.OnTimeoutFailWorkflow, workflow.Failed, 0},
	} {
		t.Run(string(tc.policy), func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setTimeouts(workflow.Timeouts{Heartbeat: limit("5m", tc.policy)})
			h := r.hand("n1", 1)
			h.turn()
			h.held[0].StartedMS = r.now.UnixMilli()
			h.free.Slots = 0
			h.turn()
			n, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, 5*time.Minute-1)
			if r.must(err); n != 0 {
				t.Error("too early")
			}
			for range 2 {
				_, err = r.Timeouts.ExpireHeartbeats(r.ctx, h.id, 6*time.Minute)
				r.must(err)
			}
			r.want(tc.want)
			if n := len(r.alerts()); n != tc.alerts {
				t.Errorf("%d alerts", n)
			}
			if tc.want != workflow.Running {
				if answer := h.turn(); len(answer.Voided) == 0 && !answer.Canceled {
					t.Error("a runner that speaks again keeps the job")
				}
			}
			r.sound(check.Witness{})
		})
	}
}

// A job that is retried may still be running where nobody can reach it: it waits.
func TestHeartbeatRetryWaits(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Heartbeat: limit("5m", "")})
	h := r.hand("n1", 1)
	h.turn()
	h.held[0].StartedMS = r.now.UnixMilli()
	h.turn()
	_, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, 5*time.Minute)
	r.must(err)
	if n := r.number(`SELECT not_before_ms FROM job WHERE id = ?`, r.ids[0]) - r.now.UnixMilli(); n < (2 * time.Minute).Milliseconds() {
		t.Errorf("the next attempt may begin in %d ms", n)
	}
}

// TestTimeoutsAreNeverEarlyAndReportedOnce has time pass in arbitrary steps, with runners
// that claim, return and fail: no timeout is reported before it has expired, and none
// twice.
func TestTimeoutsAreNeverEarlyAndReportedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, independent(1)...)
		r.setTimeouts(workflow.Timeouts{Queue: limit("1h", ""), Total: limit("5h", workflow.OnTimeoutAlert)})
		h := r.hand("n1", 1)
		h.free.Slots = 0
		ready, first := r.now, r.now
		told, toldTotal := false, false
		want := 0
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"wait", "wait", "claim and give back"}).Draw(rt, "step") {
			case "wait":
				r.pass(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
				if !told && r.now.Sub(ready) >= time.Hour {
					told = true
					want++
				}
				if !toldTotal && r.now.Sub(first) >= 5*time.Hour {
					toldTotal = true
					want++
				}
			default:
				h.free.Slots = 1
				h.turn()
				h.free.Slots = 0
				h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{h.held[0].LeaseRef}})
				ready, told = r.now, false
			}
			if got := len(r.alerts()); got != want {
				rt.Fatalf("%d alerts %s after it was ready and %s after the start, want %d", got, r.now.Sub(ready), r.now.Sub(first), want)
			}
		}
	})
}

// A job that is claimed in the use case in which it became ready has no more time than
// others.
func TestTotalTimeoutOfAJobThatNeverWaited(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	h := r.hand("n1", 1)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 0)) // and takes the second one
	h.begins()
	r.want(workflow.Completed, workflow.Running)
	r.pass(time.Hour)
	if answer := h.turn(); len(answer.Cancel) != 1 {
		t.Errorf("to end: %v", answer.Cancel)
	}
}

// A job that is retried after it had no time left waits again.
func TestTimeoutsBeginAnewWithAWait(t *testing.T) {
	for name, again := range map[string]func(r *rig){
		"retried": func(r *rig) {
			_, err := r.Jobs.Retry(r.ctx, r.ids[0], 1, 10)
			r.must(err)
		},
		"made ready": func(r *rig) {
			_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Ready, 1)
			r.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setTimeouts(workflow.Timeouts{Queue: limit("1h", workflow.OnTimeoutFail)})
			r.pass(time.Hour)
			r.want(workflow.Terminated)
			again(r)
			r.pass(time.Hour - time.Millisecond)
			r.want(workflow.Ready)
			r.pass(time.Millisecond)
			r.want(workflow.Terminated)
			r.sound(check.Witness{})
		})
	}
}

// A status change by an operator gives a job all of its time again.
func TestOperatorRestartsTotalTimeout(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setTimeouts(workflow.Timeouts{Total: limit("1h", "")})
	r.pass(time.Hour)
	r.want(workflow.Terminated)
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[0], workflow.Ready, 1)
	r.must(err)
	r.pass(time.Hour - time.Millisecond)
	r.want(workflow.Ready)
	r.pass(time.Millisecond)
	r.want(workflow.Terminated)
}
