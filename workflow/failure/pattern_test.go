package failure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestLook: all that a category asks for must hold, and the first one counts.
func TestLook(t *testing.T) {
	seven, zero := int64(7), int64(0)
	categories := []workflow.FailureCategory{
		{Category: "gpu", Subcategory: "xid", When: workflow.CategoryMatch{Stderr: `NVRM: Xid \d+`}, Hint: "look at dmesg"},
		{Category: "gpu", When: workflow.CategoryMatch{Stderr: "(?i)cuda", ExitCode: &workflow.ExitCodeMatch{In: []int64{7, 137}}}},
		{Category: "quota", When: workflow.CategoryMatch{TerminationMessage: "quota"}},
		{Category: "killed", When: workflow.CategoryMatch{Signal: []int64{9}}},
		{Category: "memory", When: workflow.CategoryMatch{Errno: []int64{12}}},
		{Category: "other", When: workflow.CategoryMatch{ExitCode: &workflow.ExitCodeMatch{NotIn: []int64{1}}}},
	}
	d, err := NewPatterns(categories, []workflow.RetryPolicy{{Rules: []workflow.RetryRule{{When: workflow.RuleMatch{Stderr: "stale"}}, {When: workflow.RuleMatch{Stderr: "stale"}}, {When: workflow.RuleMatch{Stderr: "Xid"}}}}}).Detector()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		e      workflow.Evidence
		stderr string
		want   string
	}{
		{"the first wins", workflow.Evidence{ExitCode: &seven}, "CUDA\nNVRM: Xid 79, off the bus\nend", "gpu/xid by NVRM: Xid 79, off the bus, patterns [Xid]"},
		{"all must hold", workflow.Evidence{ExitCode: &seven}, "a cuda error", "gpu/ by a cuda error, patterns []"},
		{"not all hold", workflow.Evidence{ExitCode: &zero}, "a cuda error", "/ by , patterns []"},
		{"a signal as an exit code", workflow.Evidence{Signal: 9}, "cuda", "gpu/ by cuda, patterns []"},
		{"a message", workflow.Evidence{ExitCode: &seven, TerminationMessage: "no\nquota left"}, "", "quota/ by quota left, patterns []"},
		{"a signal", workflow.Evidence{Signal: 9}, "", "killed/ by , patterns []"},
		{"a failed launch", workflow.Evidence{SpawnErrno: 12}, "", "memory/ by , patterns []"},
		{"codes", workflow.Evidence{ExitCode: &seven}, "stale", "other/ by , patterns [stale]"},
		{"nothing known", workflow.Evidence{}, "", "/ by , patterns []"},
	} {
		d.Match(&tc.e, tc.stderr)
		if got := fmt.Sprintf("%s/%s by %s, patterns %v", tc.e.Category, tc.e.Subcategory, tc.e.CategoryLine, tc.e.StderrMatches); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if s := NewPatterns(nil, nil); s.Hash != "" {
		t.Errorf("nothing to look for has the hash %q", s.Hash)
	}
}

// TestTooManyPatterns: what is not looked for is counted.
func TestTooManyPatterns(t *testing.T) {
	var p workflow.RetryPolicy
	for i := range MaxStderrPatterns + 2 {
		p.Rules = append(p.Rules, workflow.RetryRule{When: workflow.RuleMatch{Stderr: fmt.Sprint("e", i)}})
	}
	if s := NewPatterns(nil, []workflow.RetryPolicy{p, p}); len(s.Stderr) != MaxStderrPatterns || s.Left != 2 {
		t.Errorf("%d patterns are looked for, %d are not", len(s.Stderr), s.Left)
	}
}

// TestFirstCategoryWins: the category is that of the first one that would match
// alone.
func TestFirstCategoryWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []workflow.FailureCategory
		for i := range rapid.IntRange(0, 6).Draw(t, "categories") {
			all = append(all, workflow.FailureCategory{Category: fmt.Sprint("c", i), When: workflow.CategoryMatch{Stderr: rapid.StringMatching(`[ab]{1,3}`).Draw(t, "pattern")}})
		}
		text := rapid.StringMatching(`[abc\n]{0,8}`).Draw(t, "text")
		d, err := NewPatterns(all, nil).Detector()
		if err != nil {
			t.Fatal(err)
		}
		var e workflow.Evidence
		d.Match(&e, text)
		want := ""
		if i := slices.IndexFunc(all, func(c workflow.FailureCategory) bool { return strings.Contains(text, c.When.Stderr) }); i >= 0 {
			want = all[i].Category
		}
		if e.Category != want || want != "" && !strings.Contains(text, e.CategoryLine) {
			t.Fatalf("%q by %q in %q, want %q", e.Category, e.CategoryLine, text, want)
		}
	})
}

// TestBadFailurePolicies: what is wrong is named with its place.
func TestBadFailurePolicies(t *testing.T) {
	gpu := []workflow.FailureCategory{{Category: "gpu", When: workflow.CategoryMatch{Stderr: "Xid"}}}
	number := func(n int64) *int64 { return &n }
	for _, tc := range []struct {
		p    workflow.RunPolicy
		want string
	}{
		{workflow.RunPolicy{FailureCategories: []workflow.FailureCategory{{Category: "g p u", When: workflow.CategoryMatch{Stderr: "x"}}}}, `failure_categories[0].category: invalid name "g p u" of a category`},
		{workflow.RunPolicy{FailureCategories: []workflow.FailureCategory{{Category: "gpu"}}}, "failure_categories[0].when: no condition is given: every failure would be of this category"},
		{workflow.RunPolicy{FailureCategories: []workflow.FailureCategory{{Category: "gpu", When: workflow.CategoryMatch{Stderr: "("}}}}, "failure_categories[0].when.stderr: error parsing regexp: missing closing ): `(`"},
		{workflow.RunPolicy{FailureCategories: []workflow.FailureCategory{{Category: "gpu", When: workflow.CategoryMatch{Errno: []int64{0}}}}}, "failure_categories[0].when.errno[0]: unknown error number 0"},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerNode, Cause: []workflow.CauseKind{workflow.CausePreempted}, Threshold: 1, Within: "1h", Action: workflow.BreakerExcludeNode}}}, "circuit_breakers[0].cause: no failure would be counted: preempted attempts never count"},
		{workflow.RunPolicy{Notify: &workflow.NotifyPolicy{On: []workflow.AlertKind{}, Mail: "ann"}}, "notify.on: an empty list"},
		{workflow.RunPolicy{MaxFailures: number(0)}, "max_failures: invalid number of failed jobs: 0"},
		{workflow.RunPolicy{MaxFailures: number(-1)}, "max_failures: invalid number of failed jobs: -1"},
		{workflow.RunPolicy{MaxFailures: number(1 << 40)}, "max_failures: invalid number of failed jobs: 1099511627776"},
		{workflow.RunPolicy{FailureCategories: gpu, CancelSiblingsOn: []workflow.SiblingRule{{Category: "cpu"}}}, `cancel_siblings_on[0].category: unknown category "cpu"`},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerNode, Category: "gpu", Threshold: 1, Within: "1h", Action: workflow.BreakerExcludeNode}}}, `circuit_breakers[0].category: unknown category "gpu"`},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerNode, Threshold: 0, Within: "1h", Action: workflow.BreakerExcludeNode}}}, "circuit_breakers[0].threshold: invalid number of failures: 0"},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerNode, Threshold: 1, Action: workflow.BreakerExcludeNode}}}, "circuit_breakers[0].within: the time is missing"},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerNode, Threshold: 1, Within: "0s", Action: workflow.BreakerExcludeNode}}}, `circuit_breakers[0].within: "0s" is shorter than a second`},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerExcludeNode}}}, "circuit_breakers[0].action: exclude_node needs failures that are counted per node"},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerHold}}}, "circuit_breakers[0].action: hold would hold every failure of the workflow"},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerWorkflow, Threshold: 1, Within: "1h", Action: workflow.BreakerPause}, {Per: workflow.PerWorkflow, Threshold: 2, Within: "1h", Action: workflow.BreakerPause}}}, "circuit_breakers[1]: duplicate circuit breaker workflow-pause"},
		{workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{{Per: workflow.PerCategory, Threshold: 1, Within: "1h", Action: workflow.BreakerHold}}}, "circuit_breakers[0].per: no failure would be counted: the workflow has no failure_categories"},
	} {
		found := tc.p.Validate()
		if len(found) != 1 || found[0].Path+": "+found[0].Message != tc.want || found[0].Hint == "" && !strings.Contains(tc.want, "regexp") {
			t.Errorf("found %+v, want %s", found, tc.want)
		}
	}
}
