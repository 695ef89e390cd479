package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/internal/terminal"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/spec"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Factory is an invocation of the program: what its commands share.
type Factory struct {
	Environment
	Flags      GlobalFlags
	Config     *Config
	Format     string // table, json, csv
	Log        *slog.Logger
	Interrupts *signals

	// running is set when a command begins to run: an error before that is a usage
	// error.
	running bool
	// dial connects to the server: the one that was named, one within this process, or
	// the user's own, which it starts if start is true and it does not run.
	dial func(ctx context.Context, a *Factory, start bool) (*Connection, error)
	// connected is the connection to the server; nil until a command needs it.
	connected     *Connection
	DotEnvRefusal error // why a file .env prevents a server's start; nil if it does not
	// slurm is the client of Slurm; nil until a command needs it.
	slurm *slurm.Client

	// RawStdout and RawStderr are the unfiltered outputs. Stdout and Stderr, which nearly
	// all output goes to, escape control characters if they are terminals.
	RawStdout, RawStderr io.Writer
}

// New returns an invocation that connects to its server with dial.
func New(env Environment, dial func(ctx context.Context, a *Factory, start bool) (*Connection, error)) *Factory {
	a := &Factory{Environment: env, dial: dial, Format: FormatTable, Log: slog.New(slog.DiscardHandler), RawStdout: env.Stdout, RawStderr: env.Stderr}
	if a.StdoutTerminal {
		a.Stdout = terminal.NewWriter(a.RawStdout, terminal.Messages)
	}
	if a.StderrTerminal {
		a.Stderr = terminal.NewWriter(a.RawStderr, terminal.Messages)
	}
	a.Interrupts = startSignals(env.Signals)
	return a
}

// close closes the connection to the server, if there is one.
func (a *Factory) close() error {
	if a.connected == nil {
		return nil
	}
	return a.connected.Disconnect()
}

// StopSignals ends the delivery of signals to the program.
func (a *Factory) StopSignals() {
	a.Environment.StopSignals()
	a.Interrupts.stop()
}

// reportError writes err to the standard error: as JSON or as text, with its hint.
func (a *Factory) reportError(err error) {
	var exit *ExitError
	if err == nil || errors.As(err, &exit) && exit.Err == nil {
		return
	}
	var invalid spec.Errors
	if a.Format == FormatJSON {
		a.reportErrorJSON(err)
		return
	}
	if errors.As(err, &invalid) {
		fmt.Fprintln(a.Stderr, strings.TrimRight(invalid.Render(), "\n"))
		return
	}
	message, hint := ErrorText(err)
	fmt.Fprintf(a.Stderr, "error: %s\n", message)
	if hint != "" {
		fmt.Fprintf(a.Stderr, "hint: %s\n", hint)
	}
}

// reportErrorJSON writes err as a JSON object on standard error.
func (a *Factory) reportErrorJSON(err error) {
	message, hint := ErrorText(err)
	object := struct {
		Status     string      `json:"status"`
		Message    string      `json:"message"`
		Hint       string      `json:"hint,omitempty"`
		ExitStatus int         `json:"exit_status"`
		Errors     spec.Errors `json:"errors,omitempty"`
	}{Status: "error", Message: message, Hint: hint, ExitStatus: ExitStatus(err)}
	errors.As(err, &object.Errors)
	enc := json.NewEncoder(a.Stderr)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(object) // strings and numbers
}

// ErrorText returns the message of an error, and its hint; empty if it has none.
func ErrorText(err error) (message, hint string) {
	var refusal *client.APIError
	if errors.As(err, &refusal) {
		message = strings.ReplaceAll(err.Error(), refusal.Error(), refusal.Message)
		hint = refusal.Detail.Hint
		if refusal.Status == http.StatusUnauthorized {
			hint = FirstOf(hint, "the server rejected the password: --password, --prompt-password or TORC_PASSWORD; with `serve --token-file` it is the content of that file")
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

// WithPrefix adds the user's global flags to the commands in the hint of a server's error,
// since the daemon does not know them.
func WithPrefix(a *Factory, err error) error {
	var refusal *client.APIError
	if errors.As(err, &refusal) {
		refusal.Detail.Hint = HintWithPrefix(a, refusal.Detail.Hint)
	}
	return err
}

// HintWithPrefix adds the user's global flags to the commands in a hint of the server.
func HintWithPrefix(a *Factory, hint string) string {
	return strings.ReplaceAll(hint, "`torc-slurm ", "`"+Prefix(a)+" ")
}

// LogTo returns a logger that writes a line of text per record.
func LogTo(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
