package server

import (
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) allocationRoutes() []route {
	return []route{
		handle("POST", "/workflows/{id}/allocations", "Ask Slurm for allocations", s.allocate, conflict409),
		handle("GET", "/workflows/{id}/allocations", "List the allocations of a workflow", s.listAllocations),
		handle("GET", "/allocations/{id}", "Get an allocation", s.getAllocation),
		handle("POST", "/allocations/{id}/cancel", "Cancel an allocation; what runs in it is preempted", s.cancelAllocation, conflict409),
	}
}

func fromAllocation(a workflow.Allocation) api.Allocation {
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

// allocate asks Slurm for the allocations of a scheduler, one after the other,
// until Slurm says no.
func (s *Server) allocate(r *request[idParams, api.AllocateRequest]) (api.AllocateResponse, error) {
	b := &r.Body
	if s.Cluster == nil {
		return api.AllocateResponse{}, errNoSlurm
	}
	if b.Count < 0 || b.Count > maxAllocate {
		return api.AllocateResponse{}, invalidField("count", b.Count, "count must be between 1 and %d", maxAllocate)
	}
	c, err := s.Store.SlurmScheduler(r.Context(), b.SchedulerConfigID)
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
	want := allocation.Want{WorkflowID: r.Params.ID, SchedulerConfigID: &c.ID, Request: request, Why: or(&b.Why, "")}
	if want.Why == "" {
		want.Why = fmt.Sprintf("%s asked for it", callerOf(r.Context()).User)
	}
	if s.Scheduler != nil {
		if _, err := s.fitness(r.Context(), r.Params.ID, nil, nil, b.SkipChecks); err != nil {
			return api.AllocateResponse{}, err
		}
	}
	var answer api.AllocateResponse
	ask := func() error {
		answer, err = s.ask(r.Context(), want, int(max(b.Count, 1)), c.SerializeAllocations)
		return err
	}
	if s.Scheduler == nil {
		err = ask()
	} else { // which is not to ask for the same jobs meanwhile
		err = s.Scheduler.Apart(r.Context(), ask)
	}
	return answer, err
}

// ask asks Slurm for so many allocations, until it says no.
func (s *Server) ask(ctx context.Context, want allocation.Want, count int, serialize bool) (answer api.AllocateResponse, err error) {
	answer.Items = []api.Allocation{}
	for range count {
		if serialize {
			if want.Request.After, err = s.latestSlurmJob(ctx, want.WorkflowID, *want.SchedulerConfigID); err != nil {
				return answer, err
			}
		}
		a, err := s.Cluster.Submit(ctx, want)
		if slurm.ClassOf(err) == slurm.Ambiguous {
			err = nil // it is looked for
		}
		if err != nil {
			if len(answer.Items) == 0 {
				return answer, refusal(err)
			}
			answer.Refused = s.told(ctx, refusal(err))
			break
		}
		answer.Items = append(answer.Items, fromAllocation(a))
	}
	return answer, nil
}

// refusal is what Slurm's no is to a client.
func refusal(err error) error {
	switch slurm.ClassOf(err) {
	case slurm.Temporary, slurm.Withheld, slurm.Unavailable:
		return workflow.Errorf(workflow.CodeUnavailable, "%v", err).WithHint("Slurm may take it later; nothing was changed")
	case slurm.Limit:
		return workflow.Errorf(workflow.CodeConflict, "%v", err).WithHint("a limit of the site is reached: let some of your Slurm jobs end first")
	case slurm.Permanent:
		return workflow.Errorf(workflow.CodeConflict, "%v", err).WithHint("change the Slurm scheduler: torc-slurm slurm update")
	}
	return err
}

// latestSlurmJob is the live Slurm job of a scheduler that was asked for last,
// 0 if there is none.
func (s *Server) latestSlurmJob(ctx context.Context, workflowID, schedulerID int64) (latest int64, err error) {
	all, _, err := s.Store.Allocations(ctx, store.AllocationFilter{WorkflowID: workflowID, Live: true}, store.Page{Limit: api.MaxLimit})
	for _, a := range all {
		if a.SchedulerConfigID != nil && *a.SchedulerConfigID == schedulerID && a.CancelMS == 0 {
			latest = max(latest, a.SlurmJobID)
		}
	}
	return latest, err
}

type allocationListParams struct {
	idParams
	pageParams
	State      *string `query:"state" doc:"intent, pending, active or ended"`
	SlurmJobID *int64  `query:"slurm_job_id"`
	Live       *bool   `query:"live" doc:"only those that have not ended"`
}

func (s *Server) listAllocations(r *request[allocationListParams, none]) (api.Page[api.Allocation], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.Allocation]{}, err
	}
	filter := store.AllocationFilter{WorkflowID: r.Params.ID, SlurmJobID: r.Params.SlurmJobID, Live: or(r.Params.Live, false)}
	if r.Params.State != nil {
		state := workflow.AllocationState(*r.Params.State)
		filter.State = &state
	}
	items, total, err := s.Store.Allocations(r.Context(), filter, page)
	if err != nil {
		return api.Page[api.Allocation]{}, err
	}
	left, err := s.Store.AbandonedAllocations(r.Context())
	return pageOf(page, items, total, func(a workflow.Allocation) api.Allocation {
		shown := fromAllocation(a)
		shown.RunnersLeft = left[a.ID]
		return shown
	}), err
}

func (s *Server) getAllocation(r *request[idParams, none]) (api.Allocation, error) {
	a, err := s.Store.Allocation(r.Context(), r.Params.ID)
	return fromAllocation(a), err
}

func (s *Server) cancelAllocation(r *request[idParams, none]) (api.Message, error) {
	a, err := s.Store.Allocation(r.Context(), r.Params.ID)
	if err != nil {
		return api.Message{}, err
	}
	n, err := s.Store.RequestCancel(r.Context(), []int64{a.ID}, callerOf(r.Context()).User+" canceled the allocation")
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
