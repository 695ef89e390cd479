package server

import (
	"context"
	"net/http"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Authenticator checks who makes a request.
type Authenticator interface {
	// Authenticate returns who calls; false refuses the request with 401.
	Authenticate(r *http.Request) (Caller, bool)
}

// Caller is who makes a request.
type Caller struct {
	// User is a name for events and for the owner of new workflows: of the user who
	// runs the daemon, for whom the kernel vouches, or of credentials.
	User string
	// Known says that credentials proved the name: new workflows belong to it,
	// whatever the request says.
	Known bool
	// Allocation is set for a runner that showed the secret of an allocation:
	// it may do nothing but work there.
	Allocation *workflow.Allocation
	// JobOf is the workflow of the running job on whose behalf the request is
	// made; 0 if it is no job's. The caller may then do what jobs may.
	JobOf int64
}

var anonymous = Caller{User: "anonymous"}

type callerKey struct{}

// callerOf returns who makes the request of ctx.
func callerOf(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return anonymous
}
