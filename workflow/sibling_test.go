package workflow_test

import (
	"testing"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestSiblingRuleFor(t *testing.T) {
	oom, gpu, critical := SiblingRule{Cause: CauseOOM}, SiblingRule{Category: "gpu"}, SiblingRule{Label: "critical"}
	all := SiblingRule{Cause: CauseOOM, Category: "gpu", Label: "critical"}
	for _, tc := range []struct {
		name         string
		rules        []SiblingRule
		cause        CauseKind
		FullCategory string
		labels       []string
		want         string // the rule; empty: none
	}{
		{"no rules", nil, CauseOOM, "gpu", []string{"critical"}, ""},
		{"cause", []SiblingRule{oom}, CauseOOM, "", nil, "cause oom"},
		{"another cause", []SiblingRule{oom}, CauseExit, "gpu", []string{"critical"}, ""},
		{"category", []SiblingRule{gpu}, CauseExit, "gpu", nil, "category gpu"},
		{"another category", []SiblingRule{gpu}, CauseExit, "disk", nil, ""},
		{"no category", []SiblingRule{gpu}, CauseExit, "", nil, ""},
		{"label", []SiblingRule{critical}, CauseExit, "", []string{"a", "critical"}, "label critical"},
		{"another label", []SiblingRule{critical}, CauseExit, "", []string{"a"}, ""},
		{"all of a rule", []SiblingRule{all}, CauseOOM, "gpu", []string{"critical"}, "cause oom, category gpu, label critical"},
		{"all but the cause", []SiblingRule{all}, CauseExit, "gpu", []string{"critical"}, ""},
		{"all but the category", []SiblingRule{all}, CauseOOM, "", []string{"critical"}, ""},
		{"all but the label", []SiblingRule{all}, CauseOOM, "gpu", nil, ""},
		{"the first that matches", []SiblingRule{gpu, critical, oom}, CauseOOM, "", []string{"critical"}, "label critical"},
	} {
		rule, ok := (&RunPolicy{CancelSiblingsOn: tc.rules}).SiblingRuleFor(tc.cause, tc.FullCategory, tc.labels)
		if rule.String() != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %q, %v", tc.name, rule, ok)
		}
	}
}

func TestSiblingRulesAreChecked(t *testing.T) {
	p := RunPolicy{
		FailureCategories: []FailureCategory{{Category: "gpu", When: CategoryMatch{Stderr: "Xid"}}},
		CancelSiblingsOn:  []SiblingRule{{Cause: CauseOOM, Category: "gpu", Label: "critical"}, {}, {Cause: "bad"}, {Category: "disk"}, {Cause: CauseOK}, {Cause: CauseSubWorkflow}},
	}
	checkProblems(t, "rules", p.Validate(), "cancel_siblings_on[1]: the rule is empty", `cancel_siblings_on[2].cause: invalid value "bad" of cause`,
		`cancel_siblings_on[3].category: unknown category "disk"`, `cancel_siblings_on[4].cause: invalid value "ok" of cause`)
	checkProblems(t, "a label that no job can have", (&RunPolicy{CancelSiblingsOn: []SiblingRule{{Label: "a,b"}}}).Validate(),
		`cancel_siblings_on[0].label: invalid label "a,b": it contains a comma`)
}
