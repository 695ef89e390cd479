package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// RetryPolicy says what to do after failed attempts: a list of rules, of which
// the first that matches decides.
type RetryPolicy struct {
	Name        string `json:"name"`                  // at most 63 characters
	Description string `json:"description,omitempty"` // for users
	// RetryLimit is the default of limit in the rules: the number of retries after the
	// first attempt, not of attempts.
	RetryLimit *int64 `json:"retry_limit,omitempty" jsonschema:"minimum=0"`
	// DefaultAction applies to failures that no rule of any policy matches. Inherit (the
	// default) leaves them to the next policy, the last of which is the server's.
	DefaultAction Action `json:"default_action,omitempty" jsonschema:"enum=inherit,enum=fail,enum=retry,enum=hold"`
	// OOMPartial applies to attempts that exit with 0 although the kernel killed a process
	// because memory ran out, if the process may have belonged to one of several jobs. With
	// fail_likely (the default) the job with the largest process fails, with fail_all all of
	// them, with ignore none; the cause is oom_partial. The first policy that sets it decides.
	OOMPartial OOMPartial `json:"oom_partial,omitempty" jsonschema:"enum=fail_likely,enum=ignore,enum=fail_all"`
	// ClassifyTimeout is how long jobs that the policy holds wait, unless the rule sets it;
	// by default as the workflow says.
	ClassifyTimeout *HoldLimit  `json:"classify_timeout,omitempty"`
	Backoff         *Backoff    `json:"backoff,omitempty"`     // default for the rules
	AvoidNodes      *AvoidNodes `json:"avoid_nodes,omitempty"` // default for the rules
	Rules           []RetryRule `json:"rules,omitempty"`       // the first that matches decides
}

// RetryRule says what to do about failures of one kind.
type RetryRule struct {
	// ID identifies the rule in counters of retries; by default a hash of When.
	ID   string    `json:"id,omitempty"`
	When RuleMatch `json:"when"` // which failures match; {} matches all
	// Action is retry, fail, or hold for a classification.
	Action Action `json:"action" jsonschema:"enum=retry,enum=fail,enum=hold"`
	Limit  *int64 `json:"limit,omitempty" jsonschema:"minimum=0"` // maximum number of retries that use budget
	// Counted says whether its retries use budget. By default all do, except retries of
	// attempts that were preempted or ended by our drain. The number of retries that do not
	// use budget is limited by max_free. That includes retries after failed recovery
	// scripts, because the rule with the script has already counted them.
	Counted        *bool       `json:"counted,omitempty"`
	MaxFree        *int64      `json:"max_free,omitempty" jsonschema:"minimum=0"` // 50 by default
	Backoff        *Backoff    `json:"backoff,omitempty"`                         // how long a retry waits
	AvoidNodes     *AvoidNodes `json:"avoid_nodes,omitempty"`                     // nodes on which it does not run
	Mutate         *Mutation   `json:"mutate,omitempty"`                          // changes of its requirements
	RecoveryScript string      `json:"recovery_script,omitempty"`                 // runs before the retry, on the same node
	// OnRecoveryError is what happens if the script fails: retry (the default), fail or hold.
	OnRecoveryError Action `json:"on_recovery_error,omitempty" jsonschema:"enum=retry,enum=fail,enum=hold"`
	// ClassifyTimeout is how long jobs that the rule holds wait.
	ClassifyTimeout *HoldLimit `json:"classify_timeout,omitempty"`
}

// MayHold reports whether the rule can hold a job.
func (r *RetryRule) MayHold() bool { return r.Action == ActionHold || r.OnRecoveryError == ActionHold }

// mayHold reports whether the policy can hold a job.
func (p *RetryPolicy) mayHold() bool {
	return p.DefaultAction == ActionHold || slices.ContainsFunc(p.Rules, func(r RetryRule) bool { return r.MayHold() })
}

// Key returns the key under which retries of a rule of the policy are counted.
func (p *RetryPolicy) Key(r *RetryRule) string { return p.Name + "/" + r.id() }

// id returns the id of the rule, or a hash of its When.
func (r *RetryRule) id() string {
	if r.ID != "" {
		return r.ID
	}
	text, err := json.Marshal(r.When)
	if err != nil { // impossible for strings and numbers
		panic(fmt.Sprintf("hash a rule: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// UsesBudget reports whether a retry that the rule grants uses budget. A retry after a
// preemption or drain does not, unless the rule says so. A retry after a failed recovery
// script never does, because it was counted before.
func (r *RetryRule) UsesBudget(c Cause) bool {
	switch {
	case r.OfRecovery():
		return false
	case r.Counted != nil:
		return *r.Counted
	}
	return !c.PreemptedOrDrained()
}

// MayCount reports whether retries of the rule can use budget.
func (r *RetryRule) MayCount() bool {
	switch {
	case r.OfRecovery():
		return false
	case r.Counted != nil:
		return *r.Counted
	}
	return r.When.Cause == nil || slices.ContainsFunc(r.When.Cause, func(k CauseKind) bool { return k != CausePreempted })
}

// MayBeFree reports whether retries of the rule can use no budget.
func (r *RetryRule) MayBeFree() bool {
	switch {
	case r.OfRecovery():
		return true
	case r.Counted != nil:
		return !*r.Counted
	}
	return r.When.Cause == nil || slices.Contains(r.When.Cause, CausePreempted) || slices.Contains(r.When.Cause, CauseWalltime)
}

// FirstMatch returns the first rule that matches a failure; nil if there is none.
func (p *RetryPolicy) FirstMatch(f *Failure, attempt int64) *RetryRule {
	for i := range p.Rules {
		if p.Rules[i].When.matches(f, attempt) {
			return &p.Rules[i]
		}
	}
	return nil
}

// policyName matches names of policies, rules, categories and breakers. They are used in
// counters, events and URLs.
var policyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// nameHint describes policyName.
const nameHint = "use letters, digits, '.', '_' and '-', at most 63, and begin with a letter or digit"

// Validate returns all problems of the policy.
func (p *RetryPolicy) Validate() []Problem {
	var found problems
	if !policyName.MatchString(p.Name) {
		found.add("name", nameHint, "invalid name %q of a policy", p.Name)
	}
	found.limit("retry_limit", p.RetryLimit)
	found.oneOf("default_action", string(p.DefaultAction), "", string(ActionInherit), string(ActionFail), string(ActionRetry), string(ActionHold))
	found.oneOf("oom_partial", string(p.OOMPartial), "", string(OOMFailLikely), string(OOMIgnore), string(OOMFailAll))
	found.holdLimit("classify_timeout", p.ClassifyTimeout)
	if p.ClassifyTimeout != nil && !p.mayHold() {
		found.add("classify_timeout", "remove it, or write action: hold in a rule", "the policy holds no job")
	}
	p.Backoff.validate(&found, "backoff")
	p.AvoidNodes.validate(&found, "avoid_nodes")
	if len(p.Rules) == 0 && p.OOMPartial == "" && (p.DefaultAction == "" || p.DefaultAction == ActionInherit) {
		found.add("rules", "write a rule or a default_action", "the policy is empty")
	}
	if len(p.Rules) > maxRules {
		found.add("rules", "write one rule with lists of causes and codes instead of many rules", "too many rules: %d, the limit is %d", len(p.Rules), maxRules)
		return found
	}
	ids := map[string]int{}
	for i := range p.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		p.Rules[i].validate(&found, at)
		if first, ok := ids[p.Rules[i].id()]; ok {
			found.add(at+".id", "rename one of them, or remove the rule that never applies", "duplicate rule %s, the first is rules[%d]", p.Rules[i].id(), first)
		} else {
			ids[p.Rules[i].id()] = i
			p.shadow(&found, i)
		}
	}
	return found
}

func (r *RetryRule) validate(p *problems, at string) {
	if r.ID != "" && !policyName.MatchString(r.ID) {
		p.add(at+".id", nameHint, "invalid id %q of a rule", r.ID)
	}
	r.When.validate(p, at+".when")
	p.oneOf(at+".action", string(r.Action), string(ActionRetry), string(ActionFail), string(ActionHold))
	p.limit(at+".limit", r.Limit)
	p.limit(at+".max_free", r.MaxFree)
	r.Backoff.validate(p, at+".backoff")
	r.AvoidNodes.validate(p, at+".avoid_nodes")
	r.Mutate.validate(p, at+".mutate")
	p.oneOf(at+".on_recovery_error", string(r.OnRecoveryError), "", string(ActionRetry), string(ActionFail), string(ActionHold))
	p.holdLimit(at+".classify_timeout", r.ClassifyTimeout)
	if r.ClassifyTimeout != nil && !r.MayHold() {
		p.add(at+".classify_timeout", "remove it, or write action: hold", "the rule holds no job")
	}
	if r.OnRecoveryError != "" && r.RecoveryScript == "" {
		p.add(at+".on_recovery_error", "remove it or write a recovery_script", "there is no recovery script")
	}
	if !r.MayBeFree() && r.MaxFree != nil {
		p.add(at+".max_free", "write limit, or counted: false", "max_free limits only retries that are not counted")
	}
	r.validateRecovery(p, at)
	if !r.MayCount() && r.Limit != nil && !r.OfRecovery() {
		p.add(at+".limit", "write max_free, or counted: true", "limit limits only retries that are counted")
	}
	if r.Action == ActionRetry {
		return
	}
	for _, x := range []struct {
		key   string
		given bool
	}{{"limit", r.Limit != nil}, {"counted", r.Counted != nil}, {"max_free", r.MaxFree != nil}, {"backoff", r.Backoff != nil},
		{"avoid_nodes", r.AvoidNodes != nil}, {"mutate", r.Mutate != nil}, {"recovery_script", r.RecoveryScript != ""}} {
		p.notAllowed(at+"."+x.key, x.given, "remove it or write action: retry", x.key+" applies only to retries")
	}
}

// maxRules is how many rules a policy may have.
const maxRules = 1000

// MaxRetryLimit is the largest valid limit. A larger number is probably a mistake.
const MaxRetryLimit = 1_000_000

func (p *problems) limit(at string, n *int64) {
	if n != nil && (*n < 0 || *n > MaxRetryLimit) {
		p.add(at, fmt.Sprintf("write 0 to %d", MaxRetryLimit), "invalid number of retries: %d", *n)
	}
}
