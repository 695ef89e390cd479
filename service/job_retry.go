package service

import (
	"context"
	"math"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// RetryJob makes a job that did not succeed ready for another attempt, without a limit,
// or, in a dry run, returns that attempt and its cost. It returns CodeConflict for a job
// that was canceled because of another one, of a canceled workflow, or in another status.
// A dry run fails like the real one.
func (s *Service) RetryJob(ctx context.Context, by Caller, jobID int64, q *api.RetryJobRequest) (api.JobRetry, error) {
	job, err := s.Store.Jobs.Get(ctx, jobID)
	if err != nil {
		return api.JobRetry{}, err
	}
	answer := api.JobRetry{DryRun: q.DryRun, Was: job.Status, Job: api.FromJob(job)}
	if job.SkippedBy != nil {
		return answer, workflow.Errorf(workflow.CodeConflict, "job %d was canceled because job %d did not succeed", jobID, *job.SkippedBy).
			WithHint("retry job %d; this one then waits for it again", *job.SkippedBy)
	}
	w, err := s.Store.Workflows.Get(ctx, job.WorkflowID)
	if err != nil {
		return answer, err
	}
	if w.IsCanceled {
		return answer, workflow.Errorf(workflow.CodeConflict, "workflow %d of job %d is canceled", job.WorkflowID, jobID).
			WithHint("`torc-slurm reset %d --failed-only` runs all its jobs again that did not succeed", job.WorkflowID)
	}
	if answer.CPUSeconds, err = s.cpuSeconds(ctx, job.ResourceRequirementsID); err != nil {
		return answer, err
	}
	then, err := s.retry(ctx, by, &job, w.RunID, q.DryRun)
	if answer.Attempt = then.AttemptID; err == nil && !q.DryRun {
		answer.Job = api.FromJob(then)
	}
	return answer, err
}

// retry does, or tries, what the status of a job requires for another attempt, and returns
// the changed job.
func (s *Service) retry(ctx context.Context, by Caller, job *workflow.Job, runID int64, dry bool) (workflow.Job, error) {
	switch job.Status {
	case workflow.Failed, workflow.Terminated:
		if dry {
			return s.Store.Jobs.ProposeRetryAnew(ctx, job.ID, runID, math.MaxInt32)
		}
		return s.Store.Jobs.RetryAnew(ctx, job.ID, runID, math.MaxInt32)
	case workflow.PendingFailed:
		if dry {
			return s.proposeClassified(ctx, by, job)
		}
		return s.Store.Jobs.Update(ctx, job.ID, workflow.JobUpdate{Status: new(workflow.Ready), Author: by.User})
	case workflow.Canceled:
		if dry {
			return s.Store.Jobs.ProposeStatusChange(ctx, job.ID, workflow.Ready, runID)
		}
		return s.Store.Jobs.ManageStatusChange(ctx, job.ID, workflow.Ready, runID)
	}
	return *job, workflow.Errorf(workflow.CodeConflict, "job %d is %s: only jobs that did not succeed can be retried", job.ID, job.Status).
		WithHint("`torc-slurm jobs reset-status %d --reinit` runs a completed job again", job.ID)
}

// proposeClassified returns a held job as it would be if its hold ended with a retry.
func (s *Service) proposeClassified(ctx context.Context, by Caller, job *workflow.Job) (workflow.Job, error) {
	then := *job
	outcomes, err := s.Store.Holds.Resolve(ctx, job.WorkflowID, store.HoldSelection{JobIDs: []int64{job.ID}},
		hold.Classification{Status: workflow.Ready, Author: by.User, Reason: "asked for by hand"}, store.ResolveOptions{DryRun: true})
	if err != nil {
		return then, err
	}
	for _, o := range outcomes {
		if !o.Resolved {
			return then, workflow.Errorf(workflow.CodeConflict, "%s", o.Error).WithHint("%s", o.Hint)
		}
		then.AttemptID = o.Attempt
	}
	return then, nil
}

// cpuSeconds returns the most that an attempt may use by its requirements; 0 if they are
// not declared.
func (s *Service) cpuSeconds(ctx context.Context, requirements *int64) (int64, error) {
	if requirements == nil {
		return 0, nil
	}
	rr, err := s.Store.Requirements.Get(ctx, *requirements)
	if err != nil {
		return 0, err
	}
	return mostCPUSeconds(&rr), nil
}

// mostCPUSeconds returns the most that a job with the requirements may use.
func mostCPUSeconds(rr *workflow.ResourceRequirements) int64 {
	seconds, err := workflow.ParseRuntime(rr.Runtime)
	if err != nil || rr.Name == workflow.DefaultRequirements { // not declared
		return 0
	}
	return seconds * rr.NumCPUs
}
