package handler

import (
	"context"
	"reflect"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// reasons handles requests about why jobs and workflows are in their state.
type reasons struct{ *Deps }

func (h reasons) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/jobs/{id}/attempts", "List the attempts of a job, with causes and decisions", h.listAttempts),
		rest.Handle("GET", "/jobs/{id}/why", "Explain why a job is in its state", h.whyJob),
		rest.Handle("GET", "/workflows/{id}/why", "Explain the state of a workflow", h.whyWorkflow),
	}
}

func fromAttempt(a workflow.Attempt) api.Attempt {
	wire := api.Attempt{
		JobID: a.JobID, RunID: a.RunID, AttemptID: a.AttemptID, ComputeNodeID: a.RunnerID, Node: a.Node, OutputDir: a.OutputDir, Status: a.Status,
		StartedMS: a.StartedMS, EndedMS: a.EndedMS,
	}
	if a.EndedMS == nil {
		return wire
	}
	wire.ReturnCode = &a.ReturnCode
	if !reflect.ValueOf(a.Evidence).IsZero() {
		wire.Evidence = &a.Evidence
	}
	wire.Cause, wire.Confidence, wire.CauseText = string(a.Cause.Kind), string(a.Cause.Confidence), a.Cause.Text
	wire.Decision, wire.Reason, wire.Rule, wire.PolicyHash = string(a.Decision.Action), a.Decision.Reason, a.Decision.Rule, a.Decision.PolicyHash
	if s := a.Recovery; s != nil {
		wire.Recovery = &api.FailedRecovery{
			EndedMS: s.EndedMS, ReturnCode: s.Cause.ReturnCode, Cause: string(s.Cause.Kind), CauseText: s.Cause.Text,
			Decision: string(s.Decision.Action), Reason: s.Decision.Reason, Rule: s.Decision.Rule, PolicyHash: s.Decision.PolicyHash,
		}
	}
	return wire
}

func (h reasons) listAttempts(r *rest.Request[IDParams, rest.None]) (api.JobAttempts, error) {
	attempts, err := h.Store.Jobs.Attempts(r.Context(), r.Params.ID)
	return api.JobAttempts{Attempts: Each(attempts, fromAttempt)}, err
}

func (h reasons) whyJob(r *rest.Request[IDParams, rest.None]) (api.Explanation, error) {
	facts, err := h.Store.Jobs.Facts(r.Context(), r.Params.ID)
	switch {
	case err == nil && facts.Class.Login:
		facts.Login = h.LoginFacts(facts.Job.WorkflowID)
	case err == nil && facts.Job.Status == workflow.Ready:
		facts.Places, err = h.places(r.Context(), facts.Job.WorkflowID, facts.Class.ID)
	}
	if err != nil {
		return api.Explanation{}, err
	}
	h.addRunnerStates(facts.Runners)
	return explain.Job(facts), nil
}

func (h reasons) whyWorkflow(r *rest.Request[IDParams, rest.None]) (api.Explanation, error) {
	facts, err := h.Store.Workflows.Facts(r.Context(), r.Params.ID)
	if err == nil {
		facts.Login = h.LoginFacts(facts.ID)
		facts.Places, err = h.places(r.Context(), facts.ID, 0)
	}
	if err != nil {
		return api.Explanation{}, err
	}
	h.addRunnerStates(facts.Runners)
	return explain.Workflow(facts), nil
}

// addRunnerStates adds the states of runners that only the daemon knows.
func (h reasons) addRunnerStates(runners []placement.RunnerFacts) {
	states := h.Leases.States(h.Now())
	for i := range runners {
		runners[i].State = states[runners[i].ID]
	}
}

// WhyQueued returns why a ready job waits.
func (d *Deps) WhyQueued(ctx context.Context, job int64) (string, error) {
	facts, err := d.Store.Jobs.Facts(ctx, job)
	if err != nil {
		return "", err
	}
	if facts.Places, err = d.places(ctx, facts.Job.WorkflowID, facts.Class.ID); err != nil {
		return "", err
	}
	return explain.Queue(facts), nil
}
