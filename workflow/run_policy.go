package workflow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// RunPolicy is what a workflow says about failures, and about its end; a nil
// field was not given.
type RunPolicy struct {
	RetryPolicies []PolicyRef `json:"retry_policies,omitempty"` // behind those of the jobs
	// GlobalMaxRetries and MaxRetriesTotal are as in Policies.
	GlobalMaxRetries *int64 `json:"global_max_retries,omitempty"`
	MaxRetriesTotal  *int64 `json:"max_retries_total,omitempty"`

	// CancelSiblingsOn has the live jobs ended when one has failed for good that a
	// rule is for.
	CancelSiblingsOn []SiblingRule `json:"cancel_siblings_on,omitempty"`
	// FailureCategories name failed attempts; the first that matches counts.
	FailureCategories []FailureCategory `json:"failure_categories,omitempty"`
	// MaxFailures is how many jobs may fail for good before claims are held.
	MaxFailures *int64 `json:"max_failures,omitempty"`
	// CircuitBreakers stop what fails again and again.
	CircuitBreakers []CircuitBreaker `json:"circuit_breakers,omitempty"`
	End             *EndPolicy       `json:"end,omitempty"`

	// Deadline is how long a run may last, ClassifyTimeout how long its jobs wait
	// for a classification.
	Deadline        *Deadline  `json:"deadline,omitempty"`
	ClassifyTimeout *HoldLimit `json:"classify_timeout,omitempty"`
	// OnFailure says what follows on a run that was not successful.
	OnFailure *CompensationPolicy `json:"on_failure,omitempty"`

	// Notify says who is told of alerts.
	Notify *NotifyPolicy `json:"notify,omitempty"`

	// AutoSchedule false has no more allocations asked for than schedule_nodes
	// actions ask for once, at their triggers; nil is true.
	AutoSchedule *bool `json:"auto_schedule,omitempty"`
}

// LooksAfter reports whether ready jobs that have lost their place get other
// allocations of a submitted workflow.
func (p *RunPolicy) LooksAfter() bool { return p == nil || p.AutoSchedule == nil || *p.AutoSchedule }

// EndJob is what the end job of the run is; nil if it has none.
func (p *RunPolicy) EndJob() *EndJob {
	if p == nil || p.End == nil {
		return nil
	}
	return p.End.Job
}

// Validate returns everything that is wrong with it.
func (p *RunPolicy) Validate() []Problem {
	if p == nil {
		return nil
	}
	var found problems
	found.refs("retry_policies", p.RetryPolicies)
	found.limit("global_max_retries", p.GlobalMaxRetries)
	found.limit("max_retries_total", p.MaxRetriesTotal)
	found.categories("failure_categories", p.FailureCategories)
	found.siblings(p.CancelSiblingsOn, p.FailureCategories)
	if n := p.MaxFailures; n != nil && (*n < 1 || *n > MaxFailureLimit) {
		found.add("max_failures", fmt.Sprintf("write 1 to %d, or remove it", MaxFailureLimit), "%d is not a number of failed jobs to stop at", *n)
	}
	found.breakers("circuit_breakers", p.CircuitBreakers, p.FailureCategories)
	found.end(p.End)
	found.deadline("deadline", p.Deadline)
	found.holdLimit("classify_timeout", p.ClassifyTimeout)
	found.compensation(p.OnFailure)
	found.notify("notify", p.Notify)
	return found
}

// MaxFailureLimit is the largest max_failures that is taken for one.
const MaxFailureLimit = 10_000_000

// JobPolicy is what a job says about its own failures; a nil field was not given.
// Jobs that say the same share it.
type JobPolicy struct {
	RetryPolicies []PolicyRef `json:"retry_policies,omitempty"`
	Timeouts      *Timeouts   `json:"timeouts,omitempty"`
}

// Validate returns everything that is wrong with it.
func (p *JobPolicy) Validate() []Problem {
	if p == nil {
		return nil
	}
	var found problems
	found.refs("retry_policies", p.RetryPolicies)
	found.timeouts("timeouts", p.Timeouts)
	return found
}

// refs checks a list of policies: their names tell them, and what their rules
// count, apart.
func (p *problems) refs(at string, refs []PolicyRef) {
	seen := map[string]bool{}
	for i, r := range refs {
		where, name := fmt.Sprintf("%s[%d]", at, i), r.Name
		if r.Policy != nil {
			name = r.Policy.Name
			for _, found := range r.Policy.Validate() {
				p.add(where+"."+found.Path, found.Hint, "%s", found.Message)
			}
		} else if !policyName.MatchString(name) {
			p.add(where, "write the name of a stored policy, or a policy", "%q is no name for a policy", name)
		}
		if seen[name] {
			p.add(where, "remove one of them", "the policy %s is already there", name)
		}
		seen[name] = true
	}
}

// Merge replaces what a change says; what it leaves out stays.
func (p *RunPolicy) Merge(change *RunPolicy) {
	into, from := reflect.ValueOf(p).Elem(), reflect.ValueOf(change).Elem()
	end := p.End
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
	if change.End == nil || end == nil {
		return
	}
	merged := *end
	if change.End.SuccessIf != "" {
		merged.SuccessIf = change.End.SuccessIf
	}
	if change.End.Job != nil {
		merged.Job = change.End.Job
	}
	p.End = &merged
}

// Unset removes what keys say, such as max_failures and end.success_if.
func (p *RunPolicy) Unset(keys []string) error {
	into := reflect.ValueOf(p).Elem()
	for _, key := range keys {
		switch i := slices.Index(policyKeys, key); {
		case key == "end.success_if" && p.End != nil:
			end := *p.End // the stored one may be shared
			end.SuccessIf = ""
			if p.End = &end; end == (EndPolicy{}) {
				p.End = nil
			}
		case i >= 0 && i < into.NumField():
			into.Field(i).SetZero()
		case i < 0:
			err := Errorf(CodeInvalid, "a policy has no key %q", key)
			if near := Nearest(key, policyKeys); near != "" {
				return err.WithHint("did you mean %s?", near)
			}
			return err.WithHint("the keys are %s", strings.Join(policyKeys, ", "))
		}
	}
	return nil
}

// PolicyKeys are the keys of a policy that can be unset.
func PolicyKeys() []string { return slices.Clone(policyKeys) }

// policyKeys are those of the fields, in their order, and then those within them.
var policyKeys = func() (keys []string) {
	t := reflect.TypeFor[RunPolicy]()
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return append(keys, "end.success_if")
}()
