package access

import (
	"context"
	"net/http"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Authenticator checks who makes a request.
type Authenticator interface {
	// Authenticate returns who makes a request; false rejects it with 401.
	Authenticate(r *http.Request) (Caller, bool)
}

// Caller is who makes a request.
type Caller struct {
	// User is a name for events and for the owner of new workflows: of the user who runs
	// the daemon, as the kernel reports it, or of credentials.
	User string
	// Known says that credentials proved the name. New workflows then belong to it,
	// whatever the request says.
	Known bool
	// Allocation is set for a runner with the secret of an allocation. It may only work
	// there.
	Allocation *compute.Allocation
	// JobOf is the workflow of the running job that makes the request; 0 if none does. The
	// caller is then limited to what jobs may do.
	JobOf int64
}

// Anonymous is an unknown caller.
var Anonymous = Caller{User: "anonymous"}

type callerKey struct{}

// WithCaller returns a context with the caller of a request.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of the request of ctx.
func CallerOf(ctx context.Context) Caller {
	if c, ok := ctx.Value(callerKey{}).(Caller); ok {
		return c
	}
	return Anonymous
}
