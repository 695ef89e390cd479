package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// factoryFor is a factory whose streams are texts.
func factoryFor(t *testing.T, stdin, format string) (a *Factory, stdout, stderr *strings.Builder) {
	t.Helper()
	stdout, stderr = &strings.Builder{}, &strings.Builder{}
	a = New(Environment{
		Args: []string{"torc-slurm"}, Dir: t.TempDir(), Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: stderr, StopSignals: func() {},
	}, nil)
	a.Format = format
	t.Cleanup(a.StopSignals)
	return a, stdout, stderr
}

func TestConfirm(t *testing.T) {
	for _, tt := range []struct {
		name      string
		stdin     string
		format    string
		terminal  bool
		noPrompts bool
		want      bool
		status    int
		stderr    string
	}{
		{name: "y", stdin: "y\n", terminal: true, want: true, stderr: "Delete it? [y/N] "},
		{name: "YES and blanks", stdin: "  YES \n", terminal: true, want: true, stderr: "Delete it? [y/N] "},
		{name: "no newline", stdin: "y", terminal: true, want: true, stderr: "Delete it? [y/N] "},
		{name: "n", stdin: "n\n", terminal: true, stderr: "Delete it? [y/N] Nothing was done.\n"},
		{name: "enter", stdin: "\n", terminal: true, stderr: "Delete it? [y/N] Nothing was done.\n"},
		{name: "Ctrl-D", terminal: true, stderr: "Delete it? [y/N] \nNothing was done.\n"},
		{name: "nobody to ask", status: ExitUsage, stderr: "Delete it? [y/N] \n"},
		{name: "an answer from a pipe", stdin: "y\n", want: true, stderr: "Delete it? [y/N] "},
		{name: "no prompts", noPrompts: true, want: true},
		{name: "JSON", format: FormatJSON, want: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _, stderr := factoryFor(t, tt.stdin, FirstOf(tt.format, FormatTable))
			a.StdinTerminal = tt.terminal
			got, err := a.Confirm(tt.noPrompts, "Delete it?")
			if got != tt.want || ExitStatus(err) != tt.status {
				t.Errorf("%v, %v; want %v with status %d", got, err, tt.want, tt.status)
			}
			if stderr.String() != tt.stderr {
				t.Errorf("wrote %q, want %q", stderr, tt.stderr)
			}
		})
	}
}

func TestAskEnds(t *testing.T) {
	a, _, _ := factoryFor(t, "", FormatTable)
	if answer, err := a.Ask("Name: "); answer != "" || !errors.Is(err, io.EOF) {
		t.Errorf("without input: %q, %v", answer, err)
	}
	a, _, stderr := factoryFor(t, "an answer\n", FormatTable)
	a.Interrupts.cancel(ErrInterrupted)
	if answer, err := a.Ask("Name: "); answer != "" || !errors.Is(err, ErrInterrupted) {
		t.Errorf("after Ctrl-C: %q, %v", answer, err)
	}
	if stderr.String() != "Name: \n" {
		t.Errorf("after Ctrl-C the line is %q", stderr)
	}
}
