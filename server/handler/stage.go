package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// stages handles requests about stages of workflows.
type stages struct{ *Deps }

func (h stages) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/workflows/{id}/stages", "List the stages of a workflow: sub-workflows, the end job, compensations", h.listStages),
	}
}

func fromStage(s stage.Stage) api.Stage {
	return api.Stage{
		ID: s.ID, WorkflowID: s.WorkflowID, Kind: s.Kind, ParentID: s.ParentID, Name: s.Name, State: s.State, JobID: s.JobID, Policy: s.Policy,
		RunID: s.RunID, Generation: s.Generation, StartedMS: s.StartedMS, EndedMS: s.EndedMS, Verdict: s.Verdict, JobsByStatus: jobCounts(s.Counts),
	}
}

func (h stages) listStages(r *rest.Request[IDParams, rest.None]) (api.Stages, error) {
	stages, err := h.Store.Workflows.Stages(r.Context(), r.Params.ID)
	return api.Stages{Stages: Each(stages, fromStage)}, err
}
