package cli

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// The exit statuses.
const (
	exitOK          = 0
	ExitFailed      = 1 // the work failed
	ExitUsage       = 2
	exitNotFound    = 3
	ExitUnreachable = 4
	ExitRefused     = 5 // conflict, permission
	ExitInvalidSpec = 6
	ExitInterrupted = 130
)

// exitMeanings are the descriptions of statuses in the help.
var exitMeanings = map[int]string{
	exitOK:          "success",
	ExitFailed:      "the work failed",
	ExitUsage:       "wrong usage",
	exitNotFound:    "something with that id or name does not exist",
	ExitUnreachable: "the server cannot be reached",
	ExitRefused:     "the server rejected the request: a conflict, an invalid value, or no permission",
	ExitInvalidSpec: "the specification is invalid",
	ExitInterrupted: "interrupted",
}

// ExitAnnotation is the annotation of a command with the description of its exit statuses,
// a line for each.
const ExitAnnotation = "exit status"

// Exits returns the annotation of a command from texts such as "1 a job failed" and from
// statuses with their usual meaning. Success and wrong usage are always included.
func Exits(of ...any) map[string]string {
	meaning := map[int]string{exitOK: exitMeanings[exitOK], ExitUsage: exitMeanings[ExitUsage]}
	for _, e := range of {
		switch e := e.(type) {
		case int:
			meaning[e] = exitMeanings[e]
		case string:
			number, text, _ := strings.Cut(e, " ")
			if n, err := strconv.Atoi(number); err == nil {
				meaning[n] = text
			}
		}
	}
	var lines strings.Builder
	for _, n := range []int{exitOK, ExitFailed, ExitUsage, exitNotFound, ExitUnreachable, ExitRefused, ExitInvalidSpec, ExitInterrupted} {
		if text := meaning[n]; text != "" {
			lines.WriteString("  " + strconv.Itoa(n) + strings.Repeat(" ", 5-len(strconv.Itoa(n))) + text + "\n")
		}
	}
	return map[string]string{ExitAnnotation: lines.String()}
}

// ServerExits is Exits for a command that calls a server about something that may not
// exist.
func ServerExits(more ...any) map[string]string {
	return Exits(append([]any{exitNotFound, ExitUnreachable, ExitRefused}, more...)...)
}

// ExitError ends the program with a status. Without Err no message is printed, since the
// command has printed it.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return "exit status " + strconv.Itoa(e.Status)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Silent returns an error that ends the program with a status and no message.
func Silent(status int) error { return &ExitError{Status: status} }

// UsageErrorf returns an error about the arguments; the exit status is ExitUsage.
func UsageErrorf(format string, args ...any) error {
	return &ExitError{Status: ExitUsage, Err: workflow.Errorf(workflow.CodeInvalid, format, args...)}
}

// FailedErrorf returns an error about an operation that failed; the exit status is
// ExitFailed.
func FailedErrorf(format string, args ...any) error {
	return &ExitError{Status: ExitFailed, Err: workflow.Errorf(workflow.CodeConflict, format, args...)}
}

// ExitStatus returns the exit status for an error; 0 for nil.
func ExitStatus(err error) int {
	var (
		exit    *ExitError
		refusal *client.APIError
		invalid spec.Errors
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.Status
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &invalid):
		return ExitInvalidSpec
	case errors.As(err, &refusal) && refusal.Detail.Error == api.KindUnfit:
		return ExitInvalidSpec
	case errors.As(err, &refusal):
		return httpExitStatus(refusal.Status)
	case client.IsUnreachable(err):
		return ExitUnreachable
	}
	switch workflow.CodeOf(err) {
	case workflow.CodeInvalid:
		return ExitUsage
	case workflow.CodeNotFound:
		return exitNotFound
	case workflow.CodeConflict, workflow.CodeForbidden, workflow.CodeUnsupported:
		return ExitRefused
	case workflow.CodeUnavailable:
		return ExitUnreachable
	}
	return ExitFailed
}

func httpExitStatus(status int) int {
	switch {
	case status == http.StatusNotFound:
		return exitNotFound
	case status == http.StatusBadRequest:
		return ExitUsage
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return ExitUnreachable
	case status < http.StatusInternalServerError:
		return ExitRefused
	}
	return ExitFailed
}
