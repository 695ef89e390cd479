package retry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Policies are the rules that apply to a job. They are tried in this order: policies that the
// site attached to the queue, the failure handler, the job's policies, the workflow's, the
// server's default. They are stored as JSON with the names of the fields.
type Policies struct {
	Site     []workflow.RetryPolicy             `json:",omitempty"`
	Handler  *workflow.FailureHandlerDefinition // nil if the job has none
	Job      []workflow.RetryPolicy             `json:",omitempty"`
	Workflow []workflow.RetryPolicy             `json:",omitempty"`
	Default  workflow.RetryPolicy               // see DefaultPolicy
	// UsePendingFailed holds failures that nothing matched.
	UsePendingFailed bool
	// GlobalMaxRetries limits the counted retries of a job in a run. Nil means
	// DefaultGlobalMaxRetries, which does not apply to failure handlers; 0 means no retries.
	GlobalMaxRetries *int64 `json:",omitempty"`
	// MaxRetriesTotal limits the counted retries of all jobs in a run; nil: no limit.
	MaxRetriesTotal *int64            `json:",omitempty"`
	DefaultBackoff  *workflow.Backoff `json:",omitempty"` // for rules and policies without one
	// OnRunTimeout is what the job sets for attempts that exceed their time limit; fail and
	// fail_workflow take precedence over all rules.
	OnRunTimeout workflow.TimeoutPolicy `json:",omitempty"`
	// NeverHeld is set for end jobs and jobs of compensations: they fail instead of being
	// held, so that the end of the run does not wait for a user.
	NeverHeld bool `json:",omitempty"`
	// SwitchedOff says that there are policies that do not apply, because they are switched
	// off on the server.
	SwitchedOff bool `json:",omitempty"`
	// Missing has the names of policies that no longer exist.
	Missing []string `json:",omitempty"`
}

// DefaultGlobalMaxRetries is the default maximum number of counted retries of a job in a run.
const DefaultGlobalMaxRetries = 20

// MaxRetriesOfJob returns the maximum number of counted retries of a job in a run.
func (p *Policies) MaxRetriesOfJob() int64 {
	if p.GlobalMaxRetries != nil {
		return *p.GlobalMaxRetries
	}
	return DefaultGlobalMaxRetries
}

// MarshalJSON writes the policies as they are stored and hashed: with a failure handler
// under the names of its Go fields, not those of the API.
func (p Policies) MarshalJSON() ([]byte, error) {
	type handler struct {
		Name  string
		Rules []workflow.FailureRule
	}
	type rest Policies
	return json.Marshal(struct {
		Site    []workflow.RetryPolicy `json:",omitempty"`
		Handler *handler
		rest
	}{p.Site, (*handler)(p.Handler), rest(p)})
}

// Hash returns a hash of the rules, which is stored with each decision. Different policies
// have different hashes, even if their decisions are the same.
func (p Policies) Hash() string {
	text, err := json.Marshal(p)
	if err != nil { // impossible for structs of strings and numbers
		panic(fmt.Sprintf("hash policies: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// The limits of the built-in policy, and the defaults of rules.
const (
	DefaultMaxFree    = 50
	defaultInfraLimit = 3
)

// DefaultPolicy returns the built-in policy: preempted and drained attempts are retried for
// free, failures of the infrastructure are retried on another node, and failures of the
// command are not retried.
func DefaultPolicy() workflow.RetryPolicy {
	limit, yes, no := int64(defaultInfraLimit), true, false
	elsewhere := &workflow.AvoidNodes{Mode: workflow.AvoidLast}
	return workflow.RetryPolicy{Name: "default", Rules: []workflow.RetryRule{
		{ID: "preempted", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CausePreempted}}, Action: workflow.ActionRetry, Counted: &no},
		{ID: "drained", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseWalltime}, ByDrain: &yes}, Action: workflow.ActionRetry, Counted: &no},
		{ID: "infra", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseNodeFail, workflow.CauseLost}}, Action: workflow.ActionRetry, Limit: &limit, AvoidNodes: elsewhere},
		{ID: "launch", When: workflow.RuleMatch{Cause: []workflow.CauseKind{workflow.CauseLaunch}, OfCommand: &no}, Action: workflow.ActionRetry, Limit: &limit, AvoidNodes: elsewhere,
			Backoff: &workflow.Backoff{Kind: workflow.BackoffFixed, Initial: "5s"}},
	}}
}

// InOrder returns the retry policies that are tried after the failure handler, in their
// order. The site's are tried before it.
func (p *Policies) InOrder() []*workflow.RetryPolicy {
	return slices.Concat(pointers(p.Job), pointers(p.Workflow), []*workflow.RetryPolicy{&p.Default})
}

// All returns all retry policies in the order in which they are tried, the site's first.
func (p *Policies) All() []*workflow.RetryPolicy { return append(pointers(p.Site), p.InOrder()...) }

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// OOMPartial returns oom_partial of the first policy that sets it; "" if none does.
func (p *Policies) OOMPartial() workflow.OOMPartial {
	for _, policy := range p.All() {
		if policy.OOMPartial != "" {
			return policy.OOMPartial
		}
	}
	return workflow.OOMFailLikely
}

// ApplySettings adds the settings and policies of the server to those of the workflow and
// the job. The argument replaced is the policy that replaces the built-in one; nil if none
// does.
func ApplySettings(s *workflow.RetrySettings, p *Policies, site []workflow.RetryPolicy, replaced *workflow.RetryPolicy) {
	if limit := s.GlobalMaxRetries; limit != nil && (p.GlobalMaxRetries == nil || *limit < *p.GlobalMaxRetries) {
		p.GlobalMaxRetries = limit
	}
	p.Default = DefaultPolicy()
	if !s.PoliciesEnabled() {
		p.SwitchedOff = len(site)+len(p.Job)+len(p.Workflow) > 0 || replaced != nil
		p.Site, p.Job, p.Workflow = nil, nil, nil
		return
	}
	p.Site, p.DefaultBackoff = site, s.DefaultBackoff
	if replaced != nil {
		p.Default = *replaced
	}
}

// PoliciesOff is appended to the reason of a decision that retry policies might have changed.
const PoliciesOff = "retry policies are switched off on this server"

// PoliciesOffLine returns a line about attempts to which no retry policy was applied because
// policies are switched off; "" if there are none.
func PoliciesOffLine(attempts int64) string {
	if attempts == 0 {
		return ""
	}
	return fmt.Sprintf("%s and did not apply to %s; `torc-slurm retry-policy settings --enabled true` switches them on",
		PoliciesOff, workflow.CountOf(attempts, "unsuccessful attempt", "unsuccessful attempts"))
}
