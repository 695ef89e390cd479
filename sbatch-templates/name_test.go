package sbatchtemplates

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestJobName(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"sweep", "torc:sweep.12.r1.0123abcd"},
		{"My sweep #3: \"big\"", "torc:My-sweep-3-big.12.r1.0123abcd"},
		{"épidémie", "torc:pid-mie.12.r1.0123abcd"},
		{"$(rm -rf /)", "torc:rm-rf.12.r1.0123abcd"},
		{"漢字", "torc:workflow.12.r1.0123abcd"},
		{"a_very_long_name_that_goes_on_and_on_and_on_and_on_and_on", "torc:a_very_long_name_that_goes_on_and_on_and_on_.12.r1.0123abcd"},
	} {
		if got := JobName(tc.name, 12, 1, "0123abcd89ef0123"); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestJobNameIsRead: every name fits, is valid, and can be parsed again.
func TestJobNameIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(1, math.MaxInt64/100).Draw(t, "workflow")
		run := rapid.Int64Range(0, math.MaxInt64/100).Draw(t, "run")
		intent := rapid.StringMatching(`[0-9a-f]{16}`).Draw(t, "intent")
		name := JobName(rapid.String().Draw(t, "name"), id, run, intent)
		if _, err := (&Request{JobName: name}).jobName(); err != nil {
			t.Fatal(err)
		}
		got, ok := ParseJobName(name)
		got.Slug = ""
		if diff := cmp.Diff(Name{WorkflowID: id, RunID: run, Intent: intent[:8]}, got); diff != "" || !ok {
			t.Fatalf("%s: %t\n%s", name, ok, diff)
		}
	})
	for _, text := range []string{"", "bash", "torc:a.1.r1.", "torc:a.1.1.0123abcd", "xtorc:a.1.r1.0123abcd"} {
		if got, ok := ParseJobName(text); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
