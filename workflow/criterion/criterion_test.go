package criterion

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// run is the numbers of a run, by name or "function argument".
type run map[string]float64

func (r run) Number(name string) float64             { return r[name] }
func (r run) Call(function, argument string) float64 { return r[function+" "+argument] }

func TestEval(t *testing.T) {
	values := run{Total: 20, Completed: 19, Failed: 1, Retried: 4, "failed_in critical_*": 0, "total_in none": 0, "attempts_by oom": 3}
	for text, want := range map[string]bool{
		"completed >= 0.95 * total && failed_in(\"critical_*\") == 0": true,
		"completed > 0.95 * total":                                    false,
		"completed == total || failed <= 1":                           true,
		"!(failed > 0)":                                               false,
		"!!(failed > 0)":                                              true,
		"total - completed - failed == 0":                             true,
		"total - (completed - failed) == 2":                           true,
		"completed + failed * 2 == 21":                                true,
		"-failed < 0":                                                 true,
		"completed / total >= .95":                                    true,
		"failed / total_in(\"none\") >= 0":                            false,
		"failed / total_in(\"none\") != 0":                            true,
		"attempts_by(\"oom\") < retried":                              true,
		"true && false || true":                                       true,
		"true || false && false":                                      true,
		"(completed) >= ((19))":                                       true,
	} {
		e, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if e.Eval(values) != want {
			t.Errorf("%s: %v", text, !want)
		}
		if e.Text() != text {
			t.Errorf("the text of %q is %q", text, e.Text())
		}
	}
}

// The place is the part of the text that the error is about.
func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct{ text, at, message string }{
		{"", "", "the condition is incomplete"},
		{"completed", "completed", "this is a number, not a condition"},
		{"complete > 1", "complete", `unknown name "complete"`},
		{"completed > 1 and failed == 0", "and", "unexpected and"},
		{"completed = 1", "=", "unexpected ="},
		{"completed >", "", "the condition is incomplete"},
		{"(completed > 1", "", "a ) is missing"},
		{"completed > 1)", ")", "unexpected )"},
		{"1 < failed < 3", "<", "comparisons cannot be chained"},
		{"completed && failed > 1", "completed", "this is a number, but && joins conditions"},
		{"failed > 1 || completed", "completed", "this is a number, but || joins conditions"},
		{"(failed > 1) + 1 > 2", "(", "this is a condition, but + joins numbers"},
		{"1 * (failed > 1) > 2", "(", "this is a condition, but * joins numbers"},
		{"(failed > 1) == 1", "(", "this is a condition, but == compares numbers"},
		{"1 == true", "true", "this is a condition, but == compares numbers"},
		{"!failed > 1", "!", "! applies to conditions, but this is a number"},
		{"-true", "-", "- applies to numbers, but this is a condition"},
		{"failed / 0 > 1", "0", "this divides by 0"},
		{"lost_in(\"a\") > 1", "lost_in", `unknown function "lost_in"`},
		{"failed_in > 1", "failed_in", "failed_in is a function"},
		{"failed_in(a) > 1", "a", "failed_in takes one text in double quotes"},
		{"failed_in(\"a) > 1", "\"a) > 1", "the closing quote is missing"},
		{"failed_in(\"a\", 1) > 1", ",", "unexpected ,"},
		{"1.2.3 > failed", "1.2.3", "1.2.3 is not a number"},
		{"failed > 1 # none", "#", "unexpected #"},
		{strings.Repeat("(", 200) + "true", "(", "this is nested too deeply"},
		{strings.Repeat(" ", MaxLength) + "true", "true", "the condition is longer than 2000 bytes"},
	} {
		_, err := Compile(tt.text)
		wrong, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		end := min(len(tt.text), wrong.Offset+wrong.Length)
		if at := tt.text[wrong.Offset:end]; wrong.Message != tt.message || at != tt.at {
			t.Errorf("%q: %q at %q", tt.text, wrong.Message, at)
		}
	}
}

func TestCalls(t *testing.T) {
	const text = `failed_in("a b") == 0 && attempts_by("oom") < 3`
	e, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"a b"`, `"oom"`} {
		c := e.Calls()[i]
		if got := text[c.Offset : c.Offset+c.Length]; got != want || c.IsPattern() != (i == 0) {
			t.Errorf("call %d: %s %+v", i, got, c)
		}
	}
}

func TestDecide(t *testing.T) {
	const jobs = 10
	for text, want := range map[string]string{
		"completed > total":                            "never",
		"completed + failed > total":                   "never",
		"completed == total && failed > 0":             "",
		"completed >= 0.95 * total":                    "",
		"completed > 1.2 * total":                      "never",
		"failed < 0":                                   "never",
		"failed >= 0":                                  "always",
		"terminated > failed":                          "never",
		"terminated <= failed":                         "always",
		"total < 10":                                   "never",
		"total >= 10":                                  "always",
		"completed <= 3":                               "",
		"failed_in(\"a\") < 0":                         "never",
		"failed_in(\"a\") > total_in(\"a\")":           "",
		"not_run > 0":                                  "never",
		"1 > 2":                                        "never",
		"!(1 > 2)":                                     "always",
		"false || completed > total":                   "never",
		"completed != total + 1":                       "always",
		"completed == total + 1":                       "never",
		"completed * failed < 0":                       "", // not linear
		"completed / total > 2":                        "",
		"completed - completed == 0":                   "always",
		"(completed - failed) / 2 > total":             "never",
		"retried >= 0 && failed_in(\"x\") * 2 >= 0":    "always",
		"-retried > 0":                                 "never",
		"failed_in(\"x\") - failed_in(\"x\") == 0":     "always",
		"completed + canceled + failed + disabled < 9": "never",
	} {
		e, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		switch always, never := e.Decide(jobs); {
		case always && never:
			got = "both"
		case always:
			got = "always"
		case never:
			got = "never"
		}
		if got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// conditions are made of these.
func drawNumber(t *rapid.T, depth int) string {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		return rapid.SampledFrom([]string{Total, Completed, Failed, Terminated, Canceled, Disabled, Retried, "2", "0.5", "7", `failed_in("x")`}).Draw(t, "number")
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "op")
	return "(" + drawNumber(t, depth-1) + " " + op + " " + drawNumber(t, depth-1) + ")"
}

func drawCondition(t *rapid.T, depth int) string {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		op := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "compare")
		return drawNumber(t, 2) + " " + op + " " + drawNumber(t, 2)
	}
	op := rapid.SampledFrom([]string{"&&", "||"}).Draw(t, "join")
	text := "(" + drawCondition(t, depth-1) + ") " + op + " (" + drawCondition(t, depth-1) + ")"
	if rapid.Bool().Draw(t, "not") {
		text = "!(" + text + ")"
	}
	return text
}

// What is said to be always or never so is so for every run.
func TestDecideIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, err := Compile(drawCondition(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		part := func(name string) float64 { return float64(rapid.IntRange(0, 4).Draw(t, name)) }
		r := run{Completed: part("c"), Terminated: part("t"), Canceled: part("x"), Disabled: part("d"), Retried: part("r"), "failed_in x": part("f")}
		r[Failed] = r[Terminated] + part("failed")
		r[Total] = r[Completed] + r[Failed] + r[Canceled] + r[Disabled]
		always, never := e.Decide(rapid.Int64Range(0, int64(r[Total])).Draw(t, "jobs"))
		if holds := e.Eval(r); always && !holds || never && holds {
			t.Fatalf("%s: always %v, never %v, but %v for %v", e.Text(), always, never, holds, r)
		}
	})
}

// A text never makes the compiler panic, and an error is always in it.
func FuzzCompile(f *testing.F) {
	f.Add(`completed >= 0.95 * total && failed_in("critical") == 0`)
	f.Add(`!(-1 < retried / 2) || é("`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Compile(text)
		if wrong, ok := errors.AsType[*Error](err); ok {
			if wrong.Offset < 0 || wrong.Offset > len(text) || wrong.Length < 1 {
				t.Errorf("%q: %+v", text, wrong)
			}
			return
		}
		e.Eval(run{})
	})
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"train", "train", true}, {"train", "train_1", false}, {"train_*", "train_1", true}, {"*", "", true}, {"", "", true}, {"", "a", false},
		{"a*b*c", "a.b.b.c", true}, {"a*b*c", "a.c.b", false}, {"?", "é", true}, {"a?", "a", false}, {"*x", "axbx", true}, {"[a]", "[a]", true}, {"**a", "a", true},
	} {
		if Match(tt.pattern, tt.name) != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.name, !tt.want)
		}
	}
}
