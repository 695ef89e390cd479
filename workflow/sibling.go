package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// SiblingRule says which failures of a job have the jobs that run beside it
// ended: those with all that is given here.
type SiblingRule struct {
	// Cause of the failure, for example oom.
	Cause CauseKind `json:"cause,omitempty"`
	// Category of the failure, one of failure_categories.
	Category string `json:"category,omitempty"`
	// Label of the job that failed.
	Label string `json:"label,omitempty"`
}

// matches reports whether the rule is for a job that failed.
func (s SiblingRule) matches(cause CauseKind, category string, labels []string) bool {
	return (s.Cause == "" || s.Cause == cause) && (s.Category == "" || s.Category == category) && (s.Label == "" || slices.Contains(labels, s.Label))
}

// Culprit is the job for which another one was ended, and the rule that said so.
type Culprit struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
	Rule    string `json:"rule"` // of cancel_siblings_on
}

// String names the job, and the rule: job 3 "train" (cause exit).
func (c Culprit) String() string {
	if c.JobName == "" { // it was deleted
		return fmt.Sprintf("job %d (%s)", c.JobID, c.Rule)
	}
	return fmt.Sprintf("job %d %q (%s)", c.JobID, c.JobName, c.Rule)
}

// Because says for which job one is canceled; nobody has to know.
func (c *Culprit) Because() string {
	if c == nil {
		return "canceled because another job failed"
	}
	return "canceled because of " + c.String()
}

// NotStarted says why a job was canceled that was claimed and not started.
func (c *Culprit) NotStarted() string { return "not started: " + c.Because() }

// Doom says why a job has failed that was being ended for another one.
func (c *Culprit) Doom() string { return "it was being ended: " + c.Because() }

// String is the rule as a user writes it.
func (s SiblingRule) String() string {
	var parts []string
	for _, p := range []struct{ key, value string }{{"cause", string(s.Cause)}, {"category", s.Category}, {"label", s.Label}} {
		if p.value != "" {
			parts = append(parts, p.key+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

// CancelsSiblings returns the first rule that has the live jobs ended beside one
// with these labels that failed for good.
func (p *RunPolicy) CancelsSiblings(cause CauseKind, category string, labels []string) (rule SiblingRule, ok bool) {
	i := slices.IndexFunc(p.CancelSiblingsOn, func(s SiblingRule) bool { return s.matches(cause, category, labels) })
	if i < 0 {
		return rule, false
	}
	return p.CancelSiblingsOn[i], true
}

// siblings checks such rules.
func (p *problems) siblings(rules []SiblingRule, categories []FailureCategory) {
	for i, s := range rules {
		at := fmt.Sprintf("cancel_siblings_on[%d]", i)
		if s == (SiblingRule{}) {
			p.add(at, "write {cause: oom} or {label: critical}", "the rule says nothing")
		}
		if s.Cause != "" {
			p.oneOf(at+".cause", string(s.Cause), append(failureCauses(), string(CauseSubWorkflow))...)
		}
		if s.Category != "" {
			p.knownCategory(at+".category", s.Category, categories)
		}
		if s.Label != "" {
			_, err := NormalizeLabels([]string{s.Label})
			p.err(at+".label", err)
		}
	}
}
