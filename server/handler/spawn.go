package handler

import (
	"context"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
)

// spawns handles requests about jobs that running jobs add.
type spawns struct{ *Deps }

func (h spawns) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/jobs/{id}/spawn_jobs", "Add jobs to the workflow of a running job", h.spawnJobs, rest.Bulk),
	}
}

func (h spawns) spawnJobs(r *rest.Request[IDParams, api.SpawnRequest]) (api.SpawnResponse, error) {
	if err := h.checkSpawnFits(r.Context(), r.Params.ID, r.Body.Jobs); err != nil {
		return api.SpawnResponse{}, err
	}
	ids, iteration, err := h.Store.Jobs.Spawn(r.Context(), r.Params.ID, spawn.SpawnRequest{
		Lineage: Or(r.Body.Lineage, ""), State: raw(r.Body.State),
		Jobs: Each(r.Body.Jobs, func(j api.SpawnJob) spawn.SpawnJob {
			return spawn.SpawnJob{
				Name: j.Name, Command: j.Command, ResourceRequirements: Or(j.ResourceRequirements, ""), Priority: Or(j.Priority, 0),
				CancelOnBlockingJobFailure: j.CancelOnBlockingJobFailure, DependsOn: j.DependsOn, Labels: j.Labels,
			}
		}),
	})
	return api.SpawnResponse{SpawnedJobIDs: NotNil(ids), Iteration: iteration}, err
}

// checkSpawnFits returns an error if a job to spawn fits no allocation and no runner of a
// workflow whose allocations the daemon requests: the job would wait forever. The store
// checks the rest of the request.
func (h spawns) checkSpawnFits(ctx context.Context, callerID int64, jobs []api.SpawnJob) error {
	if h.Scheduler == nil {
		return nil
	}
	caller, err := h.Store.Jobs.Get(ctx, callerID)
	if err != nil {
		return nil //nolint:nilerr // the store returns the error
	}
	type needed struct {
		class  placement.Class
		reason string // why no allocation fits
	}
	byName := map[string]*needed{}
	var runners []placement.RunnerFacts
	var lines []string
	for _, j := range jobs {
		name := Or(j.ResourceRequirements, workflow.DefaultRequirements)
		need := byName[name]
		if need == nil {
			need = &needed{}
			byName[name] = need
			if need.class, err = h.Store.Requirements.Class(ctx, caller.WorkflowID, name); err != nil {
				return err
			}
			need.reason = h.Scheduler.Unfit(caller.WorkflowID, need.class)
		}
		if need.reason == "" {
			continue
		}
		if runners == nil {
			if runners, err = h.Store.Scheduling.RunnerFacts(ctx, caller.WorkflowID); err != nil {
				return err
			}
		}
		class := need.class
		class.Labels = j.Labels
		if placement.Unplaced(class, runners) != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", j.Name, need.reason))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return workflow.Errorf(workflow.CodeUnfit, "jobs to spawn can never run:\n%s", strings.Join(lines, "\n")).WithHint("request less, or other resource requirements")
}
