package server

import (
	"reflect"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func (s *Server) whyRoutes() []route {
	return []route{
		handle("GET", "/jobs/{id}/attempts", "List the attempts of a job, with causes and decisions", s.listAttempts),
		handle("GET", "/jobs/{id}/why", "Explain why a job is where it is", s.whyJob),
		handle("GET", "/workflows/{id}/why", "Explain where a workflow stands", s.whyWorkflow),
	}
}

func fromAttempt(a workflow.Attempt) api.Attempt {
	wire := api.Attempt{
		JobID: a.JobID, RunID: a.RunID, AttemptID: a.AttemptID, ComputeNodeID: a.RunnerID, Node: a.Node, Status: a.Status,
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

func (s *Server) listAttempts(r *request[idParams, none]) (api.JobAttempts, error) {
	attempts, err := s.Store.JobAttempts(r.Context(), r.Params.ID)
	return api.JobAttempts{Attempts: each(attempts, fromAttempt)}, err
}

func (s *Server) whyJob(r *request[idParams, none]) (api.Explanation, error) {
	facts, err := s.Store.JobFacts(r.Context(), r.Params.ID)
	switch {
	case err == nil && facts.Class.Login:
		facts.Login = s.loginFacts(facts.Job.WorkflowID)
	case err == nil && facts.Job.Status == workflow.Ready:
		facts.Places, err = s.places(r.Context(), facts.Job.WorkflowID, facts.Class.ID)
	}
	if err != nil {
		return api.Explanation{}, err
	}
	s.addRunnerStates(facts.Runners)
	return workflow.Explain(facts), nil
}

func (s *Server) whyWorkflow(r *request[idParams, none]) (api.Explanation, error) {
	facts, err := s.Store.WorkflowFacts(r.Context(), r.Params.ID)
	if err == nil {
		facts.Login = s.loginFacts(facts.ID)
		facts.Places, err = s.places(r.Context(), facts.ID, 0)
	}
	if err != nil {
		return api.Explanation{}, err
	}
	s.addRunnerStates(facts.Runners)
	return workflow.ExplainWorkflow(facts), nil
}

// addRunnerStates adds to what is stored of runners what only we know.
func (s *Server) addRunnerStates(runners []workflow.RunnerFacts) {
	states := s.leases.states(s.Now())
	for i := range runners {
		runners[i].State = states[runners[i].ID]
	}
}
