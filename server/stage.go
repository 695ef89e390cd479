package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) stageRoutes() []route {
	return []route{
		handle("GET", "/workflows/{id}/stages", "List the stages of a workflow: sub-workflows, the end job, compensations", s.listStages),
	}
}

func fromStage(s workflow.Stage) api.Stage {
	return api.Stage{
		ID: s.ID, WorkflowID: s.WorkflowID, Kind: s.Kind, ParentID: s.ParentID, Name: s.Name, State: s.State, JobID: s.JobID, Policy: s.Policy,
		RunID: s.RunID, Generation: s.Generation, StartedMS: s.StartedMS, EndedMS: s.EndedMS, Verdict: s.Verdict, JobsByStatus: jobCounts(s.Counts),
	}
}

func (s *Server) listStages(r *request[idParams, none]) (api.Stages, error) {
	stages, err := s.Store.Stages(r.Context(), r.Params.ID)
	return api.Stages{Stages: each(stages, fromStage)}, err
}
