package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// SiblingRule says after which failures of a job the other live jobs are ended. All keys
// that are given must match.
type SiblingRule struct {
	// Cause of the failure, for example oom.
	Cause CauseKind `json:"cause,omitempty"`
	// Category of the failure, one of failure_categories.
	Category string `json:"category,omitempty"`
	// Label of the job that failed.
	Label string `json:"label,omitempty"`
}

// matches reports whether the rule applies to a failed job.
func (s SiblingRule) matches(cause CauseKind, category string, labels []string) bool {
	return (s.Cause == "" || s.Cause == cause) && (s.Category == "" || s.Category == category) && (s.Label == "" || slices.Contains(labels, s.Label))
}

// Culprit is why a job was ended: another one failed, and a rule applied, or a user canceled
// it.
type Culprit struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
	Rule    string `json:"rule"` // of cancel_siblings_on
	// User canceled the job, with an optional reason; empty if another job failed.
	User   string `json:"user,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// String returns the job and the rule: job 3 "train" (cause exit).
func (c Culprit) String() string {
	if c.User != "" {
		return "user " + c.User
	}
	if c.JobName == "" { // it was deleted
		return fmt.Sprintf("job %d (%s)", c.JobID, c.Rule)
	}
	return fmt.Sprintf("job %d %q (%s)", c.JobID, c.JobName, c.Rule)
}

// CanceledReason returns why a job was canceled; c is nil if the culprit is unknown.
func (c *Culprit) CanceledReason() string {
	if c == nil {
		return "canceled because another job failed"
	}
	if c.User != "" {
		return JoinText("canceled by "+c.User, c.Reason)
	}
	return "canceled because of " + c.String()
}

// NotStartedReason returns why a claimed job was canceled before it started.
func (c *Culprit) NotStartedReason() string { return "not started: " + c.CanceledReason() }

// EndingReason returns why a job that is being ended gets no retry.
func (c *Culprit) EndingReason() string { return "it was being ended: " + c.CanceledReason() }

// String returns the keys of the rule: "cause oom, label critical".
func (s SiblingRule) String() string {
	var parts []string
	for _, p := range []struct{ key, value string }{{"cause", string(s.Cause)}, {"category", s.Category}, {"label", s.Label}} {
		if p.value != "" {
			parts = append(parts, p.key+" "+p.value)
		}
	}
	return strings.Join(parts, ", ")
}

// SiblingRuleFor returns the first rule that applies to a final failure of a job with
// these labels; ok is false if there is none.
func (p *RunPolicy) SiblingRuleFor(cause CauseKind, category string, labels []string) (rule SiblingRule, ok bool) {
	i := slices.IndexFunc(p.CancelSiblingsOn, func(s SiblingRule) bool { return s.matches(cause, category, labels) })
	if i < 0 {
		return rule, false
	}
	return p.CancelSiblingsOn[i], true
}

// siblings checks rules of cancel_siblings_on.
func (p *problems) siblings(rules []SiblingRule, categories []FailureCategory) {
	for i, s := range rules {
		at := fmt.Sprintf("cancel_siblings_on[%d]", i)
		if s == (SiblingRule{}) {
			p.add(at, "write {cause: oom} or {label: critical}", "the rule is empty")
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
