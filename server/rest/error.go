package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// HTTPError is an error with its status and body.
type HTTPError struct {
	Status int
	Detail api.ErrorDetail
}

func (e *HTTPError) Error() string { return e.Detail.Message }

// TextError is an error in plain text, for requests that did not reach a handler.
type TextError struct {
	status int
	Text   string
}

func (e *TextError) Error() string { return e.Text }

// TextErrorf returns a TextError.
func TextErrorf(status int, format string, args ...any) error {
	return &TextError{status: status, Text: fmt.Sprintf(format, args...)}
}

// InvalidField returns the error for an invalid value of a field.
func InvalidField(field string, value any, format string, args ...any) error {
	return &HTTPError{Status: http.StatusUnprocessableEntity, Detail: api.ErrorDetail{
		Message: fmt.Sprintf(format, args...), Field: field, Value: value,
	}}
}

// InternalError returns the answer to an internal error. Its cause, with names of tables
// and paths, is only logged.
func InternalError(span string) *HTTPError {
	return &HTTPError{Status: http.StatusInternalServerError, Detail: api.ErrorDetail{
		Error: api.KindInternal, Message: "internal error; the log of the server has the details under span id " + span,
	}}
}

// ErrorText returns the text of an error that is part of an answer. An internal error is
// logged instead.
func ErrorText(ctx context.Context, log *slog.Logger, err error) string {
	if AsHTTP(err, http.StatusConflict).Status != http.StatusInternalServerError {
		return err.Error()
	}
	span := spanOf(ctx)
	log.Error("a part of a request failed", "span_id", span, "error", err)
	return InternalError(span).Detail.Message
}

// AsHTTP returns the answer to an error, with only the status of an internal one. conflict
// is the status for conflicts: 422 on torc's paths, 409 where it is documented.
func AsHTTP(err error, conflict int) *HTTPError {
	var h *HTTPError
	if errors.As(err, &h) {
		return h
	}
	var w *workflow.Error
	if !errors.As(err, &w) {
		return &HTTPError{Status: http.StatusInternalServerError}
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
	case workflow.CodeUnfit:
		status, detail.Error = http.StatusUnprocessableEntity, api.KindUnfit
	case workflow.CodeNotFound:
		status, detail.Error = http.StatusNotFound, api.KindNotFound
	case workflow.CodeForbidden:
		status, detail.Error = http.StatusForbidden, api.KindForbidden
	case workflow.CodeUnavailable:
		status, detail.Error = http.StatusServiceUnavailable, api.KindUnavailable
	}
	return &HTTPError{Status: status, Detail: detail}
}

// WriteError sends an error as JSON.
func WriteError(w http.ResponseWriter, e *HTTPError) {
	if e.Status == http.StatusInternalServerError {
		e = InternalError(w.Header().Get("X-Span-Id"))
	}
	detail := e.Detail
	if e.Status < 500 {
		detail.Message, detail.Hint = textFor(w, detail.Message), textFor(w, detail.Hint)
		if text, ok := detail.Value.(string); ok {
			detail.Value = textFor(w, text)
		}
	}
	writeJSON(w, e.Status, api.ErrorResponse{Error: detail})
}

// WriteTextError sends an error in plain text.
func WriteTextError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, textFor(w, text)) // the client may have disconnected
}

// textFor returns the text of an error for the client of w. Our own client shows it
// unchanged, because users may write its keys, such as timeouts, into their files.
func textFor(w http.ResponseWriter, text string) string {
	if s, ok := w.(*StatusWriter); ok && s.ours {
		return text
	}
	return Soften(text)
}

// trapWords are what torc's client considers a sign of a temporary failure, anywhere in
// the text of an error. It then repeats the request for minutes. Texts of permanent errors
// must not contain them.
var trapWords = regexp.MustCompile(`(?i)(connec)(tion)|(time)(out)|(net)(work)|(d)(ns)|(resol)(ve)|(unreach)(able)|(database is) (locked|busy)|(sqlite)_(busy)`)

// Soften puts a hyphen into trap words, which may be part of names and values from a
// client.
func Soften(text string) string {
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
