package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestNormalizeLabels(t *testing.T) {
	given := []string{"gpu", "big", "gpu"}
	got, err := NormalizeLabels(given)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"big", "gpu"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"gpu", "big", "gpu"}, given); diff != "" {
		t.Errorf("what was given is changed:\n%s", diff)
	}
	if got, err := NormalizeLabels([]string{}); got != nil || err != nil {
		t.Errorf("no labels: %v, %v", got, err)
	}
	for _, bad := range []string{"", " ", " a", "a\t", "a,b"} {
		if _, err := NormalizeLabels([]string{"ok", bad}); CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), "invalid label") {
			t.Errorf("label %q: %v", bad, err)
		}
	}
}

func TestParseLabels(t *testing.T) {
	tests := map[string][]string{"": nil, ",,": nil, "b,a,,b": {"a", "b"}}
	for joined, want := range tests {
		got, err := ParseLabels(joined)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", joined, err, diff)
		}
	}
	if _, err := ParseLabels("a, b"); CodeOf(err) != CodeInvalid {
		t.Errorf("space before a label: %v", err)
	}
	if got := JoinLabels([]string{"a", "b"}); got != "a,b" {
		t.Errorf("joined %q", got)
	}
}

// The rule, said naively: both without labels, or both with some and the job's
// all among the runner's.
func TestLabelsMatch(t *testing.T) {
	set := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.ID)
	rapid.Check(t, func(t *rapid.T) {
		job, err1 := NormalizeLabels(set.Draw(t, "job"))
		runner, err2 := NormalizeLabels(set.Draw(t, "runner"))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		has := map[string]bool{}
		for _, l := range runner {
			has[l] = true
		}
		want := (len(job) > 0) == (len(runner) > 0)
		for _, l := range job {
			want = want && has[l]
		}
		if got := LabelsMatch(job, runner); got != want {
			t.Fatalf("job %v, runner %v: %v", job, runner, got)
		}
	})
}

func TestValidateEnv(t *testing.T) {
	if err := ValidateEnv(map[string]string{"A": "", "_b9": "x\ny", "PATH": "/bin"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"", "9a", "a-b", "a b", "ä", "A=B"} {
		err := ValidateEnv(map[string]string{"OK": "1", name: "x"})
		if CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if err := ValidateEnv(map[string]string{"A": "x\x00y"}); CodeOf(err) != CodeInvalid {
		t.Errorf("zero byte: %v", err)
	}
}

func TestMergeEnv(t *testing.T) {
	workflow := map[string]string{"A": "1", "B": "2"}
	got := MergeEnv(workflow, map[string]string{"B": "3"})
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "3"}, got); diff != "" {
		t.Error(diff)
	}
	if workflow["B"] != "2" {
		t.Error("the workflow's environment is changed")
	}
	if got := MergeEnv(nil, map[string]string{}); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
