package server

import (
	"math"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The calls by which torc's runners claim, start and complete jobs.
func (s *Server) jobRunRoutes() []route {
	return []route{
		handle("POST", "/workflows/{id}/claim_next_jobs", "Claim ready jobs, whatever they need", s.claimNextJobs),
		handle("POST", "/workflows/{id}/claim_jobs_based_on_resources/{limit}", "Claim ready jobs that fit a runner", s.claimJobsByResources),
		handle("POST", "/workflows/{id}/batch_complete_jobs", "Complete jobs; each entry succeeds or is refused by itself", s.batchCompleteJobs, bulk),
		handle("PUT", "/jobs/{id}/manage_status_change/{status}/{run_id}", "Change a job's status by hand", s.manageStatusChange),
		handle("PUT", "/jobs/{id}/start_job/{run_id}/{compute_node_id}", "Start a claimed job", s.startJob),
		handle("POST", "/jobs/{id}/complete_job/{status}/{run_id}", "Complete a job", s.completeJob),
		handle("POST", "/jobs/{id}/retry/{run_id}", "Make a job ready for another attempt", s.retryJob),
	}
}

type claimNextParams struct {
	idParams
	Limit  *int64  `query:"limit" doc:"how many jobs at most; 10 is the default"`
	Labels *string `query:"labels" doc:"the runner's labels, joined by commas"`
}

const defaultClaimLimit = 10

func (s *Server) claimNextJobs(r *request[claimNextParams, none]) (api.ClaimedJobs, error) {
	labels, err := workflow.ParseLabels(or(r.Params.Labels, ""))
	if err != nil {
		return api.ClaimedJobs{}, err
	}
	jobs, err := s.Store.ClaimNextJobs(r.Context(), r.Params.ID, or(r.Params.Limit, defaultClaimLimit), labels)
	return s.claimed(jobs, "", err)
}

// claimed is the answer to a claim.
func (s *Server) claimed(jobs []workflow.Job, reason string, err error) (api.ClaimedJobs, error) {
	if err != nil {
		return api.ClaimedJobs{}, err
	}
	s.Metrics.Claimed("call", len(jobs))
	answer := api.ClaimedJobs{Jobs: each(jobs, fromJob)}
	if reason != "" {
		answer.Reason = &reason
	}
	return answer, nil
}

type claimFittingParams struct {
	idParams
	Limit                int64 `path:"limit"`
	StrictSchedulerMatch *bool `query:"strict_scheduler_match" doc:"only jobs of the runner's own scheduler, or of none"`
}

func (s *Server) claimJobsByResources(r *request[claimFittingParams, api.NodeResources]) (api.ClaimedJobs, error) {
	b := &r.Body
	free := store.Resources{
		CPUs: b.NumCPUs, MemoryBytes: memoryBytes(b.MemoryGB), GPUs: b.NumGPUs, Nodes: b.NumNodes,
		SchedulerConfigID: b.SchedulerConfigID, Labels: b.Labels,
	}
	if b.TimeLimit != nil {
		seconds, err := workflow.ParseRuntime(*b.TimeLimit)
		if err != nil {
			return api.ClaimedJobs{}, invalidField("time_limit", *b.TimeLimit, "%v", err)
		}
		free.TimeLimitSeconds = &seconds
	}
	jobs, reason, err := s.Store.ClaimJobsByResources(r.Context(), r.Params.ID, r.Params.Limit, free, or(r.Params.StrictSchedulerMatch, false))
	return s.claimed(jobs, reason, err)
}

// memoryBytes turns GiB into bytes, within what an int64 holds.
func memoryBytes(gib float64) int64 {
	return int64(min(max(gib, 0)*(1<<30), math.MaxInt64/2))
}

// reported stands for a cause where a torc client says how a job has ended.
const reported = "reported"

func toCompletion(c api.Completion) store.Completion {
	return store.Completion{JobID: c.JobID, Status: c.Status, RunID: c.RunID, Result: toResult(c.Result)}
}

func (s *Server) batchCompleteJobs(r *request[idParams, api.BatchCompleteRequest]) (api.BatchCompleteResponse, error) {
	completed, refused, err := s.Store.BatchCompleteJobs(r.Context(), r.Params.ID, each(r.Body.Completions, toCompletion))
	for range completed {
		s.Metrics.AttemptEnded(reported)
	}
	return api.BatchCompleteResponse{
		Completed: notNil(completed),
		Errors: each(refused, func(e store.CompletionError) api.CompletionError {
			return api.CompletionError{JobID: e.JobID, Message: soften(e.Message)}
		}),
	}, err
}

type completeParams struct {
	idParams
	Status workflow.JobStatus `path:"status"`
	RunID  int64              `path:"run_id"`
}

func (s *Server) completeJob(r *request[completeParams, api.Result]) (api.Job, error) {
	j, err := s.Store.CompleteJob(r.Context(), store.Completion{
		JobID: r.Params.ID, Status: r.Params.Status, RunID: r.Params.RunID, Result: toResult(r.Body),
	})
	if err == nil {
		s.Metrics.AttemptEnded(reported)
	}
	return fromJob(j), err
}

func (s *Server) manageStatusChange(r *request[completeParams, none]) (api.Job, error) {
	j, err := s.Store.ManageStatusChange(r.Context(), r.Params.ID, r.Params.Status, r.Params.RunID)
	return fromJob(j), err
}

type startParams struct {
	idParams
	RunID         int64 `path:"run_id"`
	ComputeNodeID int64 `path:"compute_node_id"`
}

// startJob answers with the job as it was claimed, now running, as in torc.
func (s *Server) startJob(r *request[startParams, none]) (api.Job, error) {
	j, err := s.Store.StartJob(r.Context(), r.Params.ID, r.Params.RunID, r.Params.ComputeNodeID)
	wire := fromJob(j)
	wire.StartTime, wire.ComputeNodeID = nil, nil
	return wire, err
}

type retryParams struct {
	idParams
	RunID      int64 `path:"run_id"`
	MaxRetries int32 `query:"max_retries" doc:"refused if the job has had so many attempts"`
	NewTotal   *bool `query:"new_total" doc:"a person decides: timeouts.total begins anew; without it the retry is refused when that is over"`
}

func (s *Server) retryJob(r *request[retryParams, none]) (api.Job, error) {
	retry := s.Store.RetryJob
	if or(r.Params.NewTotal, false) {
		retry = s.Store.RetryJobAnew
	}
	j, err := retry(r.Context(), r.Params.ID, r.Params.RunID, int64(r.Params.MaxRetries))
	return fromJob(j), err
}
