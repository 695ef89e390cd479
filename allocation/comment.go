package allocation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// comment returns the comment of an allocation that squeue shows: the progress of its
// workflow, and how many jobs run in it.
func comment(p store.Progress, running int64) string {
	text := fmt.Sprintf("%d/%d done", p.Done, p.Total)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text + fmt.Sprintf(", %d running", running)
}

// stale is an allocation whose comment is out of date.
type stale struct {
	*compute.Allocation
	text  string
	since time.Time // when its comment was set last; zero if never
}

// comments updates the comments of some allocations: as many as the settings and
// the budget of calls allow, first those without a comment, then those with the
// oldest.
func (p *poll) comments(ctx context.Context) error {
	if p.set.Comments < 0 || p.queue == nil || p.now.Sub(p.commented).Abs() < p.set.CommentEvery { // clocks jump
		return nil
	}
	due, err := p.stale(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(due, func(a, b stale) int { return a.since.Compare(b.since) })
	for _, a := range due[:min(len(due), p.set.Comments, p.slurm.Spare())] {
		p.commented, p.memory[a.ID].commented = p.now, p.now
		if err := p.slurm.SetComment(ctx, slurm.JobID{Number: a.SlurmJobID}, a.text); err != nil {
			p.log.Debug("cannot set a comment", "allocation_id", a.ID, "slurm_job_id", a.SlurmJobID, "error", err)
		}
	}
	return nil
}

// stale returns the active allocations whose comment is out of date.
func (p *poll) stale(ctx context.Context) (due []stale, err error) {
	var workflows []int64
	for i := range p.live {
		if !slices.Contains(workflows, p.live[i].WorkflowID) {
			workflows = append(workflows, p.live[i].WorkflowID)
		}
	}
	progress, err := p.store.Allocations.ProgressOf(ctx, workflows)
	if err != nil {
		return nil, err
	}
	for i := range p.live {
		a := &p.live[i]
		job, ok := p.queue.Find(slurm.JobID{Number: a.SlurmJobID})
		m := p.memory[a.ID]
		if !ok || job.State != slurm.Running || m == nil || p.verdicts[a.ID].SendCancel {
			continue
		}
		running := int64(0)
		for _, r := range p.runners[a.ID] {
			running += r.RunningJobs
		}
		if text := comment(progress[a.WorkflowID], running); text != job.Comment {
			due = append(due, stale{a, text, m.commented})
		}
	}
	return due, nil
}
