package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// httpError is a refusal with its status and body.
type httpError struct {
	status int
	detail api.ErrorDetail
}

func (e *httpError) Error() string { return e.detail.Message }

// textError is a refusal in plain text: the request did not get as far as a
// handler.
type textError struct {
	status int
	text   string
}

func (e *textError) Error() string { return e.text }

func textErrorf(status int, format string, args ...any) error {
	return &textError{status: status, text: fmt.Sprintf(format, args...)}
}

// invalidField refuses a field's value.
func invalidField(field string, value any, format string, args ...any) error {
	return &httpError{status: http.StatusUnprocessableEntity, detail: api.ErrorDetail{
		Message: fmt.Sprintf(format, args...), Field: field, Value: value,
	}}
}

// internalError is the answer to what is our own fault. What it was, with names
// of tables and paths, is for the log alone.
func internalError(span string) *httpError {
	return &httpError{status: http.StatusInternalServerError, detail: api.ErrorDetail{
		Error: api.KindInternal, Message: "internal error; the log of the server has the details under span id " + span,
	}}
}

// told is the text of an error that is part of an answer. What is our own fault
// goes to the log.
func (s *Server) told(ctx context.Context, err error) string {
	if asHTTP(err, http.StatusConflict).status != http.StatusInternalServerError {
		return err.Error()
	}
	span, _ := ctx.Value(spanKey{}).(string)
	s.Log.Error("a part of a request failed", "span_id", span, "error", err)
	return internalError(span).detail.Message
}

// asHTTP decides the answer to an error, of an internal one only the status.
// conflict is the status for a conflict with the state of things: 422 on torc's
// paths, 409 where it is documented.
func asHTTP(err error, conflict int) *httpError {
	var h *httpError
	if errors.As(err, &h) {
		return h
	}
	var w *workflow.Error
	if !errors.As(err, &w) {
		return &httpError{status: http.StatusInternalServerError}
	}
	detail := api.ErrorDetail{Message: strings.TrimSuffix(err.Error(), w.Error()) + w.Message, Hint: w.Hint}
	status := http.StatusInternalServerError
	switch w.Code {
	case workflow.CodeInvalid:
		status = http.StatusUnprocessableEntity
	case workflow.CodeConflict:
		status = conflict
		if conflict == http.StatusConflict {
			detail.Error = api.KindConflict
		}
	case workflow.CodeNotFound:
		status, detail.Error = http.StatusNotFound, api.KindNotFound
	case workflow.CodeForbidden:
		status, detail.Error = http.StatusForbidden, api.KindForbidden
	case workflow.CodeUnavailable:
		status, detail.Error = http.StatusServiceUnavailable, api.KindUnavailable
	}
	return &httpError{status: status, detail: detail}
}

// writeError sends a refusal as JSON.
func writeError(w http.ResponseWriter, e *httpError) {
	if e.status == http.StatusInternalServerError {
		e = internalError(w.Header().Get("X-Span-Id"))
	}
	detail := e.detail
	if e.status < 500 {
		detail.Message, detail.Hint = textFor(w, detail.Message), textFor(w, detail.Hint)
		if text, ok := detail.Value.(string); ok {
			detail.Value = textFor(w, text)
		}
	}
	writeJSON(w, e.status, api.ErrorResponse{Error: detail})
}

// refuse sends a refusal in plain text.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, textFor(w, text)) // the client may be gone
}

// textFor is the text of a refusal for whoever gets the answer: our own client
// shows it as it is, since people write its keys (timeouts) into their files.
func textFor(w http.ResponseWriter, text string) string {
	if s, ok := w.(*statusWriter); ok && s.ours {
		return text
	}
	return soften(text)
}

// trapWords are what torc's client takes for a passing failure, wherever they
// stand in the text of an error: it then repeats the request for minutes. A
// refusal that will be the same next time must not contain them.
var trapWords = regexp.MustCompile(`(?i)(connec)(tion)|(time)(out)|(net)(work)|(d)(ns)|(resol)(ve)|(unreach)(able)|(database is) (locked|busy)|(sqlite)_(busy)`)

// soften puts a hyphen into trap words, which may come from the names and
// values that a client sent.
func soften(text string) string {
	return trapWords.ReplaceAllStringFunc(text, func(word string) string {
		var halves []string
		for _, half := range trapWords.FindStringSubmatch(word)[1:] {
			if half != "" {
				halves = append(halves, half)
			}
		}
		return strings.Join(halves, "-")
	})
}
