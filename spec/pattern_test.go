package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// rulesWithPatterns are retry policies of one rule for each pattern.
func rulesWithPatterns(first, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\n      - {id: r%d, when: {stderr: 'e%d$'}, action: retry}", i, first+i)
	}
	return "\n  - name: p" + fmt.Sprint(first) + "\n    rules:" + b.String() + "\n"
}

// More patterns than are looked for are an error at the first that is too many,
// wherever they are written; the same pattern counts once.
func TestPatternsOfRules(t *testing.T) {
	child := "name: c\nretry_policies:" + rulesWithPatterns(400, 101) + "jobs: [{name: x, command: b}]\n"
	opts := Options{ReadFile: func(string) ([]byte, error) { return []byte(child), nil }}
	const jobs = "jobs: [{name: a, command: b}]\n"
	for _, tc := range []struct{ name, text, want string }{
		{"as many as there may be", "retry_policies:" + rulesWithPatterns(0, 500) + jobs, ""},
		{"the same ones", "retry_policies:" + rulesWithPatterns(0, 500) + strings.Replace(rulesWithPatterns(1, 400), "p1", "q", 1) + jobs, ""},
		{"one too many", "retry_policies:" + rulesWithPatterns(0, 501) + jobs, "w.yaml:505:35: retry_policies[0].rules[500].when.stderr: "},
		{"in a sub-workflow", "retry_policies:" + rulesWithPatterns(0, 400) + "jobs: [{name: a, workflow: c.yaml}]\n", "w.yaml:405:28: jobs[0].workflow: "},
		{"in a compensation", "retry_policies:" + rulesWithPatterns(0, 400) + jobs + "on_failure: {workflow: c.yaml}\n", "w.yaml:406:24: on_failure.workflow: "},
	} {
		_, err := Parse("w.yaml", []byte("name: w\n"+tc.text), opts)
		want := tc.want
		if want != "" {
			want += fmt.Sprintf("the retry rules have more than %d different stderr patterns (combine some with |, or use failure_categories)", failure.MaxStderrPatterns)
		}
		if got := fmt.Sprint(err); (err == nil) != (want == "") || err != nil && got != want {
			t.Errorf("%s: %v, want %s", tc.name, err, want)
		}
	}
}
