package main

import (
	"encoding/csv"
	"strings"
	"testing"
)

// What others have named is no formula of a spreadsheet, and steers nothing.
func TestCSVCells(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                  "plain",
		"two\nlines":             "two\nlines",
		`=HYPERLINK("http://a")`: `'=HYPERLINK("http://a")`,
		"+cmd|' /C calc'!A0":     "'+cmd|' /C calc'!A0",
		"-2+3+cmd":               "'-2+3+cmd",
		"@SUM(A1)":               "'@SUM(A1)",
		"\t=1":                   `'\t=1`,
		"\r=1":                   `'\r=1`,
		"\n=1":                   "'\n=1",
		"＝1+1":                   "'＝1+1",
		"-":                      "-",
		"-5":                     "-5",
		"+1.25":                  "+1.25",
		"-1e-9":                  "-1e-9",
		"-1-1":                   "'-1-1",
		"-1\n":                   "'-1\n",
		"-0x10":                  "'-0x10",
		"a\tb\x1b[31m\u009b":     `a\tb\x1b[31m\u009b`,
	} {
		var b strings.Builder
		a := &app{Environment: Environment{Stdout: &b}, format: formatCSV}
		items := list[string]{columns: []column[string]{{title: "Name", cell: func(s string) string { return s }}}}
		if err := showList(a, items, []string{text}); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil || len(rows) != 2 || rows[1][0] != want {
			t.Errorf("%q becomes %q (%v), want %q", text, rows, err, want)
		}
	}
}

// Errors, notes and messages have names of others in them.
func TestMessagesDoNotSteerTheTerminal(t *testing.T) {
	var out, errs strings.Builder
	a := newApp(Environment{
		Args: []string{"torc-slurm"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		StdoutTerminal: true, StderrTerminal: true, Signals: nil, StopSignals: func() {},
	})
	defer a.stopSignals()
	const name = "a\x1b]0;owned\x07\r\u202eb"
	_ = a.showMessage(nil, "Deleted %s", name)
	a.note("there is %s", name)
	a.reportError(usageErrorf("no %s", name))
	const want = `a\x1b]0;owned\x07\r\u202eb` + "\n"
	if out.String() != "Deleted "+want {
		t.Errorf("%q", out.String())
	}
	if errs.String() != "there is "+want+"error: no "+want {
		t.Errorf("%q", errs.String())
	}
}

const drawing = `
name: drawing
jobs:
  - name: draw
    command: |
      printf '10%%\r20%%\n\033]0;owned\007\033[31mred\n'
      printf '\033[2J\n' >&2
`

// Output of jobs reaches a terminal as text with colors; files and pipes, and
// those who ask for it, get all.
func TestLogsOnATerminal(t *testing.T) {
	p := newPerson(t)
	p.write("drawing.yaml", drawing)
	p.run(0, "run", "drawing.yaml")
	const (
		wantOut = "10%\r20%\r\n" + `\x1b]0;owned\x07` + "\x1b[31mred\r\n\x1b[m" // the terminal makes \r\n of \n
		wantErr = `\x1b[2J` + "\r\n"
		raw     = "10%\r20%\n\x1b]0;owned\x07\x1b[31mred\n"
	)
	for _, command := range []string{"show", "follow"} {
		all := p.talk("logs", command, "draw").exits(0)
		if !strings.Contains(all, wantOut) || !strings.Contains(all, wantErr) {
			t.Errorf("logs %s: %q", command, all)
		}
		if all := p.talk("logs", command, "draw", "--stdout", "--raw").exits(0); all != strings.ReplaceAll(raw, "\n", "\r\n") {
			t.Errorf("logs %s --raw: %q", command, all)
		}
		if piped, _ := p.run(0, "logs", command, "draw", "--stdout"); piped != raw {
			t.Errorf("logs %s in a pipe: %q", command, piped)
		}
	}
}
