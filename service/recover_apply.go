package service

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// refuseChanged returns an error if jobs have changed since the proposal, by a user or a
// hook.
func (r *recovery) refuseChanged(ctx context.Context) error {
	if err := r.refuseAnotherRun(ctx); err != nil {
		return err
	}
	for _, j := range r.request.Jobs {
		now, err := r.service.Store.Jobs.Get(ctx, j.JobID)
		switch {
		case err != nil:
			return err
		case now.WorkflowID != r.id:
			return workflow.Errorf(workflow.CodeInvalid, "job %d does not belong to workflow %d", j.JobID, r.id)
		case now.Status != j.Status:
			return r.goneOn(fmt.Sprintf("job %d (%s) is now %s", j.JobID, now.Name, now.Status))
		}
	}
	return nil
}

// refuseAnotherRun returns an error if another run has started.
func (r *recovery) refuseAnotherRun(ctx context.Context) error {
	w, err := r.service.Store.Workflows.Get(ctx, r.id)
	if err != nil {
		return err
	}
	if want := r.request.RunID; want != nil && w.RunID != *want {
		return r.goneOn(fmt.Sprintf("run %d has started", w.RunID))
	}
	return nil
}

func (r *recovery) goneOn(what string) error {
	return workflow.Errorf(workflow.CodeConflict, "workflow %d has changed meanwhile: %s; no job is reset", r.id, what).
		WithHint("see `torc-slurm status %d`, then recover it again", r.id)
}

// correct changes requirements, or gives jobs requirements of their own.
func (r *recovery) correct(ctx context.Context) error {
	s, known := r.service, r.knownNames()
	for _, change := range r.changes {
		rr := change.To
		if !change.Clone {
			if err := s.updateRequirements(ctx, r.by, rr); err != nil {
				return err
			}
			continue
		}
		rr.ID, rr.Name = 0, cloneName(rr.Name, r.RunID, known)
		made, err := s.Store.Requirements.Create(ctx, rr)
		if err != nil {
			return fmt.Errorf("create resource requirements %q: %w", rr.Name, err)
		}
		known[made.Name] = true
		for _, id := range change.JobIDs {
			if _, err := s.Store.Jobs.Update(ctx, id, workflow.JobUpdate{ResourceRequirementsID: &made.ID, Author: r.by.User}); err != nil {
				return fmt.Errorf("give resource requirements %q to job %d: %w", rr.Name, id, err)
			}
		}
	}
	return nil
}

// knownNames returns the names of the workflow's requirements.
func (r *recovery) knownNames() map[string]bool {
	known := make(map[string]bool)
	for _, rr := range r.m.requirements {
		known[rr.Name] = true
	}
	return known
}

// cloneName returns an unused name for corrected requirements.
func cloneName(name string, runID int64, known map[string]bool) string {
	clone := fmt.Sprintf("%s_after_run_%d", name, runID)
	for n := 2; known[clone]; n++ {
		clone = fmt.Sprintf("%s_after_run_%d_%d", name, runID, n)
	}
	return clone
}

// repeat starts a new run with the jobs that have not been changed.
func (r *recovery) repeat(ctx context.Context, jobs []api.ExpectedJob) error {
	if err := r.refuseAnotherRun(ctx); err != nil {
		return err
	}
	expected := make([]store.JobAt, len(jobs))
	for i, j := range jobs {
		expected[i] = store.JobAt{ID: j.JobID, Status: j.Status}
	}
	left, err := r.service.Store.Workflows.RepeatJobs(ctx, r.id, r.RunID, expected, r.by.User)
	for _, j := range left {
		r.Left = append(r.Left, api.LeftJob{JobID: j.ID, JobName: j.Name, Status: j.Status})
	}
	return err
}
