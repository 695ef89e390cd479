package server

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/connlimit"
)

// middleware adds to the mux what every request gets: a span id, headers,
// credentials, metrics, and a 500 instead of a panic.
func (s *Server) middleware(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.Now()
		span := spanID(r, start)
		h := w.Header()
		h.Set("X-Span-Id", span)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		handler, pattern := mux.Handler(r)
		status := &statusWriter{ResponseWriter: w, ours: r.UserAgent() == api.UserAgent}
		defer func() { s.Metrics.request(pattern, r.Method, status.code(), s.Now().Sub(start)) }()
		defer func() {
			if p := recover(); p != nil {
				s.panicked(status, r, span, p)
			}
		}()
		if err := s.Origins.Check(r); err != nil {
			connlimit.Refuse(w)
			writeError(status, asHTTP(err, http.StatusConflict))
			return
		}
		caller := anonymous
		if s.Auth != nil {
			var ok bool
			if caller, ok = s.Auth.Authenticate(r); !ok {
				h.Set("WWW-Authenticate", `Basic realm="Torc"`)
				s.Metrics.logins.Inc()
				s.failedLogins.Note(s.Log, r, start)
				connlimit.Refuse(w)
				refuse(status, http.StatusUnauthorized, "Unauthorized")
				return
			}
		}
		caller, err := onBehalf(caller, r)
		if err != nil {
			writeError(status, asHTTP(err, http.StatusConflict))
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
		ctx := context.WithValue(r.Context(), callerKey{}, caller)
		ctx = context.WithValue(ctx, spanKey{}, span)
		r = r.WithContext(ctx)
		if pattern == "" {
			if r.ContentLength != 0 {
				connlimit.Refuse(w)
			}
			handler.ServeHTTP(&bodyless{statusWriter: status}, r) // no such path, or not with this method
			return
		}
		mux.ServeHTTP(status, r)
	})
}

// panicked answers a request whose handler panicked, if it has not answered
// already, and logs it once.
func (s *Server) panicked(w *statusWriter, r *http.Request, span string, p any) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // the connection is cut on purpose
	}
	s.Log.Error("a handler panicked", "method", r.Method, "path", r.URL.Path, "span_id", span,
		"panic", p, "stack", string(debug.Stack()))
	if w.status == 0 {
		writeError(w, internalError(span))
	}
}

type spanKey struct{}

const maxSpanID = 128

// spanID returns the request's own id, or one made of the time.
func spanID(r *http.Request, now time.Time) string {
	id := r.Header.Get("X-Span-Id")
	if id == "" || len(id) > maxSpanID {
		return strconv.FormatInt(now.UnixNano(), 10)
	}
	for _, c := range []byte(id) {
		if c < 0x20 || c > 0x7e {
			return strconv.FormatInt(now.UnixNano(), 10)
		}
	}
	return id
}

// statusWriter remembers the status that was sent.
type statusWriter struct {
	http.ResponseWriter
	status int
	ours   bool // the answer is for our own client
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// bodyless sends the status and headers of the mux's own errors without their
// text: torc's clients expect an empty body there.
type bodyless struct {
	*statusWriter
}

func (w *bodyless) WriteHeader(status int) {
	h := w.Header()
	h.Del("Content-Type")
	h.Set("Content-Length", "0")
	w.statusWriter.WriteHeader(status)
}

func (w *bodyless) Write(p []byte) (int, error) { return len(p), nil }
