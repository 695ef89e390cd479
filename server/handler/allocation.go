package handler

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// allocations handles requests about allocations.
type allocations struct{ *Deps }

func (h allocations) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/allocations", "Request allocations from Slurm", h.allocate, rest.Conflict409),
		rest.Handle("GET", "/workflows/{id}/allocations", "List the allocations of a workflow", h.listAllocations),
		rest.Handle("GET", "/allocations/{id}", "Get an allocation", h.getAllocation),
		rest.Handle("POST", "/allocations/{id}/cancel", "Cancel an allocation; its running jobs are preempted", h.cancelAllocation, rest.Conflict409),
	}
}

func fromAllocation(a compute.Allocation) api.Allocation {
	return api.Allocation{
		ID: a.ID, WorkflowID: a.WorkflowID, RunID: a.RunID, IntentID: a.IntentID, JobName: a.JobName, State: string(a.State),
		Cluster: a.Cluster, SlurmJobID: a.SlurmJobID, RestartCount: a.RestartCount, SlurmState: a.SlurmState, SlurmReason: a.SlurmReason,
		NodeList: a.NodeList, SchedulerConfigID: a.SchedulerConfigID, Account: a.Request.Account, Partition: a.Request.Partition,
		QOS: a.Request.QOS, Nodes: a.Request.Nodes, WalltimeSeconds: a.Request.WalltimeS, Why: a.Why,
		AskedMS: a.AskedMS, SubmitMS: a.SubmitMS, StartMS: a.StartMS, EndMS: a.EndMS, LimitMS: a.LimitMS,
		CancelMS: a.CancelMS, CancelWhy: a.CancelWhy,
		Cause: string(a.Cause), Confidence: string(a.Confidence), CauseText: a.CauseText, ExitCode: a.ExitCode,
	}
}

// maxAllocate bounds the allocations of one request.
const maxAllocate = 1000

// allocate requests allocations of a scheduler from Slurm, one after the other.
// It stops at the first request that Slurm rejects.
func (h allocations) allocate(r *rest.Request[IDParams, api.AllocateRequest]) (api.AllocateResponse, error) {
	b := &r.Body
	if h.Cluster == nil {
		return api.AllocateResponse{}, errNoSlurm
	}
	if b.Count < 0 || b.Count > maxAllocate {
		return api.AllocateResponse{}, rest.InvalidField("count", b.Count, "count must be between 1 and %d", maxAllocate)
	}
	c, err := h.Store.SlurmSchedulers.Get(r.Context(), b.SchedulerConfigID)
	if err != nil {
		return api.AllocateResponse{}, err
	}
	if c.WorkflowID != r.Params.ID {
		return api.AllocateResponse{}, workflow.Errorf(workflow.CodeInvalid, "Slurm scheduler %d is of workflow %d", c.ID, c.WorkflowID)
	}
	request, err := allocation.RequestOf(&c)
	if err != nil {
		return api.AllocateResponse{}, err
	}
	request.OutputDir, request.MaxParallelJobs = b.OutputDir, b.MaxParallelJobs
	request.OneRunnerPerNode, request.Labels = b.OneRunnerPerNode, b.Labels
	want := allocation.Want{WorkflowID: r.Params.ID, SchedulerConfigID: &c.ID, Request: request, Why: Or(&b.Why, "")}
	if want.Why == "" {
		want.Why = fmt.Sprintf("%s asked for it", access.CallerOf(r.Context()).User)
	}
	if h.Scheduler != nil {
		if _, err := h.fitness(r.Context(), r.Params.ID, nil, nil, b.SkipChecks); err != nil {
			return api.AllocateResponse{}, err
		}
	}
	var answer api.AllocateResponse
	ask := func() error {
		answer, err = h.ask(r.Context(), want, int(max(b.Count, 1)), c.SerializeAllocations)
		return err
	}
	if h.Scheduler == nil {
		err = ask()
	} else { // which is not to ask for the same jobs meanwhile
		err = h.Scheduler.Apart(r.Context(), ask)
	}
	return answer, err
}

// ask requests so many allocations from Slurm and stops at the first that is rejected.
func (h allocations) ask(ctx context.Context, want allocation.Want, count int, serialize bool) (answer api.AllocateResponse, err error) {
	answer.Items = []api.Allocation{}
	for range count {
		if serialize {
			if want.Request.After, err = h.latestSlurmJob(ctx, want.WorkflowID, *want.SchedulerConfigID); err != nil {
				return answer, err
			}
		}
		a, err := h.Cluster.Submit(ctx, want)
		if slurm.ClassOf(err) == slurm.Ambiguous {
			err = nil // the daemon searches for the Slurm job
		}
		if err != nil {
			if len(answer.Items) == 0 {
				return answer, submitError(err)
			}
			answer.Refused = rest.Told(ctx, h.Log, submitError(err))
			break
		}
		answer.Items = append(answer.Items, fromAllocation(a))
	}
	return answer, nil
}

// submitError returns what a client is told when Slurm rejects a submission.
func submitError(err error) error {
	switch slurm.ClassOf(err) {
	case slurm.Temporary, slurm.Withheld, slurm.Unavailable:
		return workflow.Errorf(workflow.CodeUnavailable, "%v", err).WithHint("Slurm may accept it later; nothing was changed")
	case slurm.Limit:
		return workflow.Errorf(workflow.CodeConflict, "%v", err).WithHint("a limit of the site is reached: wait until some of your Slurm jobs have ended")
	case slurm.Permanent:
		return workflow.Errorf(workflow.CodeConflict, "%v", err).WithHint("change the Slurm scheduler: torc-slurm slurm update")
	}
	return err
}

// latestSlurmJob returns the live Slurm job of a scheduler that was submitted last,
// 0 if there is none.
func (h allocations) latestSlurmJob(ctx context.Context, workflowID, schedulerID int64) (latest int64, err error) {
	all, _, err := h.Store.Allocations.List(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, store.Page{Limit: api.MaxLimit})
	for _, a := range all {
		if a.SchedulerConfigID != nil && *a.SchedulerConfigID == schedulerID && a.CancelMS == 0 {
			latest = max(latest, a.SlurmJobID)
		}
	}
	return latest, err
}

type allocationListParams struct {
	IDParams
	pageParams
	State      *string `query:"state" doc:"intent, pending, active or ended"`
	SlurmJobID *int64  `query:"slurm_job_id"`
	Live       *bool   `query:"live" doc:"only those that have not ended"`
}

func (h allocations) listAllocations(r *rest.Request[allocationListParams, rest.None]) (api.Page[api.Allocation], error) {
	page, err := r.Params.Page()
	if err != nil {
		return api.Page[api.Allocation]{}, err
	}
	filter := store.AllocationFilter{WorkflowID: r.Params.ID, SlurmJobID: r.Params.SlurmJobID, Live: Or(r.Params.Live, false)}
	if r.Params.State != nil {
		state := compute.AllocationState(*r.Params.State)
		filter.State = &state
	}
	items, total, err := h.Store.Allocations.List(r.Context(), filter, page)
	if err != nil {
		return api.Page[api.Allocation]{}, err
	}
	left, err := h.Store.Allocations.Abandoned(r.Context())
	return PageOf(page, items, total, func(a compute.Allocation) api.Allocation {
		shown := fromAllocation(a)
		shown.RunnersLeft = left[a.ID]
		return shown
	}), err
}

func (h allocations) getAllocation(r *rest.Request[IDParams, rest.None]) (api.Allocation, error) {
	a, err := h.Store.Allocations.Get(r.Context(), r.Params.ID)
	return fromAllocation(a), err
}

func (h allocations) cancelAllocation(r *rest.Request[IDParams, rest.None]) (api.Message, error) {
	a, err := h.Store.Allocations.Get(r.Context(), r.Params.ID)
	if err != nil {
		return api.Message{}, err
	}
	n, err := h.Store.Allocations.RequestCancel(r.Context(), []int64{a.ID}, access.CallerOf(r.Context()).User+" canceled the allocation")
	switch {
	case err != nil:
		return api.Message{}, err
	case n == 0 && a.IsLive():
		return api.Message{Message: fmt.Sprintf("allocation %d is being canceled", a.ID)}, nil
	case n == 0:
		return api.Message{}, workflow.Errorf(workflow.CodeConflict, "allocation %d has ended: %s", a.ID, a.CauseText)
	}
	return api.Message{Message: fmt.Sprintf("allocation %d will be canceled", a.ID)}, nil
}
