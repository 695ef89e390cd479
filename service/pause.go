package service

import (
	"context"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// Pause stops new claims of a workflow until they are released, or, in a dry run, says what
// that would stop. To pause a paused workflow only adds what the request asks for besides.
func Pause(ctx context.Context, s *Service, by Caller, workflowID int64, q *api.PauseRequest) (api.PauseOutcome, error) {
	carryOut := s.Store.Workflows.Pause
	if q.DryRun {
		carryOut = s.Store.Workflows.ProposePause
	}
	p, err := carryOut(ctx, workflowID, store.PauseOptions{Pause: hold.Pause{By: by.User, Why: q.Reason, CancelPending: q.CancelPending}, Now: q.Now})
	out := api.PauseOutcome{
		WorkflowID: workflowID, DryRun: q.DryRun, Hold: p.Hold, Began: p.Began, Ending: p.Ending, Jobs: []api.LiveJob{},
		Pending: each(p.Pending, pausedAllocation), Canceled: each(p.Canceled, pausedAllocation),
	}
	nowMS := s.Now().UnixMilli()
	for i := range p.Live {
		j := &p.Live[i]
		live := liveJob(j)
		out.Jobs = append(out.Jobs, live)
		switch {
		case !q.Now:
		case j.Unreachable:
			out.Unreachable = append(out.Unreachable, live)
		default:
			out.CPUSeconds += j.UsedCPUSeconds(nowMS)
		}
	}
	return out, err
}

// liveJob converts a job that a runner holds.
func liveJob(j *store.LiveJob) api.LiveJob {
	live := api.LiveJob{JobID: j.ID, Name: j.Name, Status: j.Status}
	if j.StartMS != 0 {
		live.StartTime = new(time.UnixMilli(j.StartMS).UTC().Format(time.RFC3339))
	}
	return live
}

func pausedAllocation(a compute.Allocation) api.LiveAllocation {
	return api.LiveAllocation{ID: a.ID, SlurmJobID: a.SlurmJobID, State: string(a.State)}
}

// refuseForPaused rejects a request for an allocation of a paused workflow: its runner would
// find no work and leave.
func refuseForPaused(ctx context.Context, s *store.Store, workflowID int64) error {
	all, err := s.ClaimHolds.List(ctx, workflowID)
	if err != nil {
		return err
	}
	live := hold.ClaimHolds(slices.DeleteFunc(all, func(h hold.ClaimHold) bool { return h.EndedMS != 0 }))
	if h := live.Paused(); h != nil {
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is %s: an allocation would find no work", workflowID, h.Reason).
			WithHint("`torc-slurm resume %d` ends the pause; --skip-checks (skip_checks in the API) requests it anyway", workflowID)
	}
	return nil
}
