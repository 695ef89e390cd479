package faults

import (
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestHeartbeatTimeout: the runner of a job with a heartbeat timeout is stopped. Slurm
// ends what it runs before the job is given to another runner.
func TestHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{"retry": "completed", "fail": "failed"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t), "heartbeat_timeout_secs=600")
			id := w.submit(shape("debug", "", 10*time.Minute) + requirements + `
compute_node_wait_for_new_jobs_seconds: 0
jobs: [{name: job, command: 'if ((TORC_ATTEMPT_ID > 1)); then ./job.sh 1; else ./job.sh 1000; fi', resource_requirements: small, timeouts: {heartbeat: {after: PT1M, policy: ` + policy + `}}}]
` + auto)
			a := w.untilRunning(id, 1)
			w.signal(w.runner(), syscall.SIGSTOP)
			w.settle(id, map[string]string{"job": want})
			w.expectCause(a.ID, "canceled", "timeouts.heartbeat")
			w.expectWhy(id, "job", "timeouts.heartbeat")
		})
	}
}
