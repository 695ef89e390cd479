package engine

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// CancelSilent cancels the allocation of a silent runner. The job keeps its lease until then, so
// that it does not run twice.
func (f *Finisher) CancelSilent(l *core.LeasedJob, h *view.Heartbeat, allocation int64) error {
	const which = workflow.TimeoutHeartbeat
	var doom any // no rule can continue a job that its timeout ends
	if h.Limit.Policy.Fails() {
		doom = string(which)
	}
	err := f.tx.ExecOne(`UPDATE job SET told = told | ?2, cancel_fence = iif(?3 IS NULL, cancel_fence, fence), cancel_for = COALESCE(?3, cancel_for)
		WHERE id = ?1 AND status IN {live}`, l.JobID, which.Bit(), doom)
	if err != nil {
		return err
	}
	f.Changed = true
	_, err = RequestCancel(f.tx, `id = ?`, allocation, fmt.Sprintf("%s, and it has job %s", h.Limit.Reason(which), l.Name))
	return err
}

// SilentJobs returns the jobs of a silent runner because of which its allocation is being
// canceled.
func SilentJobs(tx *core.Tx, runnerID int64) (map[int64]bool, error) {
	all, err := sqlite.Select(tx, view.ScanHeartbeat, view.HeartbeatJobs, runnerID)
	if err != nil {
		return nil, fmt.Errorf("read the heartbeats of runner %d: %w", runnerID, err)
	}
	jobs := map[int64]bool{}
	for _, h := range view.WithLimit(all) {
		if h.Told && h.Limit.Policy != workflow.OnTimeoutAlert {
			jobs[h.JobID] = true
		}
	}
	return jobs, nil
}

// ExpireHeartbeat applies a job's heartbeat policy to a silent runner that is in no allocation. It
// voids the lease: if the runner reports again, it is told to end the job.
func (f *Finisher) ExpireHeartbeat(l *core.LeasedJob, h *view.Heartbeat, host Holder) error {
	reason := h.Limit.Reason(workflow.TimeoutHeartbeat)
	if h.Limit.Policy == workflow.OnTimeoutAlert {
		if err := f.tx.ExecOne(`UPDATE job SET told = told | ? WHERE id = ?`, workflow.TimeoutHeartbeat.Bit(), l.JobID); err != nil {
			return err
		}
		a := h.Limit.Alert(workflow.TimeoutHeartbeat, []string{l.Name}, 1)
		a.JobID, a.JobName = l.JobID, l.Name
		a.Text += fmt.Sprintf("\nIt is on %s; nothing is done about it.", host.Hostname)
		return core.RaiseAlert(f.tx, f.Run, a)
	}
	if h.Limit.Policy.Fails() {
		l.Doom = retry.DoomOf(workflow.TimeoutHeartbeat, &h.Limit)
		l.Doom.Reason = fmt.Sprintf("%s has the policy %s", workflow.TimeoutHeartbeat, h.Limit.Policy)
	} else if l.Status == workflow.Pending {
		return ReturnLeases(f.tx, f.Run, []*core.LeasedJob{l})
	}
	return f.EndedBy(l, host, workflow.Evidence{LostRunner: true, Silent: true, Note: reason})
}
