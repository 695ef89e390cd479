package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// noAllocation returns why a submission leads to no allocation unless somebody changes
// something, and what to do; nil if it leads to some. What Slurm does not accept now may be
// accepted later.
func noAllocation(p *api.SchedulePlan) *api.Obstacle {
	forGood := func(r api.ScheduleRefusal) bool { return r.Class == string(slurm.Permanent) }
	unplaced := func(j api.ScheduledJobs) bool { return j.Uncovered == j.Ready }
	switch no := slices.IndexFunc(p.Refusals, forGood); {
	case len(p.Requested) > 0:
		return nil
	case no >= 0 && every(p.Refusals, forGood):
		return &api.Obstacle{
			Message: fmt.Sprintf("workflow %d has no allocation, Slurm rejected the request: %s", p.WorkflowID, p.Refusals[no].Text),
			Hint:    fmt.Sprintf("correct the account, the partition or the Slurm scheduler and submit again, `torc-slurm submit %[1]d`; until then the daemon tries from time to time, which `torc-slurm cancel %[1]d` ends", p.WorkflowID),
		}
	case len(p.Refusals)+len(p.Waits) > 0 || p.LaterActions > 0:
		return nil
	case len(p.ReadyJobs) > 0 && every(p.ReadyJobs, unplaced):
		return &api.Obstacle{
			Message: fmt.Sprintf("workflow %d has no allocation: %s", p.WorkflowID, p.ReadyJobs[0].Reason),
			Hint:    "change what the jobs need, or the Slurm scheduler; the daemon checks again then",
		}
	case p.RequestsMore:
		return nil
	}
	return &api.Obstacle{
		Message: fmt.Sprintf("workflow %d requests no allocation: none of its schedule_nodes actions is due or waits", p.WorkflowID),
		Hint:    fmt.Sprintf("`torc-slurm slurm schedule %[1]d` requests what its jobs need; `torc-slurm workflows list-actions %[1]d` lists the actions", p.WorkflowID),
	}
}

// every reports whether something holds for each item of a list.
func every[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !holds(x) })
}

// laterActions counts the actions of a workflow that request allocations when they are
// triggered, and are not triggered yet.
func laterActions(ctx context.Context, s *store.Store, workflowID int64) (n int64, err error) {
	actions, err := s.Actions.List(ctx, workflowID)
	for i := range actions {
		if x := &actions[i]; x.ActionType == action.ScheduleNodes && x.Status() == action.StatusWaiting {
			n++
		}
	}
	return n, err
}
