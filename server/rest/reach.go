package rest

// Reach is what of a route those may use who have no more than the secret of an
// allocation: a runner on a compute node, and whoever stole its file.
type Reach int

// What a route may say of them.
const (
	reachNone     Reach = iota
	ReachAll            // it tells nothing about workflows
	ReachWorkflow       // {id} is the workflow of their allocation
	ReachRunner         // {id} is a runner in their allocation
)

// RunnersAll lets everybody with a secret of an allocation call a route.
func RunnersAll(rt *Route) { rt.Runners = ReachAll }

// RunnersOwnWorkflow lets those call it whose allocation is of the workflow {id}.
func RunnersOwnWorkflow(rt *Route) { rt.Runners = ReachWorkflow }

// RunnersThemselves lets those call it in whose allocation the runner {id} is.
func RunnersThemselves(rt *Route) { rt.Runners = ReachRunner }
