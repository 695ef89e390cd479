package mcp

import (
	"context"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

func (s *Server) addWorkflowTools() {
	add(s, tool{name: "list_workflows", title: "List workflows",
		description: "List workflows, the newest first, with their ids. Use it to find the id of a workflow that somebody names."}, listWorkflows)
	add(s, tool{name: "get_workflow_status", title: "Status of a workflow",
		description: "Count the jobs of a workflow by status, and say in words what it is doing and what happens next. Start here."}, getWorkflowStatus)
	add(s, tool{name: "get_workflow_summary", title: "Summary of a workflow",
		description: "Report on a workflow: counts, times, verdict, attempts, allocations, why jobs were canceled, and what holds jobs back."}, getWorkflowSummary)
	add(s, tool{name: "get_execution_plan", title: "Execution plan",
		description: "Show in which order the jobs of a workflow, or of a specification that is not created yet, become ready: the events, what triggers each, and which jobs and allocations follow. Nothing is created."}, getExecutionPlan)
}

// workflowIn names a workflow.
type workflowIn struct {
	WorkflowID int64 `json:"workflow_id" jsonschema:"id of the workflow"`
}

type listWorkflowsIn struct {
	pageIn
	Name string `json:"name,omitempty" jsonschema:"only workflows with exactly this name"`
	User string `json:"user,omitempty" jsonschema:"only workflows of this user"`
}

type workflowRow struct {
	WorkflowID  int64  `json:"workflow_id"`
	Name        string `json:"name"`
	User        string `json:"user"`
	Description string `json:"description,omitempty"`
	CreatedAt   string `json:"created_at,omitempty"`
	RunID       int64  `json:"run_id"`
	IsCanceled  bool   `json:"is_canceled,omitempty"`
	IsArchived  bool   `json:"is_archived,omitempty"`
}

type workflowsOut struct {
	Workflows []workflowRow `json:"workflows"`
	pageOut
}

func listWorkflows(ctx context.Context, c *call, in listWorkflowsIn) (out workflowsOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	page.SortBy, page.Reverse = "id", true
	out.Workflows, out.pageOut, err = collect(page, c.Workflows.List(ctx, client.WorkflowFilter{Page: page, Name: in.Name, User: in.User}), func(w api.Workflow) workflowRow {
		return workflowRow{
			WorkflowID: value(w.ID), Name: w.Name, User: w.User, Description: value(w.Description), CreatedAt: value(w.Timestamp),
			RunID: value(w.RunID), IsCanceled: value(w.IsCanceled), IsArchived: value(w.IsArchived),
		}
	})
	return out, err
}

// value returns what p points to; the zero value for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

type workflowStatusOut struct {
	WorkflowID   int64            `json:"workflow_id"`
	Name         string           `json:"name"`
	User         string           `json:"user"`
	RunID        int64            `json:"run_id"`
	TotalJobs    int64            `json:"total_jobs"`
	JobsByStatus map[string]int64 `json:"jobs_by_status" jsonschema:"number of jobs by status; a status without jobs is absent"`
	IsComplete   bool             `json:"is_complete"`
	IsCanceled   bool             `json:"is_canceled"`
	Verdict      string           `json:"verdict,omitempty" jsonschema:"how the run ended: completed, failed or canceled; absent while it runs"`
	State        string           `json:"state" jsonschema:"the state in words"`
	Next         string           `json:"next,omitempty" jsonschema:"what happens next, or what somebody has to do"`
}

func getWorkflowStatus(ctx context.Context, c *call, in workflowIn) (out workflowStatusOut, err error) {
	w, err := c.Workflows.Status(ctx, in.WorkflowID)
	if err != nil {
		return out, err
	}
	why, err := c.Workflows.Why(ctx, in.WorkflowID)
	if err != nil {
		return out, err
	}
	return workflowStatusOut{
		WorkflowID: w.WorkflowID, Name: w.WorkflowName, User: w.WorkflowUser, RunID: w.RunID, TotalJobs: w.TotalJobs, JobsByStatus: countsOf(&w.JobsByStatus),
		IsComplete: w.IsComplete, IsCanceled: w.IsCanceled, Verdict: w.Verdict, State: why.State, Next: why.Next,
	}, nil
}

// countsOf returns the counts that are not zero.
func countsOf(c *api.JobCounts) map[string]int64 {
	counts := map[string]int64{}
	for status, n := range map[workflow.JobStatus]int64{
		workflow.Uninitialized: c.Uninitialized, workflow.Blocked: c.Blocked, workflow.Ready: c.Ready, workflow.Pending: c.Pending,
		workflow.Running: c.Running, workflow.Completed: c.Completed, workflow.Failed: c.Failed, workflow.Canceled: c.Canceled,
		workflow.Terminated: c.Terminated, workflow.Disabled: c.Disabled, workflow.PendingFailed: c.PendingFailed,
	} {
		if n > 0 {
			counts[status.String()] = n
		}
	}
	return counts
}

type section struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

type summaryOut struct {
	workflowStatusOut
	ExecTimeMinutes       float64   `json:"total_exec_time_minutes"`
	WalltimeSeconds       *float64  `json:"walltime_seconds,omitempty"`
	ActiveComputeNodes    int64     `json:"active_compute_nodes"`
	PendingScheduledNodes int64     `json:"pending_scheduled_nodes"`
	ActiveScheduledNodes  int64     `json:"active_scheduled_nodes"`
	HeldBack              []string  `json:"claims_held_because,omitempty" jsonschema:"why no jobs are started now"`
	AllocationReasons     []string  `json:"allocation_reasons,omitempty"`
	GivenUp               string    `json:"aborted_because,omitempty"`
	Sections              []section `json:"sections" jsonschema:"the facts in words, as the command why prints them"`
}

func getWorkflowSummary(ctx context.Context, c *call, in workflowIn) (out summaryOut, err error) {
	if out.workflowStatusOut, err = getWorkflowStatus(ctx, c, in); err != nil {
		return out, err
	}
	w, err := c.Workflows.Status(ctx, in.WorkflowID)
	if err != nil {
		return out, err
	}
	out.ExecTimeMinutes, out.WalltimeSeconds, out.ActiveComputeNodes = w.TotalExecTimeMinutes, w.WalltimeSeconds, w.ActiveComputeNodes
	out.PendingScheduledNodes, out.ActiveScheduledNodes = w.PendingScheduledNodes, w.ActiveScheduledNodes
	out.AllocationReasons, out.GivenUp = w.AllocationReasons, w.GivenUp
	for _, h := range w.ClaimHolds {
		out.HeldBack = append(out.HeldBack, h.Reason)
	}
	why, err := c.Workflows.Why(ctx, in.WorkflowID)
	if err != nil {
		return out, err
	}
	out.Sections = sectionsOf(why)
	return out, nil
}

func sectionsOf(e *api.Explanation) []section {
	sections := []section{}
	for _, s := range e.Sections {
		lines := s.Lines
		if len(lines) > usualItems {
			lines = append(lines[:usualItems:usualItems], "… "+strconv.Itoa(len(s.Lines)-usualItems)+" more")
		}
		sections = append(sections, section{s.Title, lines})
	}
	return sections
}

type planIn struct {
	pageIn
	SpecOrID string `json:"spec_or_id" jsonschema:"id of a workflow, or the text of a specification in JSON or YAML"`
}

type planEvent struct {
	ID           string           `json:"id"`
	Trigger      string           `json:"trigger" jsonschema:"what makes it happen"`
	JobsReady    []string         `json:"jobs_becoming_ready" jsonschema:"the first of their names"`
	JobCount     int              `json:"job_count"`
	Allocations  []planAllocation `json:"allocations,omitempty"`
	DependsOn    []string         `json:"depends_on_events"`
	UnlocksEvent []string         `json:"unlocks_events"`
}

type planAllocation struct {
	Scheduler     string `json:"scheduler"`
	SchedulerType string `json:"scheduler_type"`
	Count         int64  `json:"count"`
}

type planOut struct {
	WorkflowID   *int64      `json:"workflow_id,omitempty" jsonschema:"absent for a specification"`
	WorkflowName string      `json:"workflow_name"`
	TotalJobs    int         `json:"total_jobs"`
	TotalEvents  int         `json:"total_events"`
	Roots        []string    `json:"roots" jsonschema:"events that depend on none"`
	Leaves       []string    `json:"leaves" jsonschema:"events that unlock none"`
	Events       []planEvent `json:"events"`
	pageOut
}

// shownNames is how many names of a long list are shown.
const shownNames = 20

func getExecutionPlan(ctx context.Context, c *call, in planIn) (out planOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	plan, err := c.planOf(ctx, in.SpecOrID)
	if err != nil {
		return out, err
	}
	out = planOut{WorkflowID: plan.WorkflowID, WorkflowName: plan.WorkflowName, TotalJobs: plan.TotalJobs, TotalEvents: len(plan.Events), Roots: []string{}, Leaves: []string{}}
	all := make([]planEvent, len(plan.Events))
	for i := range plan.Events {
		e := &plan.Events[i]
		all[i] = planEvent{
			ID: e.ID, Trigger: e.TriggerDescription, JobsReady: firstOf(e.JobsBecomingReady), JobCount: len(e.JobsBecomingReady),
			DependsOn: firstOf(e.DependsOnEvents), UnlocksEvent: firstOf(e.UnlocksEvents),
		}
		for _, a := range e.SchedulerAllocations {
			all[i].Allocations = append(all[i].Allocations, planAllocation{a.Scheduler, a.SchedulerType, a.NumAllocations})
		}
		if len(e.DependsOnEvents) == 0 && len(out.Roots) < shownNames {
			out.Roots = append(out.Roots, e.ID)
		}
		if len(e.UnlocksEvents) == 0 && len(out.Leaves) < shownNames {
			out.Leaves = append(out.Leaves, e.ID)
		}
	}
	out.Events, out.pageOut = pageOf(page, all)
	return out, nil
}

// firstOf returns the first names of a list.
func firstOf(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names[:min(len(names), shownNames)]
}

// planOf plans a specification here, and has the daemon plan a workflow.
func (c *call) planOf(ctx context.Context, ref string) (*api.ExecutionPlan, error) {
	if id, err := strconv.ParseInt(strings.TrimSpace(ref), 10, 64); err == nil {
		return c.Workflows.ExecutionPlan(ctx, id)
	}
	loaded, err := c.server.parse(ref)
	if err != nil {
		return nil, err
	}
	d := loaded.Definition
	return &api.ExecutionPlan{WorkflowName: d.Name, TotalJobs: len(d.Jobs), Events: graph.ExecutionPlan(d)}, nil
}

// parse reads the text of a specification. JSON is also YAML.
func (s *Server) parse(text string) (*spec.Result, error) {
	if strings.TrimSpace(text) == "" {
		return nil, workflow.Errorf(workflow.CodeInvalid, "the specification is empty")
	}
	return spec.Parse(specName(text), []byte(text), s.Spec)
}

// specName is the name under which errors quote a specification.
func specName(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return "spec.json"
	}
	return "spec.yaml"
}
