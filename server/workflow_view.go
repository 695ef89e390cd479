package server

import (
	"context"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The views of a workflow: nothing here changes anything.
func (s *Server) workflowViewRoutes() []route {
	return []route{
		handle("GET", "/workflows/{id}/status", "Summarize a workflow", s.workflowStatus),
		handle("GET", "/workflows/{id}/is_complete", "Whether every job of a workflow is complete", s.isComplete),
		handle("GET", "/workflows/{id}/is_uninitialized", "Whether every job of a workflow is uninitialized or disabled", s.isUninitialized),
		handle("GET", "/workflows/{id}/job_ids", "List the ids of the jobs of a workflow", s.jobIDs),
		handle("GET", "/workflows/{id}/running_jobs", "List the running jobs of a workflow with their nodes", s.runningJobs),
		handle("GET", "/workflows/{id}/slurm_job_correlations", "List in which Slurm jobs the jobs of a workflow ran", s.slurmJobCorrelations),
		handle("GET", "/workflows/{id}/job_dependencies", "List the edges of a workflow's graph", s.jobDependencies),
		handle("GET", "/workflows/{id}/job_file_relationships", "List files with their producers and consumers", s.jobFileRelationships),
		handle("GET", "/workflows/{id}/job_user_data_relationships", "List user data with their producers and consumers", s.jobUserDataRelationships),
		handle("GET", "/workflows/{id}/required_existing_files", "List the files that must exist", s.requiredExistingFiles),
		handle("GET", "/workflows/{id}/missing_user_data", "List the user data that should be there and are not", s.missingUserData),
	}
}

func (s *Server) isComplete(r *request[idParams, none]) (api.IsComplete, error) {
	canceled, complete, err := s.Store.IsComplete(r.Context(), r.Params.ID)
	return api.IsComplete{IsCanceled: canceled, IsComplete: complete}, err
}

func (s *Server) isUninitialized(r *request[idParams, none]) (api.IsUninitialized, error) {
	yes, err := s.Store.IsUninitialized(r.Context(), r.Params.ID)
	return api.IsUninitialized{IsUninitialized: yes}, err
}

func (s *Server) jobIDs(r *request[idParams, none]) (api.JobIDs, error) {
	ids, err := s.Store.JobIDs(r.Context(), r.Params.ID)
	return api.JobIDs{JobIDs: notNil(ids), Count: int64(len(ids))}, err
}

func (s *Server) requiredExistingFiles(r *request[idParams, none]) (api.RequiredFiles, error) {
	ids, err := s.Store.RequiredExistingFiles(r.Context(), r.Params.ID)
	return api.RequiredFiles{Files: notNil(ids)}, err
}

func (s *Server) missingUserData(r *request[idParams, none]) (api.MissingUserData, error) {
	ids, err := s.Store.MissingUserData(r.Context(), r.Params.ID)
	return api.MissingUserData{UserData: notNil(ids)}, err
}

type workflowWindowParams struct {
	idParams
	windowParams
}

type workflowViewParams struct {
	idParams
	pageParams
}

func (s *Server) runningJobs(r *request[workflowWindowParams, none]) (api.Page[api.RunningJob], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.RunningJob]{}, err
	}
	jobs, total, err := s.Store.RunningJobs(r.Context(), r.Params.ID, page)
	states := s.leases.states(s.Now())
	for i := range jobs {
		if silent := states[jobs[i].ComputeNodeID].SilentMS; silent > 0 {
			jobs[i].SilentSeconds = new(silent / 1000)
		}
	}
	return pageOf(page, jobs, total, func(j workflow.RunningJob) api.RunningJob { return api.RunningJob(j) }), err
}

func (s *Server) slurmJobCorrelations(r *request[workflowWindowParams, none]) (api.Page[api.SlurmJobCorrelation], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.SlurmJobCorrelation]{}, err
	}
	items, total, err := s.Store.SlurmJobCorrelations(r.Context(), r.Params.ID, page)
	return pageOf(page, items, total, func(c workflow.SlurmJobCorrelation) api.SlurmJobCorrelation { return api.SlurmJobCorrelation(c) }), err
}

func (s *Server) jobDependencies(r *request[workflowViewParams, none]) (api.Page[api.JobDependency], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.JobDependency]{}, err
	}
	items, total, err := s.Store.JobDependencies(r.Context(), r.Params.ID, page)
	return pageOf(page, items, total, func(d workflow.JobDependency) api.JobDependency { return api.JobDependency(d) }), err
}

func (s *Server) jobFileRelationships(r *request[workflowViewParams, none]) (api.Page[api.JobFileRelationship], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.JobFileRelationship]{}, err
	}
	items, total, err := s.Store.JobFileRelationships(r.Context(), r.Params.ID, page)
	return pageOf(page, items, total, func(x workflow.JobFileRelationship) api.JobFileRelationship { return api.JobFileRelationship(x) }), err
}

func (s *Server) jobUserDataRelationships(r *request[workflowViewParams, none]) (api.Page[api.JobUserDataRelationship], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.JobUserDataRelationship]{}, err
	}
	items, total, err := s.Store.JobUserDataRelationships(r.Context(), r.Params.ID, page)
	return pageOf(page, items, total, func(x workflow.JobUserDataRelationship) api.JobUserDataRelationship {
		return api.JobUserDataRelationship(x)
	}), err
}

func (s *Server) workflowStatus(r *request[idParams, none]) (api.WorkflowStatus, error) {
	sum, err := s.Store.Summary(r.Context(), r.Params.ID)
	if err != nil {
		return api.WorkflowStatus{}, err
	}
	status := api.WorkflowStatus{
		WorkflowID: sum.WorkflowID, WorkflowName: sum.Name, WorkflowUser: sum.User, TotalJobs: sum.Total(),
		JobsByStatus: jobCounts(sum.Jobs), TotalExecTimeMinutes: sum.ExecMinutes, WalltimeSeconds: sum.WalltimeSeconds,
		ActiveComputeNodes: sum.ActiveNodes, PendingScheduledNodes: sum.PendingAllocations, ActiveScheduledNodes: sum.ActiveAllocations,
		IsComplete: sum.IsCanceled || sum.IsComplete(), IsCanceled: sum.IsCanceled, RuntimeBlockedReadyJobs: sum.RuntimeBlocked,
		LongestReadyRuntimeSeconds: sum.LongestReadySeconds, MaxAllocationRemainingSeconds: sum.MaxRemainingSeconds,
		UnservedReadyLabels: sum.UnservedLabels, RunID: sum.RunID, Verdict: strings.TrimPrefix(string(sum.Verdict), "workflow_"), GivenUp: sum.GivenUp,
		ClaimHolds: sum.ClaimHolds, Compensation: sum.Compensation,
		CanceledBy: sum.CanceledBy, EndJob: sum.EndJob,
	}
	for _, why := range sum.AllocationReasons {
		status.AllocationReasons = append(status.AllocationReasons, "asked for, "+why)
	}
	if !status.IsComplete && s.Scheduler != nil {
		places, err := s.places(r.Context(), r.Params.ID, 0)
		if err != nil {
			return status, err
		}
		status.AllocationReasons = append(status.AllocationReasons, places.Ready...)
	}
	if sum.Attempts.Ended > 0 {
		status.Attempts = &sum.Attempts
	}
	if len(sum.Stages.Shown) > 0 {
		main := workflow.Counts{ByStatus: sum.Main()}
		status.Stages, status.MainStage = &sum.Stages, &api.MainStage{TotalJobs: main.Total(), JobsByStatus: jobCounts(main.ByStatus)}
	}
	status.Runners, err = s.runnerStates(r.Context(), r.Params.ID)
	return status, err
}

// runnerStates are the runners of a workflow with which something is the matter.
func (s *Server) runnerStates(ctx context.Context, workflowID int64) ([]api.RunnerState, error) {
	states := s.leases.states(s.Now())
	if len(states) == 0 {
		return nil, nil
	}
	facts, err := s.Store.WorkflowFacts(ctx, workflowID)
	if err != nil {
		return nil, err
	}
	var all []api.RunnerState
	for i := range facts.Runners {
		r := &facts.Runners[i]
		state, known := states[r.ID]
		if !known {
			continue
		}
		shown := api.RunnerState{ComputeNodeID: r.ID, Hostname: r.Host, Jobs: r.Jobs, Paused: state.Paused}
		if state.SilentMS > 0 {
			shown.SilentSeconds = new(state.SilentMS / 1000)
		}
		all = append(all, shown)
	}
	return all, nil
}

func jobCounts(n [11]int64) api.JobCounts {
	return api.JobCounts{
		Uninitialized: n[workflow.Uninitialized], Blocked: n[workflow.Blocked], Ready: n[workflow.Ready], Pending: n[workflow.Pending],
		Running: n[workflow.Running], Completed: n[workflow.Completed], Failed: n[workflow.Failed], Canceled: n[workflow.Canceled],
		Terminated: n[workflow.Terminated], Disabled: n[workflow.Disabled], PendingFailed: n[workflow.PendingFailed],
	}
}

// notNil makes a list that is written as [] rather than null.
func notNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
