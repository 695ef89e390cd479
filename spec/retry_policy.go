package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// policyRef reads a policy or the name of a stored one.
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

// runPolicy returns the workflow's policy for failures; nil if it is empty.
func (b *builder) runPolicy() *workflow.RunPolicy {
	doc := b.doc
	p := &workflow.RunPolicy{
		RetryPolicies: doc.RetryPolicies, GlobalMaxRetries: doc.GlobalMaxRetries, MaxRetriesTotal: doc.MaxRetriesTotal,
		FailureCategories: doc.FailureCategories, MaxFailures: doc.MaxFailures, CircuitBreakers: doc.CircuitBreakers,
		CancelSiblingsOn: doc.CancelSiblingsOn, End: doc.End, Deadline: doc.Deadline, ClassifyTimeout: doc.ClassifyTimeout, Classifier: doc.Classifier, Notify: doc.Notify,
		OnFailure: b.onFailurePolicy(), AutoSchedule: doc.AutoSchedule,
	}
	if reflect.ValueOf(*p).IsZero() {
		return nil
	}
	checkSuccess(b.report, doc, b.parts.jobs.names)
	b.failProblems(doc.at, p.Validate())
	b.policies.addPatterns(doc.at, p.RetryPolicies)
	return p
}

// policies reads the policies of a workflow and its jobs.
type policies struct {
	*report
	shared   []workflow.PolicyRef // of the workflow
	patterns map[string]bool      // of stderr, in retry rules
}

// ofJob returns a job's policy for failures, which its instances share; nil if it is empty.
func (s *policies) ofJob(j *Job) *workflow.JobPolicy {
	p := &workflow.JobPolicy{RetryPolicies: j.RetryPolicies, Timeouts: j.Timeouts}
	s.failProblems(j.at, p.Validate())
	s.checkNames(j)
	s.addPatterns(j.at, p.RetryPolicies)
	if t := p.Timeouts; t != nil && t.OnlyRunLimit() { // only the runner applies it
		p.Timeouts = nil
	}
	if reflect.ValueOf(*p).IsZero() {
		return nil
	}
	return p
}

// checkNames checks that a job's policy does not have the name of another policy of the
// workflow, since retries are counted by name.
func (s *policies) checkNames(j *Job) {
	for i, own := range j.RetryPolicies {
		for _, of := range s.shared {
			switch {
			case own.PolicyName() == "" || own.PolicyName() != of.PolicyName():
			case own.Policy == nil && of.Policy == nil, own.Policy != nil && of.Policy != nil && own.Policy.Hash() == of.Policy.Hash():
			default:
				s.fail(j.at.find(fmt.Sprintf("retry_policies[%d]", i)), "rename one: retries are counted by the names of policies and rules",
					"the workflow has another retry policy named %s", clip(own.PolicyName()))
			}
		}
	}
}

// addPatterns collects the stderr patterns of policies below n.
func (s *policies) addPatterns(n *node, refs []workflow.PolicyRef) {
	for i := range refs {
		if refs[i].Policy == nil {
			continue
		}
		for k, rule := range refs[i].Policy.Rules {
			if rule.When.Stderr != "" {
				s.addPattern(n.find(fmt.Sprintf("retry_policies[%d].rules[%d].when.stderr", i, k)), rule.When.Stderr)
			}
		}
	}
}

// addPattern collects a stderr pattern. The first beyond the limit is an error, since
// runners would not search for it.
func (s *policies) addPattern(at *node, pattern string) {
	if s.patterns[pattern] {
		return
	}
	if s.patterns[pattern] = true; len(s.patterns) == failure.MaxStderrPatterns+1 {
		s.fail(at, "combine some with |, or use failure_categories", "the retry rules have more than %d different stderr patterns", failure.MaxStderrPatterns)
	}
}

// addAll collects the patterns of another file.
func (s *policies) addAll(at *node, of *policies) {
	for pattern := range of.patterns {
		s.addPattern(at, pattern)
	}
}

// failProblems reports problems with values below n, except those that the decoder has
// reported.
func (r *report) failProblems(n *node, found []workflow.Problem) {
	said := slices.Clone(r.errors)
	for _, p := range found {
		at := n.find(p.Path)
		path := at.path()
		if !slices.ContainsFunc(said, func(e *Error) bool { return e.Path == path }) {
			r.fail(at, p.Hint, "%s", p.Message)
		}
	}
}

// find returns the node at a path such as rules[1].when.stderr below n, or its last
// existing ancestor.
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
