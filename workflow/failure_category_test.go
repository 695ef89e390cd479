package workflow_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestFailureCategoriesAreChecked(t *testing.T) {
	when := CategoryMatch{Stderr: "Xid"}
	for _, tc := range []struct {
		name string
		list []FailureCategory
		want []string
	}{
		{"good", []FailureCategory{{Category: "gpu", Subcategory: "xid", When: CategoryMatch{Signal: []int64{1, 64}, Errno: []int64{12}}, Hint: strings.Repeat("x", 500)}}, nil},
		{"as many as are taken", slices.Repeat([]FailureCategory{{Category: "gpu", When: when}}, 100), nil},
		{"one more", slices.Repeat([]FailureCategory{{Category: "gpu", When: when}}, 101), []string{"failure_categories: too many categories: 101, the limit is 100"}},
		{"subcategory", []FailureCategory{{Category: "gpu", Subcategory: "x d", When: when}}, []string{`failure_categories[0].subcategory: invalid name "x d" of a category`}},
		{"long hint", []FailureCategory{{Category: "gpu", When: when, Hint: strings.Repeat("x", 501)}}, []string{"failure_categories[0].hint: the hint has 501 bytes, the limit is 500"}},
		{"signals", []FailureCategory{{Category: "gpu", When: CategoryMatch{Signal: []int64{9, 0, 65}}}},
			[]string{"failure_categories[0].when.signal[1]: unknown signal 0", "failure_categories[0].when.signal[2]: unknown signal 65"}},
		{"no signal", []FailureCategory{{Category: "gpu", When: CategoryMatch{Signal: []int64{}}}}, []string{"failure_categories[0].when.signal: an empty list matches nothing"}},
		{"no error number", []FailureCategory{{Category: "gpu", When: CategoryMatch{Errno: []int64{}}}}, []string{"failure_categories[0].when.errno: an empty list matches nothing"}},
	} {
		checkProblems(t, tc.name, (&RunPolicy{FailureCategories: tc.list}).Validate(), tc.want...)
	}
}
