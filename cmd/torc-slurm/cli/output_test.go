package cli

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
		a := &Factory{Environment: Environment{Stdout: &b}, Format: FormatCSV}
		items := List[string]{Columns: []Column[string]{{Title: "Name", Cell: func(s string) string { return s }}}}
		if err := ShowList(a, items, []string{text}); err != nil {
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
	a := New(Environment{
		Args: []string{"torc-slurm"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		StdoutTerminal: true, StderrTerminal: true, Signals: nil, StopSignals: func() {},
	}, nil)
	defer a.StopSignals()
	const name = "a\x1b]0;owned\x07\r\u202eb"
	_ = a.ShowMessage(nil, "Deleted %s", name)
	a.Note("there is %s", name)
	a.reportError(UsageErrorf("no %s", name))
	const want = `a\x1b]0;owned\x07\r\u202eb` + "\n"
	if out.String() != "Deleted "+want {
		t.Errorf("%q", out.String())
	}
	if errs.String() != "there is "+want+"error: no "+want {
		t.Errorf("%q", errs.String())
	}
}
