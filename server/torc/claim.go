package torc

import (
	"math"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/handler"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// claims handles the calls by which torc's runners claim, start and complete jobs.
type claims struct{ *handler.Deps }

func (h claims) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows/{id}/claim_next_jobs", "Claim ready jobs, whatever they need", h.claimNextJobs),
		rest.Handle("POST", "/workflows/{id}/claim_jobs_based_on_resources/{limit}", "Claim ready jobs that fit a runner", h.claimJobsByResources),
		rest.Handle("POST", "/workflows/{id}/batch_complete_jobs", "Complete jobs; each entry succeeds or fails by itself", h.batchCompleteJobs, rest.Bulk),
		rest.Handle("PUT", "/jobs/{id}/start_job/{run_id}/{compute_node_id}", "Start a claimed job", h.startJob),
		rest.Handle("POST", "/jobs/{id}/complete_job/{status}/{run_id}", "Complete a job", h.completeJob),
	}
}

type claimNextParams struct {
	handler.IDParams
	Limit  *int64  `query:"limit" doc:"how many jobs at most; 10 is the default"`
	Labels *string `query:"labels" doc:"the runner's labels, joined by commas"`
}

const defaultClaimLimit = 10

func (h claims) claimNextJobs(r *rest.Request[claimNextParams, rest.None]) (api.ClaimedJobs, error) {
	labels, err := workflow.ParseLabels(handler.Or(r.Params.Labels, ""))
	if err != nil {
		return api.ClaimedJobs{}, err
	}
	jobs, err := h.Store.Jobs.ClaimNext(r.Context(), r.Params.ID, handler.Or(r.Params.Limit, defaultClaimLimit), labels)
	return h.claimed(jobs, "", err)
}

// claimed returns the answer to a claim.
func (h claims) claimed(jobs []workflow.Job, reason string, err error) (api.ClaimedJobs, error) {
	if err != nil {
		return api.ClaimedJobs{}, err
	}
	h.Metrics.Claimed("call", len(jobs))
	answer := api.ClaimedJobs{Jobs: handler.Each(jobs, api.FromJob)}
	if reason != "" {
		answer.Reason = &reason
	}
	return answer, nil
}

type claimFittingParams struct {
	handler.IDParams
	Limit                int64 `path:"limit"`
	StrictSchedulerMatch *bool `query:"strict_scheduler_match" doc:"only jobs of the runner's own scheduler, or of none"`
}

func (h claims) claimJobsByResources(r *rest.Request[claimFittingParams, api.NodeResources]) (api.ClaimedJobs, error) {
	b := &r.Body
	free := store.Resources{
		CPUs: b.NumCPUs, MemoryBytes: memoryBytes(b.MemoryGB), GPUs: b.NumGPUs, Nodes: b.NumNodes,
		SchedulerConfigID: b.SchedulerConfigID, Labels: b.Labels,
	}
	if b.TimeLimit != nil {
		seconds, err := workflow.ParseRuntime(*b.TimeLimit)
		if err != nil {
			return api.ClaimedJobs{}, rest.InvalidField("time_limit", *b.TimeLimit, "%v", err)
		}
		free.TimeLimitSeconds = &seconds
	}
	jobs, reason, err := h.Store.Jobs.ClaimByResources(r.Context(), r.Params.ID, r.Params.Limit, free, handler.Or(r.Params.StrictSchedulerMatch, false))
	return h.claimed(jobs, reason, err)
}

// memoryBytes converts GiB to bytes, limited to what an int64 holds.
func memoryBytes(gib float64) int64 {
	return int64(min(max(gib, 0)*(1<<30), math.MaxInt64/2))
}

// reported stands for a cause if a torc client reports the end of a job.
const reported = "reported"

func toCompletion(c api.Completion) store.Completion {
	return store.Completion{JobID: c.JobID, Status: c.Status, RunID: c.RunID, Result: handler.ToResult(c.Result)}
}

func (h claims) batchCompleteJobs(r *rest.Request[handler.IDParams, api.BatchCompleteRequest]) (api.BatchCompleteResponse, error) {
	completed, refused, err := h.Store.Jobs.CompleteBatch(r.Context(), r.Params.ID, handler.Each(r.Body.Completions, toCompletion))
	for range completed {
		h.Metrics.AttemptEnded(reported)
	}
	return api.BatchCompleteResponse{
		Completed: handler.NotNil(completed),
		Errors: handler.Each(refused, func(e store.CompletionError) api.CompletionError {
			return api.CompletionError{JobID: e.JobID, Message: rest.Soften(e.Message)}
		}),
	}, err
}

type completeParams struct {
	handler.IDParams
	Status workflow.JobStatus `path:"status"`
	RunID  int64              `path:"run_id"`
}

func (h claims) completeJob(r *rest.Request[completeParams, api.Result]) (api.Job, error) {
	j, err := h.Store.Jobs.Complete(r.Context(), store.Completion{
		JobID: r.Params.ID, Status: r.Params.Status, RunID: r.Params.RunID, Result: handler.ToResult(r.Body),
	})
	if err == nil {
		h.Metrics.AttemptEnded(reported)
	}
	return api.FromJob(j), err
}

type startParams struct {
	handler.IDParams
	RunID         int64 `path:"run_id"`
	ComputeNodeID int64 `path:"compute_node_id"`
}

// startJob answers with the job as it was claimed, now running, as in torc.
func (h claims) startJob(r *rest.Request[startParams, rest.None]) (api.Job, error) {
	j, err := h.Store.Jobs.Start(r.Context(), r.Params.ID, r.Params.RunID, r.Params.ComputeNodeID)
	wire := api.FromJob(j)
	wire.StartTime, wire.ComputeNodeID = nil, nil
	return wire, err
}
