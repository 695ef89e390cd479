package runner

import (
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// leaveTime limits the last call.
const leaveTime = 10 * time.Second

// deregister completes the summary and tells the daemon that the runner leaves.
func (r *Runner) deregister() {
	s := &r.summary
	s.Duration = time.Since(r.began)
	s.Reason = r.leaving.reason
	s.Complete, s.Canceled = r.turns.latest.Complete, r.turns.latest.Canceled
	s.OpenJobs = r.turns.latest.OpenJobs
	if r.monitor != nil && r.monitor.node != nil {
		r.addNodeUsage(s)
	}
	r.spool.persist(r.turns.answered, r.turns.outbox, true)
	s.Undelivered = r.spool.undelivered()
	if !r.turns.outage.since.IsZero() {
		if s.Reason == "" {
			s.Reason = "the daemon does not answer"
		}
		r.log.Warn("leaving without deregistering", "undelivered", s.Undelivered)
		return
	}
	r.accounts.pollLast()
	r.sendLeave(&lease.LeaveRequest{
		Reason: s.Reason, DurationSeconds: s.Duration.Seconds(), SampleCount: s.SampleCount,
		PeakCPUPercent: s.PeakCPUPercent, AvgCPUPercent: s.AvgCPUPercent,
		PeakMemoryBytes: s.PeakMemoryBytes, AvgMemoryBytes: s.AvgMemoryBytes,
	})
	r.log.Info("left", "reason", s.Reason, "attempts", s.Attempts, "duration_s", s.Duration.Seconds())
}

// sendLeave deregisters. If the call is lost, the daemon notices the runner's silence
// later.
func (r *Runner) sendLeave(req *lease.LeaveRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if _, err := r.opts.Client.Leave(ctx, r.id, req); err != nil {
		r.log.Warn("could not deregister from the daemon", "error", err)
	}
}

// addNodeUsage adds the measurements of the node to s.
func (r *Runner) addNodeUsage(s *Summary) {
	r.monitor.mu.Lock()
	defer r.monitor.mu.Unlock()
	u := r.monitor.usage.summary()
	s.SampleCount = u.SampleCount
	s.PeakCPUPercent, s.AvgCPUPercent = u.PeakCPUPercent, u.AvgCPUPercent
	s.PeakMemoryBytes, s.AvgMemoryBytes = u.PeakMemoryBytes, u.AvgMemoryBytes
}
