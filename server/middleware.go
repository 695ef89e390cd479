package server

import (
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/access"
	"github.com/torc-slurm/torc-slurm/server/connlimit"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
)

// middleware adds to the mux what every request needs: a span id, headers, credentials,
// metrics, and status 500 instead of a panic.
func (s *Server) middleware(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.Now()
		span := rest.SpanID(r, start)
		h := w.Header()
		h.Set("X-Span-Id", span)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		handler, pattern := mux.Handler(r)
		status := rest.NewStatusWriter(w, r)
		defer func() { s.Metrics.request(pattern, r.Method, status.Code(), s.Now().Sub(start)) }()
		defer func() {
			if p := recover(); p != nil {
				s.panicked(status, r, span, p)
			}
		}()
		if err := s.Origins.Check(r); err != nil {
			connlimit.CloseAfterAnswer(w)
			rest.WriteError(status, rest.AsHTTP(err, http.StatusConflict))
			return
		}
		caller := access.Anonymous
		if s.Auth != nil {
			var ok bool
			if caller, ok = s.Auth.Authenticate(r); !ok {
				h.Set("WWW-Authenticate", `Basic realm="Torc"`)
				s.Metrics.logins.Inc()
				s.failedLogins.Record(s.Log, r, start)
				connlimit.CloseAfterAnswer(w)
				rest.WriteTextError(status, http.StatusUnauthorized, "Unauthorized")
				return
			}
		}
		caller, err := onBehalf(caller, r)
		if err != nil {
			rest.WriteError(status, rest.AsHTTP(err, http.StatusConflict))
			return
		}
		connlimit.Admit(r.Context())
		connlimit.Body(w, r, s.stall)
		if s.idle != nil {
			if !s.idle.begin() {
				panic(http.ErrAbortHandler)
			}
			defer s.idle.end()
		}
		ctx := access.WithCaller(r.Context(), caller)
		ctx = audit.WithUser(audit.WithDoor(ctx, doorOf(caller, r)), caller.User)
		ctx = rest.WithSpan(ctx, span)
		r = r.WithContext(ctx)
		if pattern == "" {
			if r.ContentLength != 0 {
				connlimit.CloseAfterAnswer(w)
			}
			handler.ServeHTTP(rest.NewBodyless(status), r) // no such path, or not with this method
			return
		}
		mux.ServeHTTP(status, r)
	})
}

// doorOf returns how a request came in. A running job has no choice.
func doorOf(caller access.Caller, r *http.Request) audit.Door {
	if caller.JobOf != 0 {
		return audit.Job
	}
	return audit.Named(r.Header.Get(api.DoorHeader))
}

// panicked answers a request whose handler panicked, unless it has been answered already,
// and logs it once.
func (s *Server) panicked(w *rest.StatusWriter, r *http.Request, span string, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // the connection is closed on purpose
	}
	s.Log.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "span_id", span,
		"panic", p, "stack", string(debug.Stack()))
	if !w.Sent() {
		rest.WriteError(w, rest.InternalError(span))
	}
}
