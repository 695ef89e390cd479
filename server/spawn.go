package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) spawnRoutes() []route {
	return []route{
		handle("POST", "/jobs/{id}/spawn_jobs", "Add jobs to the workflow of a running job", s.spawnJobs, bulk),
	}
}

func (s *Server) spawnJobs(r *request[idParams, api.SpawnRequest]) (api.SpawnResponse, error) {
	if err := s.refuseUnfitSpawn(r.Context(), r.Params.ID, r.Body.Jobs); err != nil {
		return api.SpawnResponse{}, err
	}
	ids, iteration, err := s.Store.SpawnJobs(r.Context(), r.Params.ID, workflow.SpawnRequest{
		Lineage: or(r.Body.Lineage, ""), State: raw(r.Body.State),
		Jobs: each(r.Body.Jobs, func(j api.SpawnJob) workflow.SpawnJob {
			return workflow.SpawnJob{
				Name: j.Name, Command: j.Command, ResourceRequirements: or(j.ResourceRequirements, ""), Priority: or(j.Priority, 0),
				CancelOnBlockingJobFailure: j.CancelOnBlockingJobFailure, DependsOn: j.DependsOn, Labels: j.Labels,
			}
		}),
	})
	return api.SpawnResponse{SpawnedJobIDs: notNil(ids), Iteration: iteration}, err
}

// refuseUnfitSpawn refuses jobs that no allocation of the workflow and no runner that
// it has could ever run, where the daemon asks for its allocations: they would wait for
// ever. What is wrong with the request otherwise, the store says.
func (s *Server) refuseUnfitSpawn(ctx context.Context, callerID int64, jobs []api.SpawnJob) error {
	if s.Scheduler == nil {
		return nil
	}
	caller, err := s.Store.Job(ctx, callerID)
	if err != nil {
		return nil //nolint:nilerr // the store says it
	}
	type needed struct {
		class  workflow.Class
		reason string // why no allocation has it
	}
	byName := map[string]*needed{}
	var runners []workflow.RunnerFacts
	var lines []string
	for _, j := range jobs {
		name := or(j.ResourceRequirements, workflow.DefaultRequirements)
		need := byName[name]
		if need == nil {
			need = &needed{}
			byName[name] = need
			if need.class, err = s.Store.RequirementsClass(ctx, caller.WorkflowID, name); err != nil {
				return err
			}
			need.reason = s.Scheduler.Unfit(caller.WorkflowID, need.class)
		}
		if need.reason == "" {
			continue
		}
		if runners == nil {
			if runners, err = s.Store.RunnerFacts(ctx, caller.WorkflowID); err != nil {
				return err
			}
		}
		class := need.class
		class.Labels = j.Labels
		if workflow.Unplaced(class, runners) != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", j.Name, need.reason))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return &httpError{status: http.StatusUnprocessableEntity, detail: api.ErrorDetail{
		Error: api.KindUnfit, Message: "jobs to spawn can never run:\n" + strings.Join(lines, "\n"), Hint: "ask for less, or for other resource requirements",
	}}
}
