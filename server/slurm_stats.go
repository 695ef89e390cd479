package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) slurmStatsRoutes() []route {
	return []route{
		handle("POST", "/slurm_stats", "Store what Slurm accounted for an attempt; sent again, it replaces", s.putSlurmStats),
		handle("GET", "/slurm_stats", "List what Slurm accounted for a workflow's attempts", s.listSlurmStats),
		handle("POST", "/runners/{id}/steps", "Store what Slurm accounted for the attempts of a runner", s.accountSteps, bulk, runnersThemselves),
	}
}

func toSlurmStats(t api.SlurmStats) workflow.SlurmStats {
	return workflow.SlurmStats{
		WorkflowID: t.WorkflowID, JobID: t.JobID, RunID: t.RunID, AttemptID: t.AttemptID, SlurmJobID: t.SlurmJobID,
		MaxRSSBytes: t.MaxRSSBytes, MaxVMSizeBytes: t.MaxVMSizeBytes, MaxDiskReadBytes: t.MaxDiskReadBytes,
		MaxDiskWriteBytes: t.MaxDiskWriteBytes, AveCPUSeconds: t.AveCPUSeconds, NodeList: t.NodeList,
	}
}

func fromSlurmStats(t workflow.SlurmStats) api.SlurmStats {
	return api.SlurmStats{
		ID: &t.ID, WorkflowID: t.WorkflowID, JobID: t.JobID, RunID: t.RunID, AttemptID: t.AttemptID, SlurmJobID: t.SlurmJobID,
		MaxRSSBytes: t.MaxRSSBytes, MaxVMSizeBytes: t.MaxVMSizeBytes, MaxDiskReadBytes: t.MaxDiskReadBytes,
		MaxDiskWriteBytes: t.MaxDiskWriteBytes, AveCPUSeconds: t.AveCPUSeconds, NodeList: t.NodeList,
	}
}

func (s *Server) putSlurmStats(r *request[none, api.SlurmStats]) (api.SlurmStats, error) {
	t, err := s.Store.PutSlurmStats(r.Context(), toSlurmStats(r.Body))
	return fromSlurmStats(t), err
}

type slurmStatsListParams struct {
	workflowParams
	windowParams
	JobID     *int64 `query:"job_id"`
	RunID     *int64 `query:"run_id"`
	AttemptID *int64 `query:"attempt_id"`
}

func (s *Server) listSlurmStats(r *request[slurmStatsListParams, none]) (api.Page[api.SlurmStats], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.SlurmStats]{}, err
	}
	items, total, err := s.Store.SlurmStats(r.Context(), store.SlurmStatsFilter{
		WorkflowID: r.Params.WorkflowID, JobID: r.Params.JobID, RunID: r.Params.RunID, AttemptID: r.Params.AttemptID,
	}, page)
	list := pageOf(page, items, total, fromSlurmStats)
	list.MaxLimit = page.Limit // here torc says which limit was in force
	return list, err
}

func (s *Server) accountSteps(r *request[idParams, api.StepAccounts]) (api.Message, error) {
	err := s.Store.AccountSteps(r.Context(), r.Params.ID, each(r.Body.Steps, toSlurmStats))
	return api.Message{Message: "stored"}, err
}
