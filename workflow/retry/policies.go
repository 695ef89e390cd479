package retry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// defaultActionID is the rule id for the default action of a policy.
const defaultActionID = "default_action"

// decideByPolicies returns the decision of the first rule that matches. If none does, the
// first default action other than inherit decides, before the server's policy. Default
// actions do not apply to attempts that we ended ourselves.
func decideByPolicies(p *Policies, h *workflow.History, f *workflow.Failure) workflow.Decision {
	var without []*workflow.RetryPolicy // policies without a matching rule
	try := func(policy *workflow.RetryPolicy) (workflow.Decision, bool) {
		if r := policy.FirstMatch(f, h.AttemptID); r != nil {
			return applyRule(p, policy, r, h, f), true
		}
		without = append(without, policy)
		return workflow.Decision{}, false
	}
	for i := range p.Site {
		if d, ok := try(&p.Site[i]); ok {
			return d
		}
	}
	if p.Handler != nil && handlerApplies(f.Cause) {
		if i := matchHandlerRule(p.Handler, f.Cause.ReturnCode); i >= 0 {
			return decideByHandler(p.Handler, i, p, h, f.Cause)
		}
	}
	for _, policy := range p.InOrder() {
		if policy == &p.Default {
			if d, ok := decideByDefault(p, without, h, f); ok {
				return d
			}
		}
		if d, ok := try(policy); ok {
			return d
		}
	}
	if d, ok := decideByDefault(p, []*workflow.RetryPolicy{&p.Default}, h, f); ok {
		return d
	}
	if f.Cause.EndedByUs() { // the server's default policy may have no rule for it
		builtIn := DefaultPolicy()
		if d, ok := try(&builtIn); ok {
			return d
		}
	}
	why := unmatchedReason(p.Handler, f.Cause)
	if len(p.Missing) > 0 {
		why += "; retry policy no longer exists: " + strings.Join(p.Missing, ", ")
	}
	if p.UsePendingFailed {
		return workflow.Decision{Action: workflow.ActionHold, Reason: why + "; it waits for a classification"}
	}
	return workflow.Decision{Action: workflow.ActionFail, Reason: why}
}

// decideByDefault returns the decision of the first default action other than inherit; ok is
// false if there is none, or if we ended the attempt ourselves.
func decideByDefault(p *Policies, policies []*workflow.RetryPolicy, h *workflow.History, f *workflow.Failure) (workflow.Decision, bool) {
	if f.Cause.EndedByUs() {
		return workflow.Decision{}, false
	}
	for _, policy := range policies {
		if policy.DefaultAction == "" || policy.DefaultAction == workflow.ActionInherit {
			continue
		}
		r := &workflow.RetryRule{ID: defaultActionID, Action: policy.DefaultAction}
		return applyRule(p, policy, r, h, f), true
	}
	return workflow.Decision{}, false
}

// applyRule returns the decision of a rule. If its budget is used up, the job fails; no other
// rule is tried.
func applyRule(p *Policies, policy *workflow.RetryPolicy, r *workflow.RetryRule, h *workflow.History, f *workflow.Failure) workflow.Decision {
	key := policy.Key(r)
	d := workflow.Decision{Action: r.Action, Rule: key, Reason: fmt.Sprintf("rule %s: %s", key, f.Cause.Kind)}
	if r.OfRecovery() {
		d.Reason += " of the recovery script"
	}
	if r.MayHold() {
		d.HoldLimit = first(r.ClassifyTimeout, policy.ClassifyTimeout)
	}
	if r.Action != workflow.ActionRetry {
		return d
	}
	n := h.Rules[key]
	b, free := budget{n.Counted, limitOfRule(p, policy, r), limitName(policy, r)}, ""
	if d.Counted = r.UsesBudget(f.Cause); !d.Counted {
		b, free = budget{used: n.Free, limit: maxFreeRetries(r)}, "free "
	}
	spent := ""
	switch {
	case b.left() <= 0:
		spent = b.spent(free)
	case d.Counted:
		spent = spentBudget(p, h, p.MaxRetriesOfJob())
	case p.MaxRetriesOfJob() == 0:
		spent = "global_max_retries is 0"
	}
	if spent != "" {
		d.Action, d.Counted = workflow.ActionFail, false
		d.Reason += ", " + spent
		return d
	}
	if d.Counted {
		b = tightest(p, b, h, p.MaxRetriesOfJob())
	}
	d.Reason = fmt.Sprintf("%s, %s%s", d.Reason, free, b.retry())
	backoff := first(r.Backoff, policy.Backoff, p.DefaultBackoff)
	if backoff != nil {
		d.Delay, d.Jitter = backoff.Delay(n.Counted+n.Free+1), backoff.Jitter
	}
	d.Avoid, d.Mutate = first(r.AvoidNodes, policy.AvoidNodes), r.Mutate
	if r.RecoveryScript != "" {
		d.Action, d.RecoveryScript, d.OnRecoveryError = workflow.ActionRecover, r.RecoveryScript, workflow.ActionRetry
		if r.OnRecoveryError != "" {
			d.OnRecoveryError = r.OnRecoveryError
		}
	}
	return d
}

// limitOfRule returns how many counted retries a rule may grant.
func limitOfRule(p *Policies, policy *workflow.RetryPolicy, r *workflow.RetryRule) int64 {
	if own := first(r.Limit, policy.RetryLimit); own != nil {
		return *own
	}
	return p.MaxRetriesOfJob()
}

// maxFreeRetries returns how many uncounted retries a rule may grant.
func maxFreeRetries(r *workflow.RetryRule) int64 {
	if r.MaxFree != nil {
		return *r.MaxFree
	}
	return DefaultMaxFree
}

// UsesBudget reports whether the rule with a key explicitly makes all its retries use budget,
// even after preemptions and drains.
func UsesBudget(p *Policies, key string) bool {
	for _, policy := range p.All() {
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
func RuleLimit(p *Policies, key string) (workflow.RuleCount, bool) {
	limit, _, known := FindRuleLimit(p, key)
	return limit, known
}

// FindRuleLimit returns the same as RuleLimit, and the name of the setting that limits
// counted retries; that is empty for the rule's own limit.
func FindRuleLimit(p *Policies, key string) (limit workflow.RuleCount, name string, known bool) {
	if key == workflow.RuleClassified {
		return workflow.RuleCount{Counted: workflow.ClassifiedRetryLimit}, "", true
	}
	if h := p.Handler; h != nil {
		for i := range h.Rules {
			if handlerRuleKey(h, i) == key {
				return workflow.RuleCount{Counted: max(0, h.Rules[i].MaxRetries-1)}, "", true
			}
		}
	}
	builtIn := DefaultPolicy() // decides last about attempts that we ended
	for _, policy := range append(p.All(), &builtIn) {
		rules := append(slices.Clone(policy.Rules), workflow.RetryRule{ID: defaultActionID, Action: policy.DefaultAction})
		for i := range rules {
			r := &rules[i]
			if policy.Key(r) != key || r.Action != workflow.ActionRetry {
				continue
			}
			if r.MayCount() {
				limit.Counted, name = limitOfRule(p, policy, r), limitName(policy, r)
				if global := p.MaxRetriesOfJob(); global < limit.Counted {
					limit.Counted, name = global, limitOfJob
				}
			}
			if r.MayBeFree() {
				limit.Free = maxFreeRetries(r)
			}
			return limit, name, true
		}
	}
	return workflow.RuleCount{}, "", false
}

// spentBudget returns which budget that spans several rules is used up; "" if none is. The
// argument global is the maximum number of counted retries of the job.
func spentBudget(p *Policies, h *workflow.History, global int64) string {
	for _, b := range overall(p, h, global) {
		if b.left() <= 0 {
			return fmt.Sprintf("but %s is %d and %d %s used", b.name, b.limit, b.used, workflow.Plural(b.used, "is", "are"))
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
