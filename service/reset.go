package service

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// ResetWorkflow starts a new run of a workflow with all jobs, or those that did not
// succeed and their dependants, or, in a dry run, returns their number and cost. It fails,
// in a dry run as well, if another run has started, and, unless it is forced, while the
// workflow is active. On request only what has changed is reset. It is one transaction.
func (s *Service) ResetWorkflow(ctx context.Context, by Caller, workflowID int64, q *api.ResetWorkflowRequest) (api.WorkflowReset, error) {
	answer := api.WorkflowReset{WorkflowID: workflowID, DryRun: q.DryRun}
	at, err := s.Store.Workflows.Get(ctx, workflowID)
	if err != nil {
		return answer, err
	}
	expected := at.RunID
	if q.RunID != nil {
		expected = *q.RunID
	}
	o := store.ResetOptions{RunID: expected, FailedOnly: q.FailedOnly, Force: q.Force, Initialize: q.Reinitialize, User: by.User}
	o.Files = each(q.Files, func(f api.ModifiedFile) artifact.FileTime {
		return artifact.FileTime{FileID: f.FileID, ModTime: f.ModTime}
	})
	if q.Changed {
		return resetChanged(ctx, s, workflowID, q, o)
	}
	if q.DryRun { // reading all jobs takes longer than the reset
		var g jobGraph
		if g, err = s.graph(ctx, workflowID); err != nil {
			return answer, err
		}
		answer.CPUSeconds = g.resetCost(q.FailedOnly)
		at, answer.Jobs, err = s.Store.Workflows.ProposeReset(ctx, workflowID, o)
	} else {
		at, answer.Jobs, err = s.Store.Workflows.ResetAll(ctx, workflowID, o)
		answer.Initialized = err == nil && q.Reinitialize
	}
	answer.RunID = at.RunID
	return answer, err
}

// resetChanged starts a new run with the jobs whose inputs have changed, or proposes it.
func resetChanged(ctx context.Context, s *Service, workflowID int64, q *api.ResetWorkflowRequest, o store.ResetOptions) (api.WorkflowReset, error) {
	answer := api.WorkflowReset{WorkflowID: workflowID, DryRun: q.DryRun}
	if q.FailedOnly || q.Reinitialize {
		return answer, workflow.Errorf(workflow.CodeInvalid, "changed cannot be combined with failed_only or reinitialize")
	}
	reset := s.Store.Workflows.ResetChanged
	if q.DryRun {
		reset = s.Store.Workflows.ProposeResetChanged
	}
	done, err := reset(ctx, workflowID, o)
	if err != nil {
		return answer, err
	}
	answer.RunID, answer.Jobs, answer.JobNames, answer.ChangedFiles = done.Workflow.RunID, int64(len(done.Jobs)), done.Jobs, done.Files
	if q.DryRun {
		g, err := s.graph(ctx, workflowID)
		if err != nil {
			return answer, err
		}
		answer.CPUSeconds = g.namedCost(done.Jobs)
	}
	return answer, nil
}

// namedCost returns the most that jobs and their dependants may use.
func (g *jobGraph) namedCost(names []string) int64 {
	var again []int32
	for i := range g.jobs {
		if _, found := slices.BinarySearch(names, g.jobs[i].Name); found {
			again = append(again, int32(i))
		}
	}
	again = append(again, g.behind(again)...)
	slices.Sort(again)
	return g.cost(slices.Compact(again))
}

// jobGraph is the jobs of a workflow by id, with their dependencies and requirements.
type jobGraph struct {
	jobs         []workflow.Job
	places       numbering
	requirements map[int64]workflow.ResourceRequirements
}

func (s *Service) graph(ctx context.Context, workflowID int64) (g jobGraph, err error) {
	if g.requirements, err = s.requirementsByID(ctx, workflowID); err != nil {
		return g, err
	}
	g.jobs, err = all(func(page store.Page) ([]workflow.Job, int64, error) {
		return s.Store.Jobs.List(ctx, store.JobFilter{WorkflowID: workflowID, WithRelations: true}, page)
	})
	g.places = make(numbering, len(g.jobs))
	for i, j := range g.jobs {
		g.places[j.ID] = int32(i)
	}
	return g, err
}

// behind returns the direct and indirect dependants of jobs.
func (g *jobGraph) behind(jobs []int32) []int32 {
	return graph.Dependents(len(g.jobs), func(i int) []int32 { return g.places.known(g.jobs[i].DependsOn) }, jobs)
}

// resetCost returns the most that the jobs of a reset may use.
func (g *jobGraph) resetCost(failedOnly bool) int64 {
	var again []int32
	for i, j := range g.jobs {
		switch j.Status {
		case workflow.Failed, workflow.Canceled, workflow.Terminated, workflow.PendingFailed:
			again = append(again, int32(i))
		case workflow.Disabled:
			if !failedOnly && j.NotNeeded {
				again = append(again, int32(i))
			}
		default:
			if !failedOnly {
				again = append(again, int32(i))
			}
		}
	}
	if failedOnly {
		again = append(again, g.behind(again)...)
	}
	slices.Sort(again)
	return g.cost(slices.Compact(again))
}

// cost returns the most that jobs may use.
func (g *jobGraph) cost(jobs []int32) (seconds int64) {
	for _, i := range jobs {
		if id := g.jobs[i].ResourceRequirementsID; id != nil {
			rr := g.requirements[*id]
			seconds += mostCPUSeconds(&rr)
		}
	}
	return seconds
}

// jobReset is one reset of chosen jobs.
type jobReset struct {
	service *Service
	by      Caller
	request *api.ResetJobsRequest
	graph   jobGraph
	chosen  []int32
	api.JobReset
}

// ResetJobs makes chosen jobs of a workflow uninitialized, so that they run again in its
// next run, or, in a dry run, returns them, their dependants, obstacles and cost. Unless
// it is forced, it returns CodeConflict while runners are active or a job is live, and if
// a job has changed since the proposal. Jobs that cannot be reset are listed with the
// reason, in a dry run as well, and the others are reset.
func (s *Service) ResetJobs(ctx context.Context, by Caller, workflowID int64, q *api.ResetJobsRequest) (api.JobReset, error) {
	r := &jobReset{service: s, by: by, request: q}
	r.WorkflowID, r.DryRun = workflowID, q.DryRun
	r.Jobs, r.Downstream, r.Reset, r.Failures = []api.ResetJob{}, []api.ResetJob{}, []int64{}, []api.ResetFailure{}
	if err := r.prepare(ctx); err != nil {
		return r.JobReset, err
	}
	return r.JobReset, r.apply(ctx)
}

// prepare chooses the jobs and finds their dependants.
func (r *jobReset) prepare(ctx context.Context) error {
	w, err := r.service.Store.Workflows.Get(ctx, r.WorkflowID)
	if err != nil {
		return err
	}
	if r.RunID = w.RunID; r.request.RunID != nil {
		r.RunID = *r.request.RunID
	}
	if r.graph, err = r.service.graph(ctx, r.WorkflowID); err != nil {
		return err
	}
	if err := r.choose(ctx); err != nil {
		return err
	}
	is := make(map[int32]bool)
	for _, i := range r.chosen {
		is[i] = true
		r.Jobs = append(r.Jobs, r.job(i))
	}
	open := slices.Clone(r.chosen)
	for _, i := range r.graph.behind(r.chosen) {
		if !is[i] {
			open = append(open, i)
			r.Downstream = append(r.Downstream, r.job(i))
		}
	}
	r.CPUSeconds = r.graph.cost(open)
	return nil
}

func (r *jobReset) job(i int32) api.ResetJob {
	j := &r.graph.jobs[i]
	return api.ResetJob{JobID: j.ID, Name: j.Name, Status: j.Status}
}

// choose finds the jobs of the request, in its order.
func (r *jobReset) choose(ctx context.Context) error {
	q := r.request
	switch {
	case len(q.JobIDs) > 0:
		for _, id := range q.JobIDs {
			i, known := r.graph.places[id]
			if !known {
				return workflow.Errorf(workflow.CodeInvalid, "job_ids: workflow %d has no job %d", r.WorkflowID, id)
			}
			r.chosen = append(r.chosen, i)
		}
	case len(q.Statuses) > 0:
		for _, s := range q.Statuses {
			r.chooseIf(func(j *workflow.Job) bool { return j.Status == s })
		}
	case q.ReturnCode != nil:
		results, err := all(func(page store.Page) ([]workflow.Result, int64, error) {
			return r.service.Store.Results.List(ctx, store.ResultFilter{WorkflowID: r.WorkflowID, ReturnCode: q.ReturnCode}, page)
		})
		if err != nil {
			return err
		}
		with := make(map[int64]bool)
		for _, x := range results {
			with[x.JobID] = true
		}
		r.chooseIf(func(j *workflow.Job) bool { return with[j.ID] })
	default:
		return workflow.Errorf(workflow.CodeInvalid, "no job was chosen: set job_ids, statuses or return_code")
	}
	return nil
}

func (r *jobReset) chooseIf(wanted func(*workflow.Job) bool) {
	for i := range r.graph.jobs {
		if wanted(&r.graph.jobs[i]) {
			r.chosen = append(r.chosen, int32(i))
		}
	}
}

// apply resets the jobs and starts a run if requested, or tries it.
func (r *jobReset) apply(ctx context.Context) error {
	q := r.request
	o := store.JobsResetOptions{RunID: r.RunID, Force: q.Force, Initialize: q.Reinitialize, User: r.by.User}
	for _, e := range q.Expected {
		o.Expected = append(o.Expected, store.JobAt{ID: e.JobID, Status: e.Status})
	}
	ids := make([]int64, len(r.Jobs))
	for i, j := range r.Jobs {
		ids[i] = j.JobID
	}
	carryOut := r.service.Store.Workflows.ResetChosen
	if q.DryRun {
		carryOut = r.service.Store.Workflows.ProposeResetChosen
	}
	done, err := carryOut(ctx, r.WorkflowID, ids, o)
	if err != nil {
		return err
	}
	if done.Obstacle != nil {
		r.Obstacle = &api.Obstacle{Message: done.Obstacle.Message, Hint: done.Obstacle.Hint}
	}
	for _, f := range done.Refused {
		r.Failures = append(r.Failures, api.ResetFailure{JobID: f.JobID, Error: refusalText(f.Err)})
	}
	if done.NotInitialized != nil {
		r.ReinitializeError = refusalText(done.NotInitialized)
	}
	if !q.DryRun {
		r.Reset, r.Reinitialized = append(r.Reset, done.Reset...), done.Initialized
	}
	return nil
}

// refusalText returns the message of an error, without its hint.
func refusalText(err error) string {
	var refusal *workflow.Error
	if !errors.As(err, &refusal) {
		return err.Error()
	}
	return strings.TrimSuffix(err.Error(), refusal.Error()) + refusal.Message
}
