package service

import (
	"context"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// defaultRecovery is the default multiplier of a resource that was lacking.
const defaultRecovery = 1.5

// recovery is one recovery of a workflow.
type recovery struct {
	service *Service
	by      Caller
	request *api.RecoverRequest
	id      int64 // of the workflow
	m       *measurements
	failed  []usage.FailedJob
	changes []usage.RequirementChange
	api.RecoveryPlan
}

// Recover repeats the failed jobs of an ended workflow with more of the resources that
// they lacked, or, in a dry run, proposes it: why each failed, whether it is repeated, and
// its new requirements. It returns CodeConflict if no job failed, and for a workflow that
// has not ended, waits for decisions, was undone, or has changed since the proposal. The
// allocations of the last run must have ended.
func (s *Service) Recover(ctx context.Context, by Caller, workflowID int64, q *api.RecoverRequest) (api.RecoveryPlan, error) {
	r, err := newRecovery(s, by, workflowID, q)
	if err != nil {
		return r.RecoveryPlan, err
	}
	if q.Step != "" && q.Step != api.RecoverCorrect && q.Step != api.RecoverRepeat {
		return r.RecoveryPlan, workflow.Errorf(workflow.CodeInvalid, "step: %q is neither correct nor repeat", q.Step)
	}
	if q.Step == api.RecoverRepeat && !q.DryRun {
		if q.RunID == nil || len(q.Jobs) == 0 {
			return r.RecoveryPlan, workflow.Errorf(workflow.CodeInvalid, "step: repeat needs run_id and jobs")
		}
		r.RunID = *q.RunID
		return r.RecoveryPlan, r.repeat(ctx, q.Jobs)
	}
	if err := r.prepare(ctx); err != nil || q.DryRun {
		return r.RecoveryPlan, err
	}
	jobs := r.chosen()
	if len(jobs) == 0 {
		return r.RecoveryPlan, r.noneToRepeat()
	}
	if err := r.correct(ctx); err != nil || q.Step == api.RecoverCorrect {
		return r.RecoveryPlan, err
	}
	return r.RecoveryPlan, r.repeat(ctx, jobs)
}

// newRecovery returns a recovery that is not prepared; CodeInvalid for a wrong multiplier.
func newRecovery(s *Service, by Caller, workflowID int64, q *api.RecoverRequest) (r *recovery, err error) {
	r = &recovery{service: s, by: by, request: q, id: workflowID}
	r.WorkflowID, r.DryRun = workflowID, q.DryRun
	if r.MemoryMultiplier, err = multiplier("memory_multiplier", q.MemoryMultiplier, defaultRecovery); err != nil {
		return r, err
	}
	r.RuntimeMultiplier, err = multiplier("runtime_multiplier", q.RuntimeMultiplier, defaultRecovery)
	return r, err
}

// noneToRepeat is the error of a recovery that no failed job is part of.
func (r *recovery) noneToRepeat() error {
	return workflow.Errorf(workflow.CodeConflict, "%s of workflow %d, none to be repeated", workflow.CountOf(int64(len(r.Jobs)), "job failed", "jobs failed"), r.id)
}

// prepare finds the failed jobs and their causes. It returns an error if the workflow
// cannot be recovered.
func (r *recovery) prepare(ctx context.Context) error {
	s := r.service
	summary, err := s.Store.Workflows.Summary(ctx, r.id)
	if err != nil {
		return err
	}
	r.RunID = summary.RunID
	if err := r.refuseChanged(ctx); err != nil {
		return err
	}
	if err := r.refuse(&summary); err != nil {
		return err
	}
	if summary.Compensation != nil {
		if err := r.refuseUndone(ctx); err != nil {
			return err
		}
	}
	if err := r.findFailed(ctx); err != nil {
		return err
	}
	r.propose()
	r.UsesSlurm, err = s.usesSlurm(ctx, r.id)
	return err
}

// refuse returns an error for a workflow that has not ended or waits for decisions.
func (r *recovery) refuse(sum *store.Summary) error {
	held := sum.Jobs[workflow.PendingFailed]
	switch {
	case held > 0:
		return workflow.Errorf(workflow.CodeConflict, "%s for a decision in workflow %d", workflow.CountOf(held, "job waits", "jobs wait"), r.id).
			WithHint("`torc-slurm jobs list -s pending_failed %d` lists them; `torc-slurm jobs retry` and `torc-slurm jobs fail` decide", r.id)
	case !sum.IsCanceled && !sum.IsComplete():
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has not ended", r.id).
			WithHint("`torc-slurm jobs retry JOB` repeats a job of a running workflow; `torc-slurm cancel %d` ends it", r.id)
	}
	return nil
}

// refuseUndone returns an error if the effects of other jobs were undone.
func (r *recovery) refuseUndone(ctx context.Context) error {
	completed := workflow.Completed
	jobs, err := r.service.jobs(ctx, r.id, &completed)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(jobs, func(j workflow.Job) bool { return j.UndoesID != nil }); at >= 0 {
		return workflow.Errorf(workflow.CodeConflict, "%[2]s has undone the work of jobs of workflow %[1]d: repeating only the failed ones is not enough", r.id, jobs[at].Name).
			WithHint("`torc-slurm reset %[1]d` runs all jobs again; `torc-slurm reset --failed-only %[1]d` skips those that completed", r.id)
	}
	return nil
}

// findFailed reads the jobs that did not succeed, with their latest results.
func (r *recovery) findFailed(ctx context.Context) (err error) {
	if r.m, err = r.service.measurements(ctx, r.id, nil); err != nil {
		return err
	}
	r.Jobs = []api.RecoverableJob{}
	for _, u := range r.m.uses {
		if u.Status != workflow.Failed && u.Status != workflow.Terminated {
			continue
		}
		job, text := usage.FailedJob{JobUse: u}, ""
		attempts, err := r.service.Store.Jobs.Attempts(ctx, u.JobID)
		if err != nil {
			return err
		}
		if n := len(attempts); n > 0 {
			job.Cause, text = attempts[n-1].Cause.Kind, attempts[n-1].Cause.Text
		}
		r.failed = append(r.failed, job)
		r.Jobs = append(r.Jobs, api.RecoverableJob{
			JobID: u.JobID, JobName: u.JobName, Status: u.Status, Group: job.Group(), Cause: job.Cause, Text: text, Retry: r.wanted(&job),
		})
	}
	return nil
}

// wanted reports whether the request includes a failed job.
func (r *recovery) wanted(j *usage.FailedJob) bool {
	if len(r.request.Jobs) > 0 {
		return slices.ContainsFunc(r.request.Jobs, func(x api.ExpectedJob) bool { return x.JobID == j.JobID })
	}
	return !slices.Contains(r.request.Skip, j.Group())
}

// chosen returns the jobs that are repeated.
func (r *recovery) chosen() (jobs []api.ExpectedJob) {
	for _, j := range r.Jobs {
		if j.Retry {
			jobs = append(jobs, api.ExpectedJob{JobID: j.JobID, Status: j.Status})
		}
	}
	return jobs
}

// propose sets the new requirements of the chosen jobs, and the resulting cost.
func (r *recovery) propose() {
	var chosen []usage.FailedJob
	for i, j := range r.failed {
		if r.Jobs[i].Retry {
			chosen = append(chosen, j)
		}
	}
	r.changes = usage.CorrectFailed(chosen, r.m.jobsOf, usage.CorrectionOptions{
		MemoryMultiplier: r.MemoryMultiplier, CPUMultiplier: r.MemoryMultiplier, RuntimeMultiplier: r.RuntimeMultiplier,
	})
	r.Changes = []api.RecoveryChange{}
	then := make(map[int64]workflow.ResourceRequirements) // by job
	for i := range r.changes {
		c := &r.changes[i]
		change := api.RecoveryChange{Name: c.From.Name, Clone: c.Clone, JobIDs: c.JobIDs, Text: c.String()}
		for k := range c.Corrections {
			change.Adjustments = append(change.Adjustments, adjustmentOf(&c.Corrections[k]))
		}
		r.Changes = append(r.Changes, change)
		for _, j := range chosen {
			if j.Requirements.ID == c.From.ID && (!c.Clone || slices.Contains(c.JobIDs, j.JobID)) {
				then[j.JobID] = c.To
			}
		}
	}
	for _, j := range chosen {
		rr, changed := then[j.JobID]
		if !changed {
			rr = j.Requirements
		}
		r.CPUSeconds += mostCPUSeconds(&rr)
	}
}

// usesSlurm reports whether a workflow has or had allocations or Slurm schedulers.
func (s *Service) usesSlurm(ctx context.Context, workflowID int64) (bool, error) {
	_, n, err := s.Store.SlurmSchedulers.List(ctx, workflowID, store.Page{Limit: 1})
	if err != nil || n > 0 {
		return n > 0, err
	}
	nodes, err := all(func(page store.Page) ([]compute.ScheduledNode, int64, error) {
		return s.Store.ScheduledComputeNodes.List(ctx, store.ScheduledFilter{WorkflowID: workflowID}, page)
	})
	return slices.ContainsFunc(nodes, func(n compute.ScheduledNode) bool {
		return n.SchedulerType == compute.SchedulerSlurm && n.SchedulerID > 0
	}), err
}
