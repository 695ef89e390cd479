package handler

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// jobs handles requests about jobs.
type jobs struct{ *Deps }

func (h jobs) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/jobs", "Create a job", h.createJob),
		rest.Handle("POST", "/bulk_jobs", "Create jobs, all or none", h.createJobs, rest.Bulk),
		rest.Handle("GET", "/jobs", "List the jobs of a workflow", List(h.listJobs, api.FromJob)),
		rest.Handle("GET", "/jobs/{id}", "Get a job with its relations", ByID(h.Store.Jobs.Get, api.FromJob)),
		rest.Handle("PUT", "/jobs/{id}", "Change a job; an absent field is kept", h.updateJob),
		rest.Handle("DELETE", "/jobs/{id}", "Delete a job that no runner holds", h.deleteJob),
		rest.Handle("DELETE", "/jobs", "Delete the jobs of a workflow", h.deleteJobs),
	}
}

func toJob(j api.Job) workflow.Job {
	runIf := workflow.RunIfOf(Or(j.CancelOnBlockingJobFailure, true))
	if j.RunIf != nil {
		runIf = *j.RunIf
	}
	return workflow.Job{
		WorkflowID: j.WorkflowID, Name: j.Name, Command: j.Command, JobSettings: j.JobSettings, TorcJob: j.TorcJob, Env: j.Env,
		RunIf:     runIf,
		DependsOn: j.DependsOnJobIDs, InputFiles: j.InputFileIDs, OutputFiles: j.OutputFileIDs,
		InputUserData: j.InputUserDataIDs, OutputUserData: j.OutputUserDataIDs,
		ResourceRequirementsID: j.ResourceRequirementsID, SchedulerID: j.SchedulerID, FailureHandlerID: j.FailureHandlerID,
		Priority: Or(j.Priority, workflow.DefaultPriority), Labels: j.Labels, JobOptions: workflow.JobOptions{Policy: j.Policy},
	}
}

// echoJob returns the answer to a creation: the body, with the fields that the
// server has set. Other defaults are not filled in there, as in torc.
func echoJob(sent api.Job, j workflow.Job) api.Job {
	sent.ID, sent.Status, sent.Env, sent.Labels = &j.ID, &j.Status, j.Env, j.Labels
	sent.ResourceRequirementsID = j.ResourceRequirementsID
	sent.ScheduleComputeNodes, sent.StartTime, sent.ComputeNodeID = nil, nil, nil
	return sent
}

func (h jobs) createJob(r *rest.Request[rest.None, api.Job]) (api.Job, error) {
	created, err := h.Store.Jobs.Create(r.Context(), []workflow.Job{toJob(r.Body)})
	if err != nil {
		return api.Job{}, err
	}
	return echoJob(r.Body, created[0]), nil
}

func (h jobs) createJobs(r *rest.Request[rest.None, api.Jobs]) (api.Jobs, error) {
	sent := r.Body.Jobs
	if err := checkBulk("jobs", sent, func(j api.Job) (int64, string) { return j.WorkflowID, j.Name }); err != nil {
		return api.Jobs{}, err
	}
	created, err := h.Store.Jobs.Create(r.Context(), Each(sent, toJob))
	if err != nil {
		return api.Jobs{}, err
	}
	for i := range sent {
		sent[i] = echoJob(sent[i], created[i])
	}
	return api.Jobs{Jobs: sent}, nil
}

type jobListParams struct {
	WorkflowPageParams
	Status               *workflow.JobStatus `query:"status"`
	NeedsFileID          *int64              `query:"needs_file_id" doc:"jobs that read this file"`
	UpstreamJobID        *int64              `query:"upstream_job_id" doc:"jobs that depend on this one"`
	ActiveComputeNodeID  *int64              `query:"active_compute_node_id" doc:"jobs that run on this node"`
	OriginIsSet          *bool               `query:"origin_is_set" doc:"jobs that were retried or spawned, or those that were not"`
	Name                 *string             `query:"name" doc:"exactly this name"`
	Command              *string             `query:"command" doc:"a part of the command, in any case"`
	Labels               *string             `query:"labels" doc:"jobs that a runner with exactly these labels, joined by commas, could claim"`
	IncludeRelationships *bool               `query:"include_relationships" doc:"with the lists of ids"`
}

func (h jobs) listJobs(r *rest.Request[jobListParams, rest.None], page store.Page) ([]workflow.Job, int64, error) {
	p := &r.Params
	filter := store.JobFilter{
		WorkflowID: p.WorkflowID, Status: p.Status, NeedsFile: p.NeedsFileID, UpstreamJob: p.UpstreamJobID,
		ActiveComputeNodeID: p.ActiveComputeNodeID, OriginIsSet: p.OriginIsSet, Name: p.Name, Command: p.Command,
		WithRelations: Or(p.IncludeRelationships, false),
	}
	if p.Labels != nil {
		labels, err := workflow.ParseLabels(*p.Labels)
		if err != nil {
			return nil, 0, err
		}
		filter.Labels = &labels
	}
	return h.Store.Jobs.List(r.Context(), filter, page)
}

func (h jobs) updateJob(r *rest.Request[IDParams, api.Job]) (api.Job, error) {
	b := &r.Body
	stored, err := h.Store.Jobs.Get(r.Context(), r.Params.ID)
	if err != nil {
		return api.Job{}, err
	}
	if stored.WorkflowID != b.WorkflowID { // no use case moves a job
		return api.Job{}, workflow.Errorf(workflow.CodeInvalid, "job %d belongs to workflow %d and cannot be moved to workflow %d",
			r.Params.ID, stored.WorkflowID, b.WorkflowID)
	}
	j, err := h.Store.Jobs.Update(r.Context(), r.Params.ID, workflow.JobUpdate{
		Name: &b.Name, Command: &b.Command, JobSettings: b.JobSettings, TorcJob: b.TorcJob, Env: b.Env, Status: b.Status,
		CancelOnBlockingJobFailure: b.CancelOnBlockingJobFailure, RunIf: b.RunIf,
		DependsOn: b.DependsOnJobIDs, InputFiles: b.InputFileIDs, OutputFiles: b.OutputFileIDs,
		InputUserData: b.InputUserDataIDs, OutputUserData: b.OutputUserDataIDs,
		ResourceRequirementsID: b.ResourceRequirementsID, SchedulerID: b.SchedulerID, Priority: b.Priority, Labels: b.Labels, Author: r.User(),
	})
	return api.FromJob(j), err
}

func (h jobs) deleteJob(r *rest.Request[IDParams, rest.None]) (api.Job, error) {
	j, err := h.Store.Jobs.Delete(r.Context(), r.Params.ID, r.User())
	return api.FromJob(j), err
}

func (h jobs) deleteJobs(r *rest.Request[WorkflowParams, rest.None]) (api.DeleteCount, error) {
	n, err := h.Store.Jobs.DeleteAll(r.Context(), r.Params.WorkflowID, r.User())
	return api.DeleteCount{Count: n}, err
}
