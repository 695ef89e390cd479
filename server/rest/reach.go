package rest

// Reach says which requests of a route are allowed with only the secret of an allocation:
// for a runner on a compute node, or for someone who stole its file.
type Reach int

// How far a secret reaches.
const (
	reachNone     Reach = iota
	ReachAll            // it returns nothing about workflows
	ReachWorkflow       // {id} is the workflow of their allocation
	ReachRunner         // {id} is a runner in their allocation
)

// RunnersAll allows a route for every secret of an allocation.
func RunnersAll(rt *Route) { rt.Runners = ReachAll }

// RunnersOwnWorkflow allows a route for the secrets of allocations of the workflow {id}.
func RunnersOwnWorkflow(rt *Route) { rt.Runners = ReachWorkflow }

// RunnersThemselves allows a route for the secret of the allocation of the runner {id}.
func RunnersThemselves(rt *Route) { rt.Runners = ReachRunner }
