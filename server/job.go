package server

import (
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) jobRoutes() []route {
	return []route{
		handle("POST", "/jobs", "Create a job", s.createJob),
		handle("POST", "/bulk_jobs", "Create jobs, all or none", s.createJobs, bulk),
		handle("GET", "/jobs", "List the jobs of a workflow", s.listJobs),
		handle("GET", "/jobs/{id}", "Get a job with its relations", s.getJob),
		handle("PUT", "/jobs/{id}", "Change a job; an absent field is kept", s.updateJob),
		handle("DELETE", "/jobs/{id}", "Delete a job that no runner holds", s.deleteJob),
		handle("DELETE", "/jobs", "Delete the jobs of a workflow", s.deleteJobs),
	}
}

func fromJob(j workflow.Job) api.Job {
	wire := api.Job{
		ID: &j.ID, WorkflowID: j.WorkflowID, Name: j.Name, Command: j.Command, InvocationScript: j.InvocationScript, Env: j.Env,
		Status: &j.Status, StartTime: j.StartTime, ComputeNodeID: j.ComputeNodeID,
		CancelOnBlockingJobFailure: new(j.RunIf.CancelOnFailure()), SupportsTermination: &j.SupportsTermination,
		DependsOnJobIDs: j.DependsOn, InputFileIDs: j.InputFiles, OutputFileIDs: j.OutputFiles,
		InputUserDataIDs: j.InputUserData, OutputUserDataIDs: j.OutputUserData,
		ResourceRequirementsID: j.ResourceRequirementsID, SchedulerID: j.SchedulerID, FailureHandlerID: j.FailureHandlerID,
		AttemptID: &j.AttemptID, Priority: &j.Priority, Origin: j.Origin, Labels: j.Labels,
		NotBefore: j.NotBeforeMS, Retries: j.Retries, AvoidNodes: j.AvoidNodes, SkippedBy: j.SkippedBy, NotNeeded: j.NotNeeded, Stdio: j.Stdio, RunTimeout: j.RunTimeout, Policy: j.Policy,
		Login: j.Login, StageID: j.StageID, ChildStageID: j.ChildID, UndoesJobID: j.UndoesID,
	}
	if j.RunIf == workflow.RunIfFailure {
		wire.RunIf = &j.RunIf
	}
	if j.Phase != workflow.PhaseNone {
		wire.Phase = new(string(j.Phase))
	}
	return wire
}

func toJob(j api.Job) workflow.Job {
	runIf := workflow.RunIfOf(or(j.CancelOnBlockingJobFailure, true))
	if j.RunIf != nil {
		runIf = *j.RunIf
	}
	return workflow.Job{
		WorkflowID: j.WorkflowID, Name: j.Name, Command: j.Command, InvocationScript: j.InvocationScript, Env: j.Env,
		RunIf: runIf, SupportsTermination: or(j.SupportsTermination, false),
		DependsOn: j.DependsOnJobIDs, InputFiles: j.InputFileIDs, OutputFiles: j.OutputFileIDs,
		InputUserData: j.InputUserDataIDs, OutputUserData: j.OutputUserDataIDs,
		ResourceRequirementsID: j.ResourceRequirementsID, SchedulerID: j.SchedulerID, FailureHandlerID: j.FailureHandlerID,
		Priority: or(j.Priority, workflow.DefaultPriority), Labels: j.Labels, Policy: j.Policy,
	}
}

// echoJob is the answer to a creation: the body, with what the server has set.
// Other defaults are not filled in there, as in torc.
func echoJob(sent api.Job, j workflow.Job) api.Job {
	sent.ID, sent.Status, sent.Env, sent.Labels = &j.ID, &j.Status, j.Env, j.Labels
	sent.ResourceRequirementsID = j.ResourceRequirementsID
	sent.ScheduleComputeNodes, sent.StartTime, sent.ComputeNodeID = nil, nil, nil
	return sent
}

func (s *Server) createJob(r *request[none, api.Job]) (api.Job, error) {
	created, err := s.Store.CreateJobs(r.Context(), []workflow.Job{toJob(r.Body)})
	if err != nil {
		return api.Job{}, err
	}
	return echoJob(r.Body, created[0]), nil
}

func (s *Server) createJobs(r *request[none, api.Jobs]) (api.Jobs, error) {
	sent := r.Body.Jobs
	if err := checkBulk("jobs", sent, func(j api.Job) (int64, string) { return j.WorkflowID, j.Name }); err != nil {
		return api.Jobs{}, err
	}
	created, err := s.Store.CreateJobs(r.Context(), each(sent, toJob))
	if err != nil {
		return api.Jobs{}, err
	}
	for i := range sent {
		sent[i] = echoJob(sent[i], created[i])
	}
	return api.Jobs{Jobs: sent}, nil
}

type jobListParams struct {
	workflowPageParams
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

func (s *Server) listJobs(r *request[jobListParams, none]) (api.Page[api.Job], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.Job]{}, err
	}
	p := &r.Params
	filter := store.JobFilter{
		WorkflowID: p.WorkflowID, Status: p.Status, NeedsFile: p.NeedsFileID, UpstreamJob: p.UpstreamJobID,
		ActiveComputeNodeID: p.ActiveComputeNodeID, OriginIsSet: p.OriginIsSet, Name: p.Name, Command: p.Command,
		WithRelations: or(p.IncludeRelationships, false),
	}
	if p.Labels != nil {
		labels, err := workflow.ParseLabels(*p.Labels)
		if err != nil {
			return api.Page[api.Job]{}, err
		}
		filter.Labels = &labels
	}
	jobs, total, err := s.Store.Jobs(r.Context(), filter, page)
	return pageOf(page, jobs, total, fromJob), err
}

func (s *Server) getJob(r *request[idParams, none]) (api.Job, error) {
	j, err := s.Store.Job(r.Context(), r.Params.ID)
	return fromJob(j), err
}

func (s *Server) updateJob(r *request[idParams, api.Job]) (api.Job, error) {
	b := &r.Body
	stored, err := s.Store.Job(r.Context(), r.Params.ID)
	if err != nil {
		return api.Job{}, err
	}
	if stored.WorkflowID != b.WorkflowID { // which no use case changes
		return api.Job{}, workflow.Errorf(workflow.CodeInvalid, "job %d belongs to workflow %d and cannot be moved to workflow %d",
			r.Params.ID, stored.WorkflowID, b.WorkflowID)
	}
	j, err := s.Store.UpdateJob(r.Context(), r.Params.ID, workflow.JobUpdate{
		Name: &b.Name, Command: &b.Command, InvocationScript: b.InvocationScript, Env: b.Env, Status: b.Status,
		CancelOnBlockingJobFailure: b.CancelOnBlockingJobFailure, RunIf: b.RunIf, SupportsTermination: b.SupportsTermination,
		DependsOn: b.DependsOnJobIDs, InputFiles: b.InputFileIDs, OutputFiles: b.OutputFileIDs,
		InputUserData: b.InputUserDataIDs, OutputUserData: b.OutputUserDataIDs,
		ResourceRequirementsID: b.ResourceRequirementsID, SchedulerID: b.SchedulerID, Priority: b.Priority, Labels: b.Labels, Author: r.user(),
	})
	return fromJob(j), err
}

func (s *Server) deleteJob(r *request[idParams, none]) (api.Job, error) {
	j, err := s.Store.DeleteJob(r.Context(), r.Params.ID, r.user())
	return fromJob(j), err
}

func (s *Server) deleteJobs(r *request[workflowParams, none]) (api.DeleteCount, error) {
	n, err := s.Store.DeleteJobs(r.Context(), r.Params.WorkflowID, r.user())
	return api.DeleteCount{Count: n}, err
}
