package server

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) workflowRoutes() []route {
	return []route{
		handle("POST", "/workflows", "Create a workflow", s.createWorkflow),
		handle("GET", "/workflows", "List workflows", s.listWorkflows),
		handle("GET", "/workflows/{id}", "Get a workflow", s.getWorkflow),
		handle("PUT", "/workflows/{id}", "Change a workflow; an absent field is kept, a key of policy that is null is removed", s.updateWorkflow),
		handle("DELETE", "/workflows/{id}", "Delete a workflow with everything in it", s.deleteWorkflow, conflict409),
		handle("POST", "/workflows/{id}/archive", "Archive a workflow, or take it out of the archive", s.archiveWorkflow),
	}
}

func fromWorkflow(w workflow.Workflow) api.Workflow {
	return api.Workflow{
		ID: &w.ID, Name: w.Name, User: w.User, Description: w.Description, Env: w.Env, Timestamp: &w.Timestamp,
		ComputeNodeExpirationBufferSeconds:       w.ComputeNodeExpirationBufferSeconds,
		ComputeNodeWaitForNewJobsSeconds:         &w.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      &w.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: &w.ComputeNodeWaitForHealthyDatabaseMinutes,
		ComputeNodeMinTimeForNewJobsSeconds:      &w.ComputeNodeMinTimeForNewJobsSeconds,
		ResourceMonitorConfig:                    w.ResourceMonitor,
		SlurmDefaults:                            api.Object(w.SlurmDefaults),
		UsePendingFailed:                         w.UsePendingFailed,
		EnableROCrate:                            w.EnableROCrate,
		Project:                                  w.Project,
		Metadata:                                 api.Object(w.Metadata),
		ExecutionConfig:                          w.ExecutionConfig,
		RunID:                                    &w.RunID,
		IsCanceled:                               &w.IsCanceled,
		IsArchived:                               &w.IsArchived,
		DynamicJobs:                              w.DynamicJobs,
		AccessGroups:                             w.AccessGroups,
		SubmissionDirectory:                      w.SubmissionDirectory,
		EnforceRuntime:                           trueOrAbsent(w.EnforceRuntime),
		Policy:                                   w.Policy,
	}
}

// trueOrAbsent leaves a flag of ours out where it is false, so that torc's
// clients see what they know.
func trueOrAbsent(flag bool) *bool {
	if !flag {
		return nil
	}
	return &flag
}

func toWorkflow(w *api.Workflow) workflow.Workflow {
	return workflow.Workflow{
		Name: w.Name, User: w.User, Description: w.Description, Env: w.Env,
		ComputeNodeExpirationBufferSeconds:       w.ComputeNodeExpirationBufferSeconds,
		ComputeNodeWaitForNewJobsSeconds:         or(w.ComputeNodeWaitForNewJobsSeconds, workflow.DefaultWaitForNewJobsSeconds),
		ComputeNodeIgnoreWorkflowCompletion:      or(w.ComputeNodeIgnoreWorkflowCompletion, false),
		ComputeNodeWaitForHealthyDatabaseMinutes: or(w.ComputeNodeWaitForHealthyDatabaseMinutes, workflow.DefaultWaitForHealthyDatabaseMinutes),
		ComputeNodeMinTimeForNewJobsSeconds:      or(w.ComputeNodeMinTimeForNewJobsSeconds, workflow.DefaultMinTimeForNewJobsSeconds),
		ResourceMonitor:                          w.ResourceMonitorConfig,
		SlurmDefaults:                            json.RawMessage(w.SlurmDefaults),
		UsePendingFailed:                         w.UsePendingFailed,
		EnableROCrate:                            w.EnableROCrate,
		Project:                                  w.Project,
		Metadata:                                 json.RawMessage(w.Metadata),
		ExecutionConfig:                          w.ExecutionConfig,
		DynamicJobs:                              w.DynamicJobs,
		AccessGroups:                             w.AccessGroups,
		SubmissionDirectory:                      w.SubmissionDirectory,
		EnforceRuntime:                           or(w.EnforceRuntime, false),
		Policy:                                   w.Policy,
	}
}

// checkSettings refuses words that nobody would understand later.
func checkSettings(w *api.Workflow) error {
	if c := w.ExecutionConfig; c != nil && c.Mode != "" {
		if err := oneOf("execution_config.mode", c.Mode, "direct", "slurm", "auto"); err != nil {
			return err
		}
	}
	m := w.ResourceMonitorConfig
	if m == nil {
		return nil
	}
	granularities := []string{m.Granularity}
	if m.Jobs != nil {
		granularities = append(granularities, m.Jobs.Granularity)
	}
	if m.ComputeNode != nil {
		granularities = append(granularities, m.ComputeNode.Granularity)
	}
	for _, g := range granularities {
		if err := oneOf("resource_monitor_config.granularity", g, "summary", "time_series"); err != nil {
			return err
		}
	}
	return nil
}

func oneOf(field, value string, words ...string) error {
	if !slices.Contains(words, value) {
		return invalidField(field, value, "%s must be one of %s", field, strings.Join(words, ", "))
	}
	return nil
}

// createWorkflow echoes the body, with what the server has set; defaults are
// not filled in there, as in torc.
func (s *Server) createWorkflow(r *request[none, api.Workflow]) (api.Workflow, error) {
	echo := r.Body
	if err := checkSettings(&echo); err != nil {
		return api.Workflow{}, err
	}
	if caller := callerOf(r.Context()); caller.Known {
		echo.User = caller.User
	}
	created, err := s.Store.CreateWorkflow(r.Context(), toWorkflow(&echo))
	if err != nil {
		return api.Workflow{}, err
	}
	echo.ID, echo.Timestamp, echo.AccessGroups = &created.ID, &created.Timestamp, created.AccessGroups
	return echo, nil
}

type workflowListParams struct {
	pageParams
	Name        *string `query:"name" doc:"exactly this name"`
	User        *string `query:"user" doc:"exactly this user"`
	Description *string `query:"description" doc:"a part of the description, in any case"`
	IsArchived  *bool   `query:"is_archived" doc:"absent: both"`
	AccessGroup *string `query:"access_group" doc:"the name of a group"`
}

func (s *Server) listWorkflows(r *request[workflowListParams, none]) (api.Page[api.Workflow], error) {
	page, err := r.Params.page()
	if err != nil {
		return api.Page[api.Workflow]{}, err
	}
	p := &r.Params
	workflows, total, err := s.Store.Workflows(r.Context(), store.WorkflowFilter{
		Name: p.Name, User: p.User, Description: p.Description, IsArchived: p.IsArchived, AccessGroup: p.AccessGroup,
	}, page)
	return pageOf(page, workflows, total, fromWorkflow), err
}

func (s *Server) getWorkflow(r *request[idParams, none]) (api.Workflow, error) {
	w, err := s.Store.Workflow(r.Context(), r.Params.ID)
	return fromWorkflow(w), err
}

func (s *Server) updateWorkflow(r *request[idParams, api.WorkflowUpdate]) (api.Workflow, error) {
	b := &r.Body
	if err := checkSettings(&b.Workflow); err != nil {
		return api.Workflow{}, err
	}
	w, err := s.Store.UpdateWorkflow(r.Context(), r.Params.ID, workflow.WorkflowUpdate{
		Name: &b.Name, User: &b.User, Description: b.Description, Project: b.Project, Metadata: json.RawMessage(b.Metadata),
		ComputeNodeExpirationBufferSeconds:       b.ComputeNodeExpirationBufferSeconds,
		ComputeNodeWaitForNewJobsSeconds:         b.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      b.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: b.ComputeNodeWaitForHealthyDatabaseMinutes,
		UsePendingFailed:                         b.UsePendingFailed,
		EnableROCrate:                            b.EnableROCrate,
		ExecutionConfig:                          b.ExecutionConfig,
		Policy:                                   b.Policy,
		UnsetPolicy:                              b.UnsetPolicy,
		Env:                                      b.Env,
		SubmissionDirectory:                      b.SubmissionDirectory,
		DynamicJobs:                              b.DynamicJobs,
		AccessGroups:                             b.AccessGroups,
	})
	return fromWorkflow(w), err
}

// deleteParams are those of a deletion. Torc's clients do not know if_idle, and delete
// whatever is at work.
type deleteParams struct {
	ID     int64 `path:"id"`
	IfIdle *bool `query:"if_idle" doc:"409 while runners hold jobs of it, or allocations of it have not ended"`
}

func (s *Server) deleteWorkflow(r *request[deleteParams, none]) (api.Workflow, error) {
	w, err := s.Store.DeleteWorkflow(r.Context(), r.Params.ID, r.Params.IfIdle != nil && *r.Params.IfIdle)
	return fromWorkflow(w), err
}

func (s *Server) archiveWorkflow(r *request[idParams, api.ArchiveRequest]) (api.Workflow, error) {
	w, err := s.Store.ArchiveWorkflow(r.Context(), r.Params.ID, r.Body.IsArchived, r.user())
	return fromWorkflow(w), err
}
