package main

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
	exitFailed      = 1 // the work failed
	exitUsage       = 2
	exitNotFound    = 3
	exitUnreachable = 4
	exitRefused     = 5 // conflict, permission
	exitInvalidSpec = 6
	exitInterrupted = 130
)

// exitMeanings is what the help of a command says about a status.
var exitMeanings = map[int]string{
	exitOK:          "success",
	exitFailed:      "the work failed",
	exitUsage:       "wrong usage",
	exitNotFound:    "something with that id or name does not exist",
	exitUnreachable: "the server cannot be reached",
	exitRefused:     "the server refused: a conflict, a value it does not take, or no permission",
	exitInvalidSpec: "the specification is invalid",
	exitInterrupted: "interrupted",
}

// exitAnnotation is where a command keeps what its help says about exit
// statuses, a line for each.
const exitAnnotation = "exit status"

// exits makes the annotation of a command from texts such as "1 a job failed"
// and from statuses with their usual meaning. Success and wrong usage are
// always there.
func exits(of ...any) map[string]string {
	meaning := map[int]string{exitOK: exitMeanings[exitOK], exitUsage: exitMeanings[exitUsage]}
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
	for _, n := range []int{exitOK, exitFailed, exitUsage, exitNotFound, exitUnreachable, exitRefused, exitInvalidSpec, exitInterrupted} {
		if text := meaning[n]; text != "" {
			lines.WriteString("  " + strconv.Itoa(n) + strings.Repeat(" ", 5-len(strconv.Itoa(n))) + text + "\n")
		}
	}
	return map[string]string{exitAnnotation: lines.String()}
}

// serverExits is exits for a command that talks to a server about something
// that may not exist.
func serverExits(more ...any) map[string]string {
	return exits(append([]any{exitNotFound, exitUnreachable, exitRefused}, more...)...)
}

// exitError ends the program with a status. Without an error there is nothing
// more to say: the command has said it.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit status " + strconv.Itoa(e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// silent ends the program with a status and no message.
func silent(status int) error { return &exitError{status: status} }

// usageErrorf is a mistake in the arguments.
func usageErrorf(format string, args ...any) error {
	return &exitError{status: exitUsage, err: workflow.Errorf(workflow.CodeInvalid, format, args...)}
}

// failedErrorf says that what the user asked for was tried and did not work.
func failedErrorf(format string, args ...any) error {
	return &exitError{status: exitFailed, err: workflow.Errorf(workflow.CodeConflict, format, args...)}
}

// exitStatus maps an error to the status with which the program ends.
func exitStatus(err error) int {
	var (
		exit    *exitError
		refusal *client.APIError
		invalid spec.Errors
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.status
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &invalid):
		return exitInvalidSpec
	case errors.As(err, &refusal) && refusal.Detail.Error == api.KindUnfit:
		return exitInvalidSpec
	case errors.As(err, &refusal):
		return httpExitStatus(refusal.Status)
	case client.IsUnreachable(err):
		return exitUnreachable
	}
	switch workflow.CodeOf(err) {
	case workflow.CodeInvalid:
		return exitUsage
	case workflow.CodeNotFound:
		return exitNotFound
	case workflow.CodeConflict, workflow.CodeForbidden, workflow.CodeUnsupported:
		return exitRefused
	case workflow.CodeUnavailable:
		return exitUnreachable
	}
	return exitFailed
}

func httpExitStatus(status int) int {
	switch {
	case status == http.StatusNotFound:
		return exitNotFound
	case status == http.StatusBadRequest:
		return exitUsage
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return exitUnreachable
	case status < http.StatusInternalServerError:
		return exitRefused
	}
	return exitFailed
}
