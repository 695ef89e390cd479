// Package workflow is the domain: workflows, jobs, attempts and resources, and the state
// machine. All decisions, here and in the packages below, are pure functions: no clock, no
// randomness, no I/O. It imports only the standard library.
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
	CodeInvalid     Code = "invalid"     // the request is not valid
	CodeNotFound    Code = "not_found"   // no such id
	CodeConflict    Code = "conflict"    // the present state does not allow it
	CodeUnfit       Code = "unfit"       // jobs can never run with the available resources
	CodeForbidden   Code = "forbidden"   // the caller is not allowed to do it
	CodeUnavailable Code = "unavailable" // try again later
	CodeUnsupported Code = "unsupported" // a database or file of another version
	CodeCorrupt     Code = "corrupt"     // a database or file that is damaged
	CodeInternal    Code = "internal"    // a bug in torc-slurm
)

// Error is an error that a user may see: what is wrong, and what to do.
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

// Errorf returns an Error with a code and a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy of e with a hint about what to do.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// CodeOf returns the code of the first Error in the chain of err, CodeInternal if there
// is none, and "" for nil.
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
