package rest

import (
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
)

// StatusWriter remembers the status that was sent.
type StatusWriter struct {
	http.ResponseWriter
	status int
	ours   bool // the answer is for our own client
}

// NewStatusWriter returns the writer of the answer to r.
func NewStatusWriter(w http.ResponseWriter, r *http.Request) *StatusWriter {
	return &StatusWriter{ResponseWriter: w, ours: r.UserAgent() == api.UserAgent}
}

// Sent reports whether a status was sent.
func (w *StatusWriter) Sent() bool { return w.status != 0 }

// WriteHeader records the status and sends it.
func (w *StatusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *StatusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *StatusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Code returns the status that was sent, or will be.
func (w *StatusWriter) Code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// bodyless sends the errors of the mux without their text, since torc's clients expect an
// empty body.
type bodyless struct {
	*StatusWriter
}

// NewBodyless returns a writer that sends no body.
func NewBodyless(w *StatusWriter) http.ResponseWriter { return &bodyless{StatusWriter: w} }

func (w *bodyless) WriteHeader(status int) {
	h := w.Header()
	h.Del("Content-Type")
	h.Set("Content-Length", "0")
	w.StatusWriter.WriteHeader(status)
}

func (w *bodyless) Write(p []byte) (int, error) { return len(p), nil }
