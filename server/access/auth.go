package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/guard"
)

// TokenAuth admits callers with the token of the daemon, as a bearer token or as the
// password of basic authentication.
type TokenAuth struct {
	sum  [sha256.Size]byte
	user string
}

// NewTokenAuth returns an authenticator for a token. user is the name of callers who give
// none.
func NewTokenAuth(token, user string) *TokenAuth {
	return &TokenAuth{sum: sha256.Sum256([]byte(token)), user: user}
}

// Authenticate checks the credentials of a request.
func (a *TokenAuth) Authenticate(r *http.Request) (Caller, bool) {
	name, secret, ok := r.BasicAuth()
	if !ok {
		secret, ok = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	sum := sha256.Sum256([]byte(secret))
	if !ok || subtle.ConstantTimeCompare(sum[:], a.sum[:]) != 1 {
		return Caller{}, false
	}
	if name == "" {
		name = a.user
	}
	return Caller{User: name, Known: true}, true
}

// PasswordAuth admits the users of an authentication file, by basic authentication, and
// callers with the token as a bearer token.
type PasswordAuth struct {
	Token     Authenticator
	Passwords *Checker
}

// Authenticate checks the credentials of a request.
func (a *PasswordAuth) Authenticate(r *http.Request) (Caller, bool) {
	name, password, ok := r.BasicAuth()
	if !ok {
		return a.Token.Authenticate(r)
	}
	if !a.Passwords.Check(name, password, time.Now()) {
		return Caller{}, false
	}
	return Caller{User: name, Known: true}, true
}

// PeerAuth admits the user who runs the daemon, as the kernel reports it. Others need
// credentials.
type PeerAuth struct {
	Others Authenticator
	Shared bool   // the daemon was started for other users, too
	User   string // who runs it
}

// Authenticate returns who makes a request. The daemon's own user needs no credentials;
// those of an allocation, or of a user of a shared daemon, determine as whom to act.
func (a *PeerAuth) Authenticate(r *http.Request) (Caller, bool) {
	own := guard.PeerOf(r.Context()).Own
	if own && r.Header.Get("Authorization") == "" {
		return Caller{User: a.User}, true
	}
	caller, ok := a.Others.Authenticate(r)
	if !ok && own && !a.Shared {
		return Caller{User: a.User}, true // for example with the token of an earlier daemon
	}
	return caller, ok
}
