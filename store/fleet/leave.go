package fleet

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// Leave ends the leases of a runner that leaves. It returns how many claimed jobs are ready
// again. Attempts that ran and were not reported are lost. Leaving again is not an error.
func (s Runners) Leave(_ context.Context, id int64, f lease.LeaveRequest) (returned int64, err error) {
	err = s.shared.Do("leave runner", func(tx *core.Tx) error {
		r, err := core.LoadRunner(tx, id)
		if err != nil {
			return err
		}
		if returned, err = EndLeases(tx, &r, "its runner left without reporting it"); err != nil || !r.IsActive {
			return err
		}
		return dismissRunner(tx, &r, f)
	})
	return returned, err
}

// Expire deregisters a dead runner: attempts that ran are lost, claimed jobs are ready
// again. Each lost attempt has the reason why.
func (s Runners) Expire(_ context.Context, id int64, why string) error {
	return s.shared.Do("expire runner", func(tx *core.Tx) error { return ExpireLeases(tx, id, why) })
}

// ExpireLeases ends the leases of a lost runner and deregisters it. A runner that has left
// is not changed.
func ExpireLeases(tx *core.Tx, id int64, why string) error {
	r, err := core.LoadRunner(tx, id)
	if err != nil || !r.IsActive {
		return err
	}
	if _, err := EndLeases(tx, &r, "its runner is lost: "+why); err != nil {
		return err
	}
	return dismissRunner(tx, &r, lease.LeaveRequest{Reason: why})
}

// EndLeases ends the leases of a runner. It returns how many of its jobs were never started
// and are ready again.
func EndLeases(tx *core.Tx, r *core.Runner, why string) (returned int64, err error) {
	_, returned, err = endLeasesBy(tx, r, workflow.Evidence{LostRunner: true, Note: why})
	return returned, err
}

// endLeasesBy ends the leases of a runner: attempts that ran end according to the evidence,
// claimed jobs are ready again. It returns the numbers of both.
func endLeasesBy(tx *core.Tx, r *core.Runner, evidence workflow.Evidence) (ended, returned int64, err error) {
	all, err := core.LoadLeases(tx, r.ID)
	if err != nil || len(all) == 0 {
		return 0, 0, err
	}
	current, err := core.LoadRun(tx, r.WorkflowID)
	if err != nil {
		return 0, 0, err
	}
	f := engine.NewFinisher(tx, current)
	host := engine.Holder{ID: &r.ID, Hostname: r.Hostname}
	var silent map[int64]bool
	if evidence.Slurm != nil && evidence.Slurm.CanceledByUs {
		if silent, err = engine.SilentJobs(tx, r.ID); err != nil {
			return 0, 0, err
		}
	}
	var back []*core.LeasedJob
	for i := range all {
		l := &all[i]
		switch {
		case l.Recovering:
			err = f.RecoveryLost(l, evidence.Note)
		case l.Status == workflow.Running:
			ended++
			evidence.Silent = silent[l.JobID]
			err = f.EndedBy(l, host, evidence)
		default:
			back = append(back, l)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("end the leases of runner %d: %w", r.ID, err)
		}
	}
	if err := engine.ReturnLeases(tx, current, back); err != nil {
		return 0, 0, err
	}
	if _, err := f.Flush(); err != nil {
		return 0, 0, fmt.Errorf("end the leases of runner %d: %w", r.ID, err)
	}
	return ended, int64(len(back)), nil
}

// dismissRunner records that a runner has left.
func dismissRunner(tx *core.Tx, r *core.Runner, f lease.LeaveRequest) error {
	err := tx.ExecOne(`UPDATE compute_node SET is_active = 0, duration_seconds = NULLIF(?, 0.0), sample_count = NULLIF(?, 0),
			peak_cpu_percent = NULLIF(?, 0.0), avg_cpu_percent = NULLIF(?, 0.0), peak_memory_bytes = NULLIF(?, 0), avg_memory_bytes = NULLIF(?, 0)
		WHERE id = ? AND is_active = 1`,
		f.DurationSeconds, f.SampleCount, f.PeakCPUPercent, f.AvgCPUPercent, f.PeakMemoryBytes, f.AvgMemoryBytes, r.ID)
	if err != nil {
		return fmt.Errorf("deregister runner %d: %w", r.ID, err)
	}
	tx.Changes.Runners = append(tx.Changes.Runners, r.ID)
	core.LeaveHost(tx, r)
	return engine.ComputeNodeStopped(tx, &compute.Node{
		ID: r.ID, WorkflowID: r.WorkflowID, Hostname: r.Hostname, PID: r.Pid, Type: r.NodeType, DurationSeconds: &f.DurationSeconds,
	})
}

// dismissRunners ends the leases of the runners of an allocation. It returns how many
// attempts ended, and how many claimed jobs are ready again.
func dismissRunners(tx *core.Tx, a *compute.Allocation, end *compute.AllocationEnd) (ended, returned int64, err error) {
	runners, err := sqlite.Select(tx, core.ScanRunner, core.SelectRunners+`WHERE allocation_id = ? AND is_active = 1 AND runner_key IS NOT NULL ORDER BY id`, a.ID)
	if err != nil {
		return 0, 0, fmt.Errorf("find the runners of allocation %d: %w", a.ID, err)
	}
	evidence := workflow.Evidence{LostRunner: true, Note: "its allocation is over: " + end.Text, Slurm: &end.Slurm}
	for i := range runners {
		e, r, err := endLeasesBy(tx, &runners[i], evidence)
		if err == nil {
			err = dismissRunner(tx, &runners[i], lease.LeaveRequest{})
		}
		if err != nil {
			return 0, 0, fmt.Errorf("end allocation %d: %w", a.ID, err)
		}
		ended, returned = ended+e, returned+r
	}
	return ended, returned, nil
}
