package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// slurmStats handles requests about Slurm's accounting records of steps.
type slurmStats struct{ *Deps }

func (h slurmStats) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/slurm_stats", "List Slurm's accounting records of a workflow's attempts", h.listSlurmStats),
		rest.Handle("POST", "/runners/{id}/steps", "Store Slurm's accounting records of a runner's attempts", h.accountSteps, rest.Bulk, rest.RunnersThemselves),
	}
}

// ToSlurmStats returns an accounting record as the domain has it.
func ToSlurmStats(t api.SlurmStats) compute.SlurmStats {
	return compute.SlurmStats{
		WorkflowID: t.WorkflowID, JobID: t.JobID, RunID: t.RunID, AttemptID: t.AttemptID, SlurmJobID: t.SlurmJobID,
		MaxRSSBytes: t.MaxRSSBytes, MaxVMSizeBytes: t.MaxVMSizeBytes, MaxDiskReadBytes: t.MaxDiskReadBytes,
		MaxDiskWriteBytes: t.MaxDiskWriteBytes, AveCPUSeconds: t.AveCPUSeconds, NodeList: t.NodeList,
	}
}

// FromSlurmStats returns an accounting record as it is on the wire.
func FromSlurmStats(t compute.SlurmStats) api.SlurmStats {
	return api.SlurmStats{
		ID: &t.ID, WorkflowID: t.WorkflowID, JobID: t.JobID, RunID: t.RunID, AttemptID: t.AttemptID, SlurmJobID: t.SlurmJobID,
		MaxRSSBytes: t.MaxRSSBytes, MaxVMSizeBytes: t.MaxVMSizeBytes, MaxDiskReadBytes: t.MaxDiskReadBytes,
		MaxDiskWriteBytes: t.MaxDiskWriteBytes, AveCPUSeconds: t.AveCPUSeconds, NodeList: t.NodeList,
	}
}

type slurmStatsListParams struct {
	WorkflowParams
	windowParams
	JobID     *int64 `query:"job_id"`
	RunID     *int64 `query:"run_id"`
	AttemptID *int64 `query:"attempt_id"`
}

func (h slurmStats) listSlurmStats(r *rest.Request[slurmStatsListParams, rest.None]) (api.Page[api.SlurmStats], error) {
	page, err := r.Params.Page()
	if err != nil {
		return api.Page[api.SlurmStats]{}, err
	}
	items, total, err := h.Store.SlurmStats.List(r.Context(), store.SlurmStatsFilter{
		WorkflowID: r.Params.WorkflowID, JobID: r.Params.JobID, RunID: r.Params.RunID, AttemptID: r.Params.AttemptID,
	}, page)
	list := api.NewPage(Each(items, FromSlurmStats), page.Offset, total)
	list.MaxLimit = page.Limit // torc returns the effective limit here
	return list, err
}

func (h slurmStats) accountSteps(r *rest.Request[IDParams, api.StepAccounts]) (api.Message, error) {
	err := h.Store.SlurmStats.AccountSteps(r.Context(), r.Params.ID, Each(r.Body.Steps, ToSlurmStats))
	return api.Message{Message: "stored"}, err
}
