package handler

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// workflows handles requests about workflows.
type workflows struct{ *Deps }

func (h workflows) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("POST", "/workflows", "Create a workflow", h.createWorkflow),
		rest.Handle("GET", "/workflows", "List workflows", List(h.listWorkflows, fromWorkflow)),
		rest.Handle("GET", "/workflows/{id}", "Get a workflow", ByID(h.Store.Workflows.Get, fromWorkflow)),
		rest.Handle("PUT", "/workflows/{id}", "Change a workflow; an absent field is kept, a key of policy that is null is removed", h.updateWorkflow),
		rest.Handle("DELETE", "/workflows/{id}", "Delete a workflow with everything in it", h.deleteWorkflow, rest.Conflict409),
		rest.Handle("POST", "/workflows/{id}/archive", "Archive a workflow, or restore it from the archive", h.archiveWorkflow),
	}
}

func fromWorkflow(w workflow.Workflow) api.Workflow {
	return api.Workflow{
		ID: &w.ID, Name: w.Name, User: w.User, Description: w.Description, Env: w.Env, Timestamp: &w.Timestamp,
		ComputeNodeWaitForNewJobsSeconds:         &w.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      &w.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: &w.ComputeNodeWaitForHealthyDatabaseMinutes,
		ComputeNodeMinTimeForNewJobsSeconds:      &w.ComputeNodeMinTimeForNewJobsSeconds,
		ResourceMonitorConfig:                    w.ResourceMonitor,
		SlurmDefaults:                            api.Object(w.SlurmDefaults),
		UsePendingFailed:                         w.UsePendingFailed,
		Project:                                  w.Project,
		Metadata:                                 api.Object(w.Metadata),
		ExecutionConfig:                          w.ExecutionConfig,
		RunID:                                    &w.RunID,
		IsCanceled:                               &w.IsCanceled,
		IsArchived:                               &w.IsArchived,
		DynamicJobs:                              w.DynamicJobs,
		TorcWorkflow:                             w.TorcWorkflow,
		SubmissionDirectory:                      w.SubmissionDirectory,
		SpecPath:                                 w.SpecPath,
		EnforceRuntime:                           trueOrAbsent(w.EnforceRuntime),
		Policy:                                   w.Policy,
		ClaimsHeld:                               w.ClaimsHeld,
	}
}

// trueOrAbsent returns nil for false: a flag that torc lacks is then absent from what
// its clients read.
func trueOrAbsent(flag bool) *bool {
	if !flag {
		return nil
	}
	return &flag
}

func toWorkflow(w *api.Workflow) workflow.Workflow {
	return workflow.Workflow{
		Name: w.Name, User: w.User, Description: w.Description, Env: w.Env,
		ComputeNodeWaitForNewJobsSeconds:         Or(w.ComputeNodeWaitForNewJobsSeconds, workflow.DefaultWaitForNewJobsSeconds),
		ComputeNodeIgnoreWorkflowCompletion:      Or(w.ComputeNodeIgnoreWorkflowCompletion, false),
		ComputeNodeWaitForHealthyDatabaseMinutes: Or(w.ComputeNodeWaitForHealthyDatabaseMinutes, workflow.DefaultWaitForHealthyDatabaseMinutes),
		ComputeNodeMinTimeForNewJobsSeconds:      Or(w.ComputeNodeMinTimeForNewJobsSeconds, workflow.DefaultMinTimeForNewJobsSeconds),
		ResourceMonitor:                          w.ResourceMonitorConfig,
		SlurmDefaults:                            json.RawMessage(w.SlurmDefaults),
		UsePendingFailed:                         w.UsePendingFailed,
		Project:                                  w.Project,
		Metadata:                                 json.RawMessage(w.Metadata),
		ExecutionConfig:                          w.ExecutionConfig,
		DynamicJobs:                              w.DynamicJobs,
		TorcWorkflow:                             w.TorcWorkflow,
		SubmissionDirectory:                      w.SubmissionDirectory,
		EnforceRuntime:                           Or(w.EnforceRuntime, false),
		Policy:                                   w.Policy,
	}
}

// checkSettings returns an error that names the first field with an unknown value.
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
		return rest.InvalidField(field, value, "%s must be one of %s", field, strings.Join(words, ", "))
	}
	return nil
}

// createWorkflow echoes the body, with the fields that the server has set. Other
// defaults are not filled in there, as in torc.
func (h workflows) createWorkflow(r *rest.Request[rest.None, api.Workflow]) (api.Workflow, error) {
	echo := r.Body
	if err := checkSettings(&echo); err != nil {
		return api.Workflow{}, err
	}
	if caller := access.CallerOf(r.Context()); caller.Known {
		echo.User = caller.User
	}
	created, err := h.Store.Workflows.Create(r.Context(), toWorkflow(&echo))
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
	SpecPath    *string `query:"spec_path" doc:"created from this file, an absolute path"`
}

func (h workflows) listWorkflows(r *rest.Request[workflowListParams, rest.None], page store.Page) ([]workflow.Workflow, int64, error) {
	p := &r.Params
	return h.Store.Workflows.List(r.Context(), store.WorkflowFilter{
		Name: p.Name, User: p.User, Description: p.Description, IsArchived: p.IsArchived, AccessGroup: p.AccessGroup, SpecPath: p.SpecPath,
	}, page)
}

func (h workflows) updateWorkflow(r *rest.Request[IDParams, api.WorkflowUpdate]) (api.Workflow, error) {
	b := &r.Body
	if err := checkSettings(&b.Workflow); err != nil {
		return api.Workflow{}, err
	}
	w, err := h.Store.Workflows.Update(r.Context(), r.Params.ID, workflow.WorkflowUpdate{
		Name: &b.Name, User: &b.User, Description: b.Description, Project: b.Project, Metadata: json.RawMessage(b.Metadata),
		ComputeNodeWaitForNewJobsSeconds:         b.ComputeNodeWaitForNewJobsSeconds,
		ComputeNodeIgnoreWorkflowCompletion:      b.ComputeNodeIgnoreWorkflowCompletion,
		ComputeNodeWaitForHealthyDatabaseMinutes: b.ComputeNodeWaitForHealthyDatabaseMinutes,
		UsePendingFailed:                         b.UsePendingFailed,
		ExecutionConfig:                          b.ExecutionConfig,
		Policy:                                   b.Policy,
		UnsetPolicy:                              b.UnsetPolicy,
		Env:                                      b.Env,
		SubmissionDirectory:                      b.SubmissionDirectory,
		DynamicJobs:                              b.DynamicJobs,
		TorcWorkflow:                             b.TorcWorkflow,
	})
	return fromWorkflow(w), err
}

// deleteParams are the parameters of a deletion. Torc's clients do not know if_idle, and
// also delete workflows with running jobs.
type deleteParams struct {
	ID     int64 `path:"id"`
	IfIdle *bool `query:"if_idle" doc:"409 while runners hold jobs of the workflow or it has live allocations"`
}

func (h workflows) deleteWorkflow(r *rest.Request[deleteParams, rest.None]) (api.Workflow, error) {
	w, err := h.Store.Workflows.Delete(r.Context(), r.Params.ID, r.Params.IfIdle != nil && *r.Params.IfIdle)
	return fromWorkflow(w), err
}

func (h workflows) archiveWorkflow(r *rest.Request[IDParams, api.ArchiveRequest]) (api.Workflow, error) {
	w, err := h.Store.Workflows.Archive(r.Context(), r.Params.ID, r.Body.IsArchived, r.User())
	return fromWorkflow(w), err
}
