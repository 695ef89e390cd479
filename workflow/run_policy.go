package workflow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// RunPolicy configures what happens after failures, and at the end of a run. A nil field
// was not given.
type RunPolicy struct {
	RetryPolicies []PolicyRef `json:"retry_policies,omitempty"` // apply after those of the jobs
	// GlobalMaxRetries and MaxRetriesTotal are as in retry.Policies.
	GlobalMaxRetries *int64 `json:"global_max_retries,omitempty"`
	MaxRetriesTotal  *int64 `json:"max_retries_total,omitempty"`

	// CancelSiblingsOn says after which final failures of a job the other live jobs are
	// ended.
	CancelSiblingsOn []SiblingRule `json:"cancel_siblings_on,omitempty"`
	// FailureCategories classify failed attempts; the first that matches applies.
	FailureCategories []FailureCategory `json:"failure_categories,omitempty"`
	// MaxFailures is the number of finally failed jobs at which claims are held.
	MaxFailures *int64 `json:"max_failures,omitempty"`
	// CircuitBreakers stop repeated failures.
	CircuitBreakers []CircuitBreaker `json:"circuit_breakers,omitempty"`
	End             *EndPolicy       `json:"end,omitempty"`

	// Deadline is how long a run may last, ClassifyTimeout how long its jobs wait
	// for a classification.
	Deadline        *Deadline  `json:"deadline,omitempty"`
	ClassifyTimeout *HoldLimit `json:"classify_timeout,omitempty"`
	// Classifier makes the daemon ask an agent about held jobs.
	Classifier *ClassifierPolicy `json:"classifier,omitempty"`
	// OnFailure configures the compensation of an unsuccessful run.
	OnFailure *CompensationPolicy `json:"on_failure,omitempty"`

	// Notify configures messages about alerts.
	Notify *NotifyPolicy `json:"notify,omitempty"`

	// AutoSchedule false means that allocations are requested only by schedule_nodes
	// actions, once each, at their triggers; nil means true.
	AutoSchedule *bool `json:"auto_schedule,omitempty"`
}

// AutoSchedules reports whether the daemon requests more allocations for a submitted
// workflow when ready jobs have lost their place.
func (p *RunPolicy) AutoSchedules() bool {
	return p == nil || p.AutoSchedule == nil || *p.AutoSchedule
}

// EndJob returns the end job of the run; nil if it has none.
func (p *RunPolicy) EndJob() *EndJob {
	if p == nil || p.End == nil {
		return nil
	}
	return p.End.Job
}

// Validate returns all problems of the policy; p may be nil.
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
		found.add("max_failures", fmt.Sprintf("write 1 to %d, or remove it", MaxFailureLimit), "invalid number of failed jobs: %d", *n)
	}
	found.breakers("circuit_breakers", p.CircuitBreakers, p.FailureCategories)
	found.end(p.End)
	found.deadline("deadline", p.Deadline)
	found.holdLimit("classify_timeout", p.ClassifyTimeout)
	found.classifier("classifier", p.Classifier)
	found.compensation(p.OnFailure)
	found.notify("notify", p.Notify)
	return found
}

// MaxFailureLimit is the largest valid max_failures.
const MaxFailureLimit = 10_000_000

// JobPolicy configures what happens after failures of a job. A nil field was not given.
// Jobs with the same policy share it.
type JobPolicy struct {
	RetryPolicies []PolicyRef `json:"retry_policies,omitempty"`
	Timeouts      *Timeouts   `json:"timeouts,omitempty"`
}

// Validate returns all problems of the policy; p may be nil.
func (p *JobPolicy) Validate() []Problem {
	if p == nil {
		return nil
	}
	var found problems
	found.refs("retry_policies", p.RetryPolicies)
	found.timeouts("timeouts", p.Timeouts)
	return found
}

// refs checks a list of policies. Their names must differ, because retries are counted
// under them.
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
			p.add(where, "write the name of a stored policy, or a policy", "invalid name %q of a policy", name)
		}
		if seen[name] {
			p.add(where, "remove one of them", "duplicate policy %s", name)
		}
		seen[name] = true
	}
}

// Merge overwrites the fields that are set in a change; the others stay.
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

// Unset removes keys such as max_failures and end.success_if. It returns an error of
// CodeInvalid for an unknown key.
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
			err := Errorf(CodeInvalid, "unknown policy key %q", key)
			if near := Nearest(key, policyKeys); near != "" {
				return err.WithHint("did you mean %s?", near)
			}
			return err.WithHint("the keys are %s", strings.Join(policyKeys, ", "))
		}
	}
	return nil
}

// PolicyKeys returns the keys of a policy that can be unset.
func PolicyKeys() []string { return slices.Clone(policyKeys) }

// policyKeys holds the keys of the fields, in their order, followed by nested keys.
var policyKeys = func() (keys []string) {
	t := reflect.TypeFor[RunPolicy]()
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return append(keys, "end.success_if")
}()
