package spec

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestBadFiles compares what is said about bad files with golden files: all
// errors, then what needs confirmation, then the warnings.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no bad files", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			v, err := Validate(file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if v.Valid && len(v.Warnings) == 0 {
				t.Error("nothing is said about it")
			}
			golden.Compare(t, file+".golden", v.Problems.Render()+warnings(v.Doubts))
			for _, e := range v.Problems { // of the file or of one that it names
				data, err := os.ReadFile(e.File)
				if err != nil {
					t.Fatal(err)
				}
				checkPlaces(t, data, Errors{e})
			}
		})
	}
}

// checkPlaces checks that each error has a place in the text.
func checkPlaces(t *testing.T, text []byte, errs Errors) {
	t.Helper()
	lines := strings.Split(string(text), "\n")
	for _, e := range errs {
		switch {
		case e.Message == "the file is empty" || strings.HasSuffix(e.Message, "more errors are not shown"):
		case e.Line < 1 || e.Line > len(lines):
			t.Errorf("%v: line %d of %d", e, e.Line, len(lines))
		case e.Column < 1 || e.Column > len(lines[e.Line-1])+1:
			t.Errorf("%v: column %d of %d", e, e.Column, len(lines[e.Line-1]))
		}
	}
}

func TestErrorsAreErrorsOfTheDomain(t *testing.T) {
	_, err := Parse("w.yaml", []byte("name: w\njobs: [{name: a, command: x, comand: x}]\n"), Options{})
	if workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("code %s", workflow.CodeOf(err))
	}
	var first *workflow.Error
	if !errors.As(err, &first) || first.Hint == "" || !strings.HasPrefix(first.Message, "w.yaml:2:") {
		t.Errorf("%#v", first)
	}
}

// TestManyWarningsAreCutShort: what is not shown is counted, and what needs
// confirmation is not lost behind warnings that do not.
func TestManyWarningsAreCutShort(t *testing.T) {
	r := newReport(source{name: "w.yaml"})
	for i := range maxErrors + 5 {
		r.warn(nil, "", "warning %d", i)
	}
	r.doubt(nil, "", "is that so?")
	all := r.sortedWarnings()
	if len(all) != maxErrors+2 || !all[maxErrors].NeedsConfirmation || all[maxErrors+1].Message != "5 more warnings are not shown" {
		t.Errorf("%d warnings, then %v", len(all), all[min(maxErrors, len(all)):])
	}
}

func TestManyErrorsAreCutShort(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: w\njobs:\n")
	for range 3 * maxErrors {
		b.WriteString("  - {nam: a}\n")
	}
	_, err := Parse("w.yaml", []byte(b.String()), Options{})
	errs, ok := err.(Errors)
	if !ok || len(errs) != maxErrors+1 {
		t.Fatalf("%d errors", len(errs))
	}
	if last := errs[maxErrors].Message; last != "1600 more errors are not shown" {
		t.Error(last)
	}
}

func TestRenderOfLongAndOddLines(t *testing.T) {
	for name, c := range map[string]struct {
		e    Error
		want string
	}{
		"long": {
			Error{File: "f", Line: 1, Column: 500, Message: "m", Excerpt: strings.Repeat("a", 499) + "XY" + strings.Repeat("b", 500), width: 2},
			"f:1:500: m\n  1 | " + strings.Repeat("a", 50) + "XY" + strings.Repeat("b", 48) + "\n    | " + strings.Repeat(" ", 50) + "^^\n",
		},
		"tab":       {Error{File: "f", Line: 10, Column: 2, Message: "m", Excerpt: "\tx", width: 9}, "f:10:2: m\n  10 | \tx\n     | \t^\n"},
		"control":   {Error{File: "f", Line: 1, Column: 1, Message: "m", Excerpt: "\x1b[31m", width: 1}, "f:1:1: m\n  1 | \uFFFD[31m\n    | ^\n"},
		"wide rune": {Error{File: "f", Line: 1, Column: 3, Message: "m", Excerpt: "äöü", width: 1, Hint: "h"}, "f:1:3: m\n  1 | äöü\n    |   ^\n  = h\n"},
		"no place":  {Error{File: "f", Message: "m", more: 2}, "f: m (and 2 more like this)\n"},
	} {
		if got := c.e.Render(); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", name, got, c.want)
		}
	}
}
