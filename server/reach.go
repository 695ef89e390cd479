package server

import (
	"net/http"
	"strconv"

	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/jobaccess"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// within rejects what the secret of an allocation does not allow, and what jobs may not
// call.
func (s *Server) within(rt *rest.Route, r *http.Request) error {
	if of := access.CallerOf(r.Context()).JobOf; of != 0 {
		scope := jobaccess.ScopeOf(rt.Method, rt.Pattern)
		return jobaccess.Check(r.Context(), s.Store.Workflows, scope, of, r, r.PathValue("id"))
	}
	a := access.CallerOf(r.Context()).Allocation
	if a == nil || rt.Runners == rest.ReachAll {
		return nil
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err == nil {
		switch rt.Runners {
		case rest.ReachWorkflow:
			if id == a.WorkflowID {
				return nil
			}
		case rest.ReachRunner:
			intent, err := s.Store.Allocations.IntentOfRunner(r.Context(), id)
			if err != nil {
				return err
			}
			if intent == a.IntentID {
				return nil
			}
		}
	}
	return workflow.Errorf(workflow.CodeForbidden, "the secret of an allocation does not allow %s %s", r.Method, r.URL.Path)
}

// onBehalf limits a caller to what jobs may do, if the request says that it is made for
// one. A runner acts for the jobs of its own workflow only.
func onBehalf(caller access.Caller, r *http.Request) (access.Caller, error) {
	of, err := jobaccess.FromHeader(r.Header)
	if err != nil {
		return caller, err
	}
	if a := caller.Allocation; of != 0 && a != nil && a.WorkflowID != of {
		return caller, workflow.Errorf(workflow.CodeForbidden, "the secret of an allocation for workflow %d does not allow requests on behalf of jobs of workflow %d",
			a.WorkflowID, of)
	}
	caller.JobOf = of
	return caller, nil
}
