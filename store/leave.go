package store

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Farewell is what a runner says when it leaves.
type Farewell struct {
	Reason          string
	DurationSeconds float64
	SampleCount     int64
	PeakCPUPercent  float64
	AvgCPUPercent   float64
	PeakMemoryBytes int64
	AvgMemoryBytes  int64
}

// LeaveRunner ends the leases of a runner that leaves and returns how many
// jobs that it had claimed are ready again. What it had running and has not
// reported is lost. A runner that has left may leave again.
func (s *Store) LeaveRunner(_ context.Context, id int64, f Farewell) (returned int64, err error) {
	err = s.writer.do("leave runner", func(tx *Tx) error {
		r, err := tx.runner(id)
		if err != nil {
			return err
		}
		if returned, err = tx.endLeases(&r, "its runner left without a word about it"); err != nil || !r.isActive {
			return err
		}
		return tx.dismiss(&r, f)
	})
	return returned, err
}

// ExpireRunner gives up a runner that is dead: what it had running is lost,
// what it had only claimed is ready again. Why is said with each lost attempt.
func (s *Store) ExpireRunner(_ context.Context, id int64, why string) error {
	return s.writer.do("expire runner", func(tx *Tx) error { return tx.expire(id, why) })
}

func (tx *Tx) expire(id int64, why string) error {
	r, err := tx.runner(id)
	if err != nil || !r.isActive {
		return err
	}
	if _, err := tx.endLeases(&r, "its runner is lost: "+why); err != nil {
		return err
	}
	return tx.dismiss(&r, Farewell{Reason: why})
}

// endLeases ends the leases of a runner and returns how many of its jobs were
// never started and are ready again.
func (tx *Tx) endLeases(r *runner, why string) (returned int64, err error) {
	_, returned, err = tx.endLeasesBy(r, workflow.Evidence{LostRunner: true, Note: why})
	return returned, err
}

// endLeasesBy ends the leases of a runner: attempts that ran end by what the
// evidence says, claimed jobs are ready again. It returns how many of each
// there were.
func (tx *Tx) endLeasesBy(r *runner, evidence workflow.Evidence) (ended, returned int64, err error) {
	all, err := tx.leases(r.id)
	if err != nil || len(all) == 0 {
		return 0, 0, err
	}
	current, err := tx.run(r.workflowID)
	if err != nil {
		return 0, 0, err
	}
	f := newFinisher(tx, current)
	host := holder{id: &r.id, hostname: r.hostname}
	var unheard map[int64]bool
	if evidence.Slurm != nil && evidence.Slurm.CanceledByUs {
		if unheard, err = tx.unheardJobs(r.id); err != nil {
			return 0, 0, err
		}
	}
	var back []*lease
	for i := range all {
		l := &all[i]
		switch {
		case l.recovering:
			err = f.recoveryLost(l, evidence.Note)
		case l.status == workflow.Running:
			ended++
			evidence.Silent = unheard[l.JobID]
			err = f.endedBy(l, host, evidence)
		default:
			back = append(back, l)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("end the leases of runner %d: %w", r.id, err)
		}
	}
	if err := tx.giveBack(current, back); err != nil {
		return 0, 0, err
	}
	if _, err := f.flush(); err != nil {
		return 0, 0, fmt.Errorf("end the leases of runner %d: %w", r.id, err)
	}
	return ended, int64(len(back)), nil
}

// dismiss notes that a runner is not there any more.
func (tx *Tx) dismiss(r *runner, f Farewell) error {
	err := tx.execOne(`UPDATE compute_node SET is_active = 0, duration_seconds = NULLIF(?, 0.0), sample_count = NULLIF(?, 0),
			peak_cpu_percent = NULLIF(?, 0.0), avg_cpu_percent = NULLIF(?, 0.0), peak_memory_bytes = NULLIF(?, 0), avg_memory_bytes = NULLIF(?, 0)
		WHERE id = ? AND is_active = 1`,
		f.DurationSeconds, f.SampleCount, f.PeakCPUPercent, f.AvgCPUPercent, f.PeakMemoryBytes, f.AvgMemoryBytes, r.id)
	if err != nil {
		return fmt.Errorf("dismiss runner %d: %w", r.id, err)
	}
	tx.changes.Runners = append(tx.changes.Runners, r.id)
	tx.leaveHost(r)
	return tx.computeNodeStopped(&workflow.ComputeNode{
		ID: r.id, WorkflowID: r.workflowID, Hostname: r.hostname, PID: r.pid, Type: r.nodeType, DurationSeconds: &f.DurationSeconds,
	})
}
