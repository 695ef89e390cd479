package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/terminal"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// app is one invocation of the program: what all its commands share.
type app struct {
	Environment
	flags   globalFlags
	config  *Config
	format  string // table, json, csv
	log     *slog.Logger
	signals *signals

	// running says that the arguments have been understood: an error before is
	// one of usage.
	running bool
	// connected is the way to the server, once a command has asked for it.
	connected     *connection
	dotEnvRefusal error // why a file .env stands in the way of a server; nil if it does not
	// slurm is the way to Slurm, likewise.
	slurm *slurm.Client

	// stdout and stderr are the outputs themselves. Stdout and Stderr, which nearly
	// everything writes to, let nothing through that steers a terminal.
	stdout, stderr io.Writer
}

func newApp(env Environment) *app {
	a := &app{Environment: env, format: formatTable, log: slog.New(slog.DiscardHandler), stdout: env.Stdout, stderr: env.Stderr}
	if a.StdoutTerminal {
		a.Stdout = terminal.NewWriter(a.stdout, terminal.Messages)
	}
	if a.StderrTerminal {
		a.Stderr = terminal.NewWriter(a.stderr, terminal.Messages)
	}
	a.signals = startSignals(env.Signals)
	return a
}

// execute runs the command that the arguments name.
func (a *app) execute() error {
	if err := a.checkName(); err != nil {
		return err
	}
	root := newRoot(a)
	a.wrap(root)
	root.SetArgs(a.arguments())
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(a.signals.context())
	switch {
	case err == nil:
		return nil
	case !a.running:
		var exit *exitError
		if !errors.As(err, &exit) && workflow.CodeOf(err) == workflow.CodeInternal {
			err = &exitError{status: exitUsage, err: err}
		}
	case errors.Is(context.Cause(a.signals.context()), errInterrupted):
		return &exitError{status: exitInterrupted, err: errInterrupted}
	}
	return err
}

// wrap notes when a command begins to run; cobra does not tell its own errors
// from those of commands. A wrong number of arguments is told with the usage.
func (a *app) wrap(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil || exitStatus(err) == exitUsage {
				return err
			}
			return usageErrorf("%v; usage: %s", err, c.UseLine())
		}
	}
	if inner := c.RunE; inner != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.running = true
			return inner(c, args)
		}
	}
	for _, sub := range c.Commands() {
		a.wrap(sub)
	}
}

// close gives back what the commands have opened.
func (a *app) close() error {
	if a.connected == nil {
		return nil
	}
	return a.connected.close()
}

func (a *app) stopSignals() {
	a.StopSignals()
	a.signals.stop()
}

// reportError tells the user what went wrong.
func (a *app) reportError(err error) {
	var exit *exitError
	if err == nil || errors.As(err, &exit) && exit.err == nil {
		return
	}
	var invalid spec.Errors
	if a.format == formatJSON {
		a.reportErrorJSON(err)
		return
	}
	if errors.As(err, &invalid) {
		fmt.Fprintln(a.Stderr, strings.TrimRight(invalid.Render(), "\n"))
		return
	}
	message, hint := errorText(err)
	fmt.Fprintf(a.Stderr, "error: %s\n", message)
	if hint != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", hint)
	}
}

// reportErrorJSON writes what went wrong as an object, on standard error.
func (a *app) reportErrorJSON(err error) {
	message, hint := errorText(err)
	object := struct {
		Status     string      `json:"status"`
		Message    string      `json:"message"`
		Hint       string      `json:"hint,omitempty"`
		ExitStatus int         `json:"exit_status"`
		Errors     spec.Errors `json:"errors,omitempty"`
	}{Status: "error", Message: message, Hint: hint, ExitStatus: exitStatus(err)}
	errors.As(err, &object.Errors)
	text, _ := json.MarshalIndent(object, "", "  ") // strings and numbers
	fmt.Fprintln(a.Stderr, string(text))
}

// errorText separates what went wrong from what to do about it.
func errorText(err error) (message, hint string) {
	var refusal *client.APIError
	if errors.As(err, &refusal) {
		message = strings.ReplaceAll(err.Error(), refusal.Error(), refusal.Message)
		hint = refusal.Detail.Hint
		if refusal.Status == http.StatusUnauthorized {
			hint = firstOf(hint, "the server wants another password: --password, --prompt-password or TORC_PASSWORD; with `serve --token-file` it is what is in that file")
		}
		return message, hint
	}
	var known *workflow.Error
	if errors.As(err, &known) && known.Hint != "" {
		return strings.ReplaceAll(err.Error(), known.Error(), known.Message), known.Hint
	}
	if client.IsUnreachable(err) {
		return err.Error(), "is the server running? `torc-slurm ping` checks; without --url and TORC_API_URL your own daemon is used"
	}
	return err.Error(), ""
}

// logTo makes a logger for people: one line per record.
func logTo(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
