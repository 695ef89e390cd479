package workflow

import "fmt"

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
	End              *EndPolicy    `json:"end,omitempty"`
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
	found.siblings(p.CancelSiblingsOn)
	found.end(p.End)
	return found
}

// JobPolicy is what a job says about its own failures; a nil field was not given.
// Jobs that say the same share it.
type JobPolicy struct {
	RetryPolicies []PolicyRef `json:"retry_policies,omitempty"`
}

// Validate returns everything that is wrong with it.
func (p *JobPolicy) Validate() []Problem {
	if p == nil {
		return nil
	}
	var found problems
	found.refs("retry_policies", p.RetryPolicies)
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
