package access

import (
	"net/http"
	"strings"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/store"
)

// SecretAuth admits whomever another authenticator admits, and runners with the secret of
// their allocation.
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
	life, err := a.Store.Allocations.OfSecret(r.Context(), allocation.HashSecret(secret))
	if err != nil {
		return Caller{}, false
	}
	return Caller{User: a.User, Known: true, Allocation: &life}, true
}
