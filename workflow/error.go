// Package workflow is the domain: workflows, jobs, attempts and resources,
// the state machine, and every decision as a pure function. It imports only
// the standard library, has no clock, no randomness and no I/O.
package workflow

import (
	"errors"
	"fmt"
)

// Code classifies an error that a user may see. The server maps it to an HTTP
// status, the command line to an exit code.
type Code string

// The error codes.
const (
	CodeInvalid     Code = "invalid"     // the request makes no sense as it stands
	CodeNotFound    Code = "not_found"   // no such id
	CodeConflict    Code = "conflict"    // the state of things does not allow it now
	CodeUnfit       Code = "unfit"       // jobs can never run in what there is
	CodeForbidden   Code = "forbidden"   // the caller may not
	CodeUnavailable Code = "unavailable" // try again later
	CodeUnsupported Code = "unsupported" // a database or file of another version
	CodeCorrupt     Code = "corrupt"     // a database or file that cannot be trusted
	CodeInternal    Code = "internal"    // a bug of ours
)

// Error is an error that a user may see: what was wrong, and what to do.
type Error struct {
	Code    Code
	Message string
	Hint    string // what to do about it; may be empty
	Err     error  // the cause, for logs; may be nil
}

// Error returns the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy of e that says what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal if
// there is none, and the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
