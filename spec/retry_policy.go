package spec

import (
	"fmt"
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
	default:
		d.fail(n, "write the name of a stored policy, or a policy", "expected a retry policy, found %s", n.kind.article())
	}
}

// runPolicy reads what the workflow says about failures; nil if that is nothing.
func (b *builder) runPolicy() *workflow.RunPolicy {
	doc := b.doc
	p := &workflow.RunPolicy{
		RetryPolicies: doc.RetryPolicies, GlobalMaxRetries: doc.GlobalMaxRetries, MaxRetriesTotal: doc.MaxRetriesTotal,
		FailureCategories: doc.FailureCategories, MaxFailures: doc.MaxFailures, CircuitBreakers: doc.CircuitBreakers,
		CancelSiblingsOn: doc.CancelSiblingsOn, End: doc.End, Deadline: doc.Deadline, ClassifyTimeout: doc.ClassifyTimeout, Notify: doc.Notify,
		OnFailure: b.onFailurePolicy(), AutoSchedule: doc.AutoSchedule,
	}
	if reflect.ValueOf(*p).IsZero() {
		return nil
	}
	b.checkSuccess()
	b.failProblems(doc.at, p.Validate())
	b.addPatterns(doc.at, p.RetryPolicies)
	return p
}

// jobPolicy reads what a job says about its failures; nil if that is nothing.
// Its instances share it.
func (b *builder) jobPolicy(j *Job) *workflow.JobPolicy {
	p := &workflow.JobPolicy{RetryPolicies: j.RetryPolicies, Timeouts: j.Timeouts}
	b.failProblems(j.at, p.Validate())
	b.checkPolicyNames(j)
	b.addPatterns(j.at, p.RetryPolicies)
	if t := p.Timeouts; t != nil && t.OnlyRuns() { // the runner sees to it
		p.Timeouts = nil
	}
	if reflect.ValueOf(*p).IsZero() {
		return nil
	}
	return p
}

// checkPolicyNames makes sure that a job has no other policy by a name that the workflow
// gives to one: retries are counted by the names of policies and rules.
func (b *builder) checkPolicyNames(j *Job) {
	for i, own := range j.RetryPolicies {
		for _, of := range b.doc.RetryPolicies {
			switch {
			case own.PolicyName() == "" || own.PolicyName() != of.PolicyName():
			case own.Policy == nil && of.Policy == nil, own.Policy != nil && of.Policy != nil && own.Policy.Hash() == of.Policy.Hash():
			default:
				b.fail(j.at.find(fmt.Sprintf("retry_policies[%d]", i)), "rename one: retries are counted by the names of policies and rules",
					"the workflow has another retry policy named %s", clip(own.PolicyName()))
			}
		}
	}
}

// addPatterns notes the patterns of stderr in policies that are written below n.
func (b *builder) addPatterns(n *node, refs []workflow.PolicyRef) {
	for i := range refs {
		if refs[i].Policy == nil {
			continue
		}
		for k, rule := range refs[i].Policy.Rules {
			if rule.When.Stderr != "" {
				b.addPattern(n.find(fmt.Sprintf("retry_policies[%d].rules[%d].when.stderr", i, k)), rule.When.Stderr)
			}
		}
	}
}

// addPattern notes a pattern of stderr. The first that is one too many is an error:
// it would not be looked for.
func (b *builder) addPattern(at *node, pattern string) {
	if b.patterns[pattern] {
		return
	}
	if b.patterns[pattern] = true; len(b.patterns) == workflow.MaxStderrPatterns+1 {
		b.fail(at, "join some by |, or look for failure_categories", "more than %d different patterns of stderr in retry rules are too many", workflow.MaxStderrPatterns)
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
