package handler

import (
	"context"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// workflowViews handles requests about views of workflows.
type workflowViews struct{ *Deps }

// The views of a workflow: nothing here changes anything.
func (h workflowViews) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/status", "Summarize a workflow", h.workflowStatus),
		rest.Handle("GET", "/workflows/{id}/is_complete", "Check whether every job of a workflow is complete", h.isComplete),
		rest.Handle("GET", "/workflows/{id}/is_uninitialized", "Check whether every job of a workflow is uninitialized or disabled", h.isUninitialized),
		rest.Handle("GET", "/workflows/{id}/job_ids", "List the ids of the jobs of a workflow", h.jobIDs),
		rest.Handle("GET", "/workflows/{id}/running_jobs", "List the running jobs of a workflow with their nodes", List(h.runningJobs, same)),
		rest.Handle("GET", "/workflows/{id}/slurm_job_correlations", "List the Slurm jobs in which the jobs of a workflow ran", List(h.slurmJobCorrelations, same)),
		rest.Handle("GET", "/workflows/{id}/job_dependencies", "List the edges of a workflow's graph", List(h.jobDependencies, same)),
		rest.Handle("GET", "/workflows/{id}/job_file_relationships", "List files with their producers and consumers", List(h.jobFileRelationships, same)),
		rest.Handle("GET", "/workflows/{id}/job_user_data_relationships", "List user data with their producers and consumers", List(h.jobUserDataRelationships, same)),
		rest.Handle("GET", "/workflows/{id}/required_existing_files", "List the files that must exist", h.requiredExistingFiles),
		rest.Handle("GET", "/workflows/{id}/missing_user_data", "List the user data that a workflow needs and that has no value", h.missingUserData),
	}
}

func (h workflowViews) isComplete(r *rest.Request[IDParams, rest.None]) (api.IsComplete, error) {
	canceled, complete, err := h.Store.Workflows.IsComplete(r.Context(), r.Params.ID)
	return api.IsComplete{IsCanceled: canceled, IsComplete: complete}, err
}

func (h workflowViews) isUninitialized(r *rest.Request[IDParams, rest.None]) (api.IsUninitialized, error) {
	yes, err := h.Store.Workflows.IsUninitialized(r.Context(), r.Params.ID)
	return api.IsUninitialized{IsUninitialized: yes}, err
}

func (h workflowViews) jobIDs(r *rest.Request[IDParams, rest.None]) (api.JobIDs, error) {
	ids, err := h.Store.Jobs.IDs(r.Context(), r.Params.ID)
	return api.JobIDs{JobIDs: NotNil(ids), Count: int64(len(ids))}, err
}

func (h workflowViews) requiredExistingFiles(r *rest.Request[IDParams, rest.None]) (api.RequiredFiles, error) {
	ids, err := h.Store.Files.RequiredExisting(r.Context(), r.Params.ID)
	return api.RequiredFiles{Files: NotNil(ids)}, err
}

func (h workflowViews) missingUserData(r *rest.Request[IDParams, rest.None]) (api.MissingUserData, error) {
	ids, err := h.Store.UserData.Missing(r.Context(), r.Params.ID)
	return api.MissingUserData{UserData: NotNil(ids)}, err
}

type workflowWindowParams struct {
	IDParams
	windowParams
}

type workflowViewParams struct {
	IDParams
	pageParams
}

func (h workflowViews) runningJobs(r *rest.Request[workflowWindowParams, rest.None], page store.Page) ([]workflow.RunningJob, int64, error) {
	jobs, total, err := h.Store.Jobs.Running(r.Context(), r.Params.ID, page)
	states := h.Leases.States(h.Now())
	for i := range jobs {
		if silent := states[jobs[i].ComputeNodeID].SilentMS; silent > 0 {
			jobs[i].SilentSeconds = new(silent / 1000)
		}
	}
	return jobs, total, err
}

func (h workflowViews) slurmJobCorrelations(r *rest.Request[workflowWindowParams, rest.None], page store.Page) ([]compute.SlurmJobCorrelation, int64, error) {
	return h.Store.SlurmStats.JobCorrelations(r.Context(), r.Params.ID, page)
}

func (h workflowViews) jobDependencies(r *rest.Request[workflowViewParams, rest.None], page store.Page) ([]workflow.JobDependency, int64, error) {
	return h.Store.Jobs.Dependencies(r.Context(), r.Params.ID, page)
}

func (h workflowViews) jobFileRelationships(r *rest.Request[workflowViewParams, rest.None], page store.Page) ([]artifact.JobFileRelationship, int64, error) {
	return h.Store.Jobs.FileRelationships(r.Context(), r.Params.ID, page)
}

func (h workflowViews) jobUserDataRelationships(r *rest.Request[workflowViewParams, rest.None], page store.Page) ([]artifact.JobUserDataRelationship, int64, error) {
	return h.Store.Jobs.UserDataRelationships(r.Context(), r.Params.ID, page)
}

func (h workflowViews) workflowStatus(r *rest.Request[IDParams, rest.None]) (api.WorkflowStatus, error) {
	sum, err := h.Store.Workflows.Summary(r.Context(), r.Params.ID)
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
		ClaimHolds: sum.ClaimHolds, UserHeldJobs: sum.UserHeld, Compensation: sum.Compensation,
		CanceledBy: sum.CanceledBy, EndJob: sum.EndJob,
	}
	for _, why := range sum.AllocationReasons {
		status.AllocationReasons = append(status.AllocationReasons, "asked for, "+why)
	}
	if !status.IsComplete && h.Scheduler != nil {
		places, err := h.places(r.Context(), r.Params.ID, 0)
		if err != nil {
			return status, err
		}
		status.AllocationReasons = append(status.AllocationReasons, places.Ready...)
	}
	if sum.Attempts.Ended > 0 {
		status.Attempts = &sum.Attempts
	}
	if len(sum.Stages.Shown) > 0 {
		main := stage.Counts{ByStatus: sum.Main()}
		status.Stages, status.MainStage = &sum.Stages, &api.MainStage{TotalJobs: main.Total(), JobsByStatus: jobCounts(main.ByStatus)}
	}
	status.Runners, err = h.runnerStates(r.Context(), r.Params.ID)
	return status, err
}

// runnerStates returns the runners of a workflow that have a problem.
func (h workflowViews) runnerStates(ctx context.Context, workflowID int64) ([]api.RunnerState, error) {
	states := h.Leases.States(h.Now())
	if len(states) == 0 {
		return nil, nil
	}
	facts, err := h.Store.Workflows.Facts(ctx, workflowID)
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

// NotNil returns a list that is encoded as [] rather than null.
func NotNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
