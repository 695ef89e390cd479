package spec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// policyRef reads the name of a stored policy, or a policy.
func (d *decoder) policyRef(n *node, v reflect.Value) {
	ref := v.Addr().Interface().(*workflow.PolicyRef)
	switch n.kind {
	case kindString:
		ref.Name = n.text
	case kindMap:
		ref.Policy = &workflow.RetryPolicy{}
		d.object(n, reflect.ValueOf(ref.Policy).Elem())
		d.warnOfMatchers(n)
	default:
		d.fail(n, "write the name of a stored policy, or a policy", "expected a retry policy, found %s", n.kind.article())
	}
}

// runPolicy reads what the workflow says about failures; nil if that is nothing.
func (b *builder) runPolicy() *workflow.RunPolicy {
	doc := b.doc
	p := &workflow.RunPolicy{
		RetryPolicies: doc.RetryPolicies, GlobalMaxRetries: doc.GlobalMaxRetries, MaxRetriesTotal: doc.MaxRetriesTotal,
		CancelSiblingsOn: doc.CancelSiblingsOn, End: doc.End,
	}
	if reflect.ValueOf(*p).IsZero() {
		return nil
	}
	b.checkSuccess()
	b.failProblems(doc.at, p.Validate())
	return p
}

// jobPolicy reads what a job says about its failures; nil if that is nothing.
// Its instances share it.
func (b *builder) jobPolicy(j *Job) *workflow.JobPolicy {
	p := &workflow.JobPolicy{RetryPolicies: j.RetryPolicies}
	if reflect.ValueOf(*p).IsZero() {
		return nil
	}
	b.failProblems(j.at, p.Validate())
	return p
}

// warnOfMatchers says which matchers of a policy hold for no failure yet.
func (r *report) warnOfMatchers(policy *node) {
	rules := policy.child("rules")
	if rules == nil {
		return
	}
	for _, rule := range rules.items {
		when := rule.child("when")
		for _, key := range []string{"category", "subcategory", "onFailureCategory"} {
			for _, at := range []*node{when.child(key), rule.child(key)} {
				if at != nil {
					r.warnKey(at, "use stderr or termination_message", "the rule never matches: failures have no categories yet")
				}
			}
		}
		if at := when.child("component"); at != nil && at.text == string(workflow.ComponentRecovery) {
			r.warnKey(at, "use on_recovery_error", "the rule never matches: failures of recovery scripts are not looked at yet")
		}
	}
}

// failProblems reports what is wrong with values below n. What the decoder has
// something to say about is not reported twice.
func (b *builder) failProblems(n *node, found []workflow.Problem) {
	said := slices.Clone(b.errors)
	for _, p := range found {
		at := n.find(p.Path)
		path := at.path()
		if !slices.ContainsFunc(said, func(e *Error) bool { return e.Path == path }) {
			b.fail(at, p.Hint, "%s", p.Message)
		}
	}
}

// find returns the node at a path such as rules[1].when.stderr below n, or the
// last one on the way that is there.
func (n *node) find(path string) *node {
	for part := range strings.SplitSeq(path, ".") {
		key, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		c := n.child(key)
		if c == nil {
			return n
		}
		n = c
		if i, err := strconv.Atoi(index); err == nil {
			n = n.item(i)
		}
	}
	return n
}
