package retry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// defaultActionID is the id of the rule that a policy's default action stands for.
const defaultActionID = "default_action"

// decideByPolicies applies the first rule that matches. If none does, the first default
// action that is more than inherit decides, before the server's policy is asked. What
// we ended ourselves is no failure that a default action is about.
func decideByPolicies(p *Policies, h *workflow.History, f *workflow.Failure) workflow.Decision {
	var without []*workflow.RetryPolicy // policies that said nothing
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
		return workflow.Decision{Action: workflow.ActionHold, Reason: why + "; it waits for a classification"}
	}
	return workflow.Decision{Action: workflow.ActionFail, Reason: why}
}

// decideByDefault applies the first default action that is more than inherit. It says
// what becomes of failures, and what we end ourselves is none.
func decideByDefault(p *Policies, policies []*workflow.RetryPolicy, h *workflow.History, f *workflow.Failure) (workflow.Decision, bool) {
	if f.Cause.Ours() {
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

// applyRule does what a rule says. A spent budget means fail, and no other rule.
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

// limitOfRule is how many counted retries a rule may grant.
func limitOfRule(p *Policies, policy *workflow.RetryPolicy, r *workflow.RetryRule) int64 {
	if own := first(r.Limit, policy.RetryLimit); own != nil {
		return *own
	}
	return p.MaxRetriesOfJob()
}

// maxFreeRetries is how many uncounted retries a rule may grant.
func maxFreeRetries(r *workflow.RetryRule) int64 {
	if r.MaxFree != nil {
		return *r.MaxFree
	}
	return DefaultMaxFree
}

// UsesBudget reports whether the rule with a key says that all its retries use
// budget, also of attempts that were taken from the job.
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

// FindRuleLimit is RuleLimit with the name of the limit that binds counted retries;
// that is empty if it is the rule's own.
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
	builtIn := DefaultPolicy() // which decides last about what we end ourselves
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

// spentBudget says which budget over several rules is used up; "" if none is. Global
// is how many counted retries the job may have of all of them.
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
