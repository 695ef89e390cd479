package store

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Timeouts of the task queues that users know, with the numbers of their documentation: a
// task that nobody polls for 10 s, a worker that does not call (a minute here;
// TestTimeoutsThatProveNothing), a task that takes longer than 30 s. Policies: RETRY,
// TIME_OUT_WF, ALERT_ONLY.
func TestTimeoutsOfTaskQueues(t *testing.T) {
	const (
		nobody = "nobody is there"
		works  = "a worker is at it"
		silent = "its worker is silent"
	)
	for _, tc := range []struct {
		name     string
		timeouts workflow.Timeouts
		worker   string
		after    time.Duration
		want     workflow.JobStatus
		verdict  workflow.EventType // empty: the run goes on
		alerts   int
	}{
		{"pollTimeoutSeconds 10 ALERT_ONLY", workflow.Timeouts{Queue: limit("10s", workflow.OnTimeoutAlert)}, nobody, 10 * time.Second,
			workflow.Ready, "", 1},
		{"pollTimeoutSeconds 10 TIME_OUT_WF", workflow.Timeouts{Queue: limit("10s", workflow.OnTimeoutFailWorkflow)}, nobody, 10 * time.Second,
			workflow.Terminated, workflow.EventWorkflowFailed, 0},
		{"pollTimeoutSeconds 10, polled", workflow.Timeouts{Queue: limit("10s", workflow.OnTimeoutFailWorkflow)}, works, 20 * time.Second,
			workflow.Running, "", 0},
		{"responseTimeoutSeconds 60 RETRY", workflow.Timeouts{Heartbeat: limit("60s", workflow.OnTimeoutRetry)}, silent, time.Minute,
			workflow.Ready, "", 0},
		{"responseTimeoutSeconds 60 TIME_OUT_WF", workflow.Timeouts{Heartbeat: limit("60s", workflow.OnTimeoutFailWorkflow)}, silent, time.Minute,
			workflow.Failed, workflow.EventWorkflowFailed, 0},
		{"responseTimeoutSeconds 60 ALERT_ONLY", workflow.Timeouts{Heartbeat: limit("60s", workflow.OnTimeoutAlert)}, silent, time.Minute,
			workflow.Running, "", 1},
		{"timeoutSeconds 30 ALERT_ONLY", workflow.Timeouts{Total: limit("30s", workflow.OnTimeoutAlert)}, works, 30 * time.Second,
			workflow.Running, "", 1},
		{"timeoutSeconds 30 TIME_OUT_WF", workflow.Timeouts{Total: limit("30s", workflow.OnTimeoutFailWorkflow)}, nobody, 30 * time.Second,
			workflow.Terminated, workflow.EventWorkflowFailed, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setTimeouts(tc.timeouts)
			h := r.hand("n1", 1)
			begun := workflow.Ready
			if tc.worker != nobody {
				h.begins()
				begun = workflow.Running
			}
			const moment = time.Millisecond
			expire := func(silence time.Duration) {
				if tc.worker == silent {
					_, err := r.Timeouts.ExpireHeartbeats(r.ctx, h.id, silence)
					r.must(err)
				}
			}
			r.pass(tc.after - moment)
			expire(tc.after - moment)
			r.want(begun)
			r.pass(moment)
			expire(tc.after)
			r.want(tc.want)
			if n := len(r.alerts()); n != tc.alerts {
				t.Errorf("%d alerts, want %d", n, tc.alerts)
			}
			if flow, err := r.Workflows.Get(r.ctx, r.workflow); err != nil || flow.Verdict != tc.verdict {
				t.Errorf("the verdict is %q, %v, want %q", flow.Verdict, err, tc.verdict)
			}
			r.sound(check.Witness{})
		})
	}
}

// What those documents allow and we reject, each with its reason: there is nothing to
// retry, or a shorter time would prove nothing.
func TestTimeoutsThatProveNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		timeouts workflow.Timeouts
		path     string
	}{
		"pollTimeoutSeconds 10 RETRY":       {workflow.Timeouts{Queue: limit("10s", workflow.OnTimeoutRetry)}, "timeouts.queue.policy"},
		"responseTimeoutSeconds 10":         {workflow.Timeouts{Heartbeat: limit("10s", "")}, "timeouts.heartbeat.after"},
		"timeoutSeconds 30 RETRY":           {workflow.Timeouts{Total: limit("30s", workflow.OnTimeoutRetry)}, "timeouts.total.policy"},
		"pollTimeoutSeconds 0, which is on": {workflow.Timeouts{Queue: limit("0s", "")}, "timeouts.queue.after"},
	} {
		p := workflow.JobPolicy{Timeouts: &tc.timeouts}
		if found := p.Validate(); len(found) != 1 || found[0].Path != tc.path || found[0].Hint == "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
