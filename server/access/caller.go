package access

import (
	"context"
	"net/http"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
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
	Allocation *compute.Allocation
	// JobOf is the workflow of the running job on whose behalf the request is
	// made; 0 if it is no job's. The caller may then do what jobs may.
	JobOf int64
}

// Anonymous is a caller of whom nothing is known.
var Anonymous = Caller{User: "anonymous"}

type callerKey struct{}

// WithCaller has what is done with ctx know who makes the request.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns who makes the request of ctx.
func CallerOf(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return Anonymous
}
