package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
)

// APIError is an error response of the daemon.
type APIError struct {
	Status  int // HTTP status
	Message string
	Detail  api.ErrorDetail
}

// Error returns the daemon's message with the HTTP status.
func (e *APIError) Error() string {
	return fmt.Sprintf("%s (HTTP %d)", e.Message, e.Status)
}

// unreachableError is the error of a call without an answer.
type unreachableError struct {
	call     string
	err      error
	isUnsure bool // the call may have been carried out
}

func (e *unreachableError) Error() string {
	text := e.call + ": " + e.err.Error()
	if e.isUnsure {
		text += "; it may have been carried out"
	}
	return text
}

func (e *unreachableError) Unwrap() error { return e.err }

// unreachable wraps the error of a call that got no answer. If the caller's context has
// ended, it is returned as it is.
func unreachable(call string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", call, err)
	}
	var dial *url.Error // repeats method and path
	if errors.As(err, &dial) {
		err = dial.Err
	}
	return &unreachableError{call: call, err: err}
}

// IsUnreachable reports whether err says that the server did not answer.
func IsUnreachable(err error) bool {
	var e *unreachableError
	return errors.As(err, &e)
}

// apiError decodes an error response: a JSON error body, or plain text.
func apiError(status int, body []byte) *APIError {
	e := &APIError{Status: status}
	var wire api.ErrorResponse
	if json.Unmarshal(body, &wire) == nil && wire.Error.Message != "" {
		e.Detail = wire.Error
		e.Message = wire.Error.Message
		return e
	}
	if e.Message = strings.TrimSpace(string(body)); e.Message == "" {
		e.Message = http.StatusText(status)
	}
	return e
}
