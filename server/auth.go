package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// TokenAuth lets in whoever knows the token of the daemon, as a bearer token
// or as the password of basic authentication.
type TokenAuth struct {
	sum  [sha256.Size]byte
	user string
}

// NewTokenAuth returns an authenticator for a token. A caller who gives no
// name is user.
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

// openOnLoopback lets in whoever is on this host. Others, on compute nodes, need
// what the authenticator asks for.
type openOnLoopback struct{ others Authenticator }

// Authenticate checks the credentials of a request from another host. Those of
// one from here say who calls, if they are right.
func (a openOnLoopback) Authenticate(r *http.Request) (Caller, bool) {
	if caller, ok := a.others.Authenticate(r); ok {
		return caller, true
	}
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return Caller{}, false
	}
	return anonymous, true
}
