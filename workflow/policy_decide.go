package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// defaultActionID is the id of the rule that a policy's default action stands for.
const defaultActionID = "default_action"

// policies lists the retry policies behind the failure handler, in the order in
// which they are tried; the site's are in front of it.
func (p *Policies) policies() []*RetryPolicy {
	return slices.Concat(pointers(p.Job), pointers(p.Workflow), []*RetryPolicy{&p.Default})
}

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// decide applies the first rule that matches. If none does, the first default
// action that is more than inherit decides, before the server's policy is asked. What
// we ended ourselves is no failure that a default action is about.
func (p *Policies) decide(h *History, f *Failure) Decision {
	var without []*RetryPolicy // policies that said nothing
	try := func(policy *RetryPolicy) (Decision, bool) {
		if r := policy.match(f, h.AttemptID); r != nil {
			return p.apply(policy, r, h, f), true
		}
		without = append(without, policy)
		return Decision{}, false
	}
	for _, policy := range pointers(p.Site) {
		if d, ok := try(policy); ok {
			return d
		}
	}
	if p.Handler != nil && handlerApplies(f.Cause) {
		if i := p.Handler.match(f.Cause.ReturnCode); i >= 0 {
			return p.Handler.decide(i, p, h, f.Cause)
		}
	}
	for _, policy := range p.policies() {
		if policy == &p.Default {
			if d, ok := p.defaultAction(without, h, f); ok {
				return d
			}
		}
		if d, ok := try(policy); ok {
			return d
		}
	}
	if d, ok := p.defaultAction([]*RetryPolicy{&p.Default}, h, f); ok {
		return d
	}
	if f.Cause.Ours() { // a server's own default policy may say nothing about it
		builtIn := DefaultPolicy()
		if d, ok := try(&builtIn); ok {
			return d
		}
	}
	why := unmatchedReason(p.Handler, f.Cause)
	if len(p.Missing) > 0 {
		why += "; not there any more: retry policy " + strings.Join(p.Missing, ", ")
	}
	if p.UsePendingFailed {
		return Decision{Action: ActionHold, Reason: why + "; it waits for a classification"}
	}
	return Decision{Action: ActionFail, Reason: why}
}

// defaultAction applies the first default action that is more than inherit. It says
// what becomes of failures, and what we end ourselves is none.
func (p *Policies) defaultAction(policies []*RetryPolicy, h *History, f *Failure) (Decision, bool) {
	if f.Cause.Ours() {
		return Decision{}, false
	}
	for _, policy := range policies {
		if policy.DefaultAction == "" || policy.DefaultAction == ActionInherit {
			continue
		}
		r := &RetryRule{ID: defaultActionID, Action: policy.DefaultAction}
		return p.apply(policy, r, h, f), true
	}
	return Decision{}, false
}

// apply does what a rule says. A spent budget means fail, and no other rule.
func (p *Policies) apply(policy *RetryPolicy, r *RetryRule, h *History, f *Failure) Decision {
	key := policy.Key(r)
	d := Decision{Action: r.Action, Rule: key, Reason: fmt.Sprintf("rule %s: %s", key, f.Cause.Kind)}
	if r.ofRecovery() {
		d.Reason += " of the recovery script"
	}
	if r.mayHold() {
		d.HoldLimit = first(r.ClassifyTimeout, policy.ClassifyTimeout)
	}
	if r.Action != ActionRetry {
		return d
	}
	n := h.Rules[key]
	b, free := budget{n.Counted, p.limit(policy, r), p.limitName(policy, r)}, ""
	if d.Counted = r.counts(f.Cause); !d.Counted {
		b, free = budget{used: n.Free, limit: p.maxFree(r)}, "free "
	}
	spent := ""
	switch {
	case b.left() <= 0:
		spent = b.spent(free)
	case d.Counted:
		spent = p.spent(h, p.globalMaxRetries())
	case p.globalMaxRetries() == 0:
		spent = "global_max_retries is 0"
	}
	if spent != "" {
		d.Action, d.Counted = ActionFail, false
		d.Reason += ", " + spent
		return d
	}
	if d.Counted {
		b = p.tightest(b, h, p.globalMaxRetries())
	}
	d.Reason = fmt.Sprintf("%s, %s%s", d.Reason, free, b.retry())
	backoff := first(r.Backoff, policy.Backoff, p.DefaultBackoff)
	if backoff != nil {
		d.Delay, d.Jitter = backoff.Delay(n.Counted+n.Free+1), backoff.Jitter
	}
	d.Avoid, d.Mutate = first(r.AvoidNodes, policy.AvoidNodes), r.Mutate
	if r.RecoveryScript != "" {
		d.Action, d.RecoveryScript, d.OnRecoveryError = ActionRecover, r.RecoveryScript, ActionRetry
		if r.OnRecoveryError != "" {
			d.OnRecoveryError = r.OnRecoveryError
		}
	}
	return d
}

// limit is how many counted retries a rule may grant.
func (p *Policies) limit(policy *RetryPolicy, r *RetryRule) int64 {
	if own := first(r.Limit, policy.RetryLimit); own != nil {
		return *own
	}
	return p.globalMaxRetries()
}

// maxFree is how many uncounted retries a rule may grant.
func (p *Policies) maxFree(r *RetryRule) int64 {
	if r.MaxFree != nil {
		return *r.MaxFree
	}
	return DefaultMaxFree
}

// Counts reports whether the rule with a key says that all its retries use
// budget, also of attempts that were taken from the job.
func (p *Policies) Counts(key string) bool {
	for _, policy := range append(pointers(p.Site), p.policies()...) {
		for i := range policy.Rules {
			if r := &policy.Rules[i]; policy.Key(r) == key && r.Counted != nil {
				return *r.Counted
			}
		}
	}
	return false
}

// RuleLimit returns how many retries of a job the rule with a key may grant in a
// run, and whether there is such a rule.
func (p *Policies) RuleLimit(key string) (RuleCount, bool) {
	limit, _, known := p.ruleLimit(key)
	return limit, known
}

// ruleLimit is RuleLimit with the name of the limit that binds counted retries;
// that is empty if it is the rule's own.
func (p *Policies) ruleLimit(key string) (limit RuleCount, name string, known bool) {
	if key == RuleClassified {
		return RuleCount{Counted: ClassifiedRetryLimit}, "", true
	}
	if h := p.Handler; h != nil {
		for i := range h.Rules {
			if h.key(i) == key {
				return RuleCount{Counted: max(0, h.Rules[i].MaxRetries-1)}, "", true
			}
		}
	}
	builtIn := DefaultPolicy() // which decides last about what we end ourselves
	for _, policy := range slices.Concat(pointers(p.Site), p.policies(), []*RetryPolicy{&builtIn}) {
		rules := append(slices.Clone(policy.Rules), RetryRule{ID: defaultActionID, Action: policy.DefaultAction})
		for i := range rules {
			r := &rules[i]
			if policy.Key(r) != key || r.Action != ActionRetry {
				continue
			}
			if r.mayCount() {
				limit.Counted, name = p.limit(policy, r), p.limitName(policy, r)
				if global := p.globalMaxRetries(); global < limit.Counted {
					limit.Counted, name = global, limitOfJob
				}
			}
			if r.mayBeFree() {
				limit.Free = p.maxFree(r)
			}
			return limit, name, true
		}
	}
	return RuleCount{}, "", false
}

// spent says which budget over several rules is used up; "" if none is. Global
// is how many counted retries the job may have of all of them.
func (p *Policies) spent(h *History, global int64) string {
	for _, b := range p.overall(h, global) {
		if b.left() <= 0 {
			return fmt.Sprintf("but %s is %d and %d %s used", b.name, b.limit, b.used, plural(b.used, "is", "are"))
		}
	}
	return ""
}

// first returns the first pointer that is not nil.
func first[T any](all ...*T) *T {
	for _, p := range all {
		if p != nil {
			return p
		}
	}
	return nil
}
