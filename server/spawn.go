package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) spawnRoutes() []route {
	return []route{
		handle("POST", "/jobs/{id}/spawn_jobs", "Add jobs to the workflow of a running job", s.spawnJobs, bulk),
	}
}

func (s *Server) spawnJobs(r *request[idParams, api.SpawnRequest]) (api.SpawnResponse, error) {
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
