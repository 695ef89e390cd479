package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/jobaccess"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// reach is what of a route those may use who have no more than the secret of an
// allocation: a runner on a compute node, and whoever stole its file.
type reach int

const (
	reachNone     reach = iota
	reachAll            // it tells nothing about workflows
	reachWorkflow       // {id} is the workflow of their allocation
	reachRunner         // {id} is a runner in their allocation
)

func runnersAll(rt *route)         { rt.runners = reachAll }
func runnersOwnWorkflow(rt *route) { rt.runners = reachWorkflow }
func runnersThemselves(rt *route)  { rt.runners = reachRunner }

// within refuses what the secret of an allocation does not cover, and what jobs
// may not call.
func (s *Server) within(rt *route, r *http.Request) error {
	if of := callerOf(r.Context()).JobOf; of != 0 {
		scope := jobaccess.ScopeOf(rt.method, rt.pattern)
		return jobaccess.Check(r.Context(), s.Store, scope, of, r, r.PathValue("id"))
	}
	a := callerOf(r.Context()).Allocation
	if a == nil || rt.runners == reachAll {
		return nil
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err == nil {
		switch rt.runners {
		case reachWorkflow:
			if id == a.WorkflowID {
				return nil
			}
		case reachRunner:
			intent, err := s.Store.IntentOfRunner(r.Context(), id)
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

// onBehalf narrows what a caller may do to what jobs may, if the request says
// that it is made on behalf of one. A runner speaks for the jobs of its own
// workflow only.
func onBehalf(caller Caller, r *http.Request) (Caller, error) {
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

// SecretAuth lets in whoever an authenticator lets in, and runners by the
// secret of their allocation.
type SecretAuth struct {
	Owner Authenticator
	Store *store.Store
	User  string // who runners act for
}

// Authenticate checks the credentials of a request.
func (a *SecretAuth) Authenticate(r *http.Request) (Caller, bool) {
	caller, ok := a.Owner.Authenticate(r)
	if ok {
		return caller, true
	}
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return Caller{}, false
	}
	life, err := a.Store.AllocationOfSecret(r.Context(), allocation.HashSecret(secret))
	if err != nil {
		return Caller{}, false
	}
	return Caller{User: a.User, Known: true, Allocation: &life}, true
}

// memberOf says which allocation a runner lives in: that of the secret which it
// showed, with what it says of itself.
func memberOf(ctx context.Context, says *api.AllocationMember) (*store.AllocationMember, error) {
	life := callerOf(ctx).Allocation
	switch {
	case life == nil && says == nil:
		return nil, nil
	case life == nil:
		return nil, workflow.Errorf(workflow.CodeForbidden, "a runner in an allocation must show the allocation's secret")
	case says == nil:
		return nil, workflow.Errorf(workflow.CodeForbidden, "a runner with an allocation's secret must say in which Slurm job it lives")
	}
	return &store.AllocationMember{
		IntentID: life.IntentID, Cluster: says.Cluster, SlurmJobID: says.SlurmJobID, RestartCount: says.RestartCount,
		NodeList: says.NodeList,
	}, nil
}
