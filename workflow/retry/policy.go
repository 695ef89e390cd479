package retry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Policies are the rules that apply to a job. They are tried in this order:
// what the site attached to the queue, the failure handler, the job's policies,
// the workflow's, the server's default.
type Policies struct {
	Site     []workflow.RetryPolicy             `json:",omitempty"`
	Handler  *workflow.FailureHandlerDefinition // nil if the job has none
	Job      []workflow.RetryPolicy             `json:",omitempty"`
	Workflow []workflow.RetryPolicy             `json:",omitempty"`
	Default  workflow.RetryPolicy               // see DefaultPolicy
	// UsePendingFailed holds failures that nothing matched.
	UsePendingFailed bool
	// GlobalMaxRetries bounds the counted retries of a job in a run, whatever
	// granted them. Nil stands for DefaultGlobalMaxRetries, which does not bind
	// failure handlers; 0 grants no retry at all.
	GlobalMaxRetries *int64 `json:",omitempty"`
	// MaxRetriesTotal bounds the counted retries of all jobs in a run; nil: none.
	MaxRetriesTotal *int64            `json:",omitempty"`
	DefaultBackoff  *workflow.Backoff `json:",omitempty"` // of rules and policies that have none
	// OnRunTimeout is what the job says about attempts that were ended for their
	// time; fail and fail_workflow hold before all rules.
	OnRunTimeout workflow.TimeoutPolicy `json:",omitempty"`
	// NeverHeld is of end jobs and of the jobs of compensations: what would hold
	// one lets it fail, so that the end of the run waits for nobody.
	NeverHeld bool `json:",omitempty"`
	// SwitchedOff says that there are policies that are not asked, as they are switched
	// off on the server.
	SwitchedOff bool `json:",omitempty"`
	// Missing are names of policies that are not there any more.
	Missing []string `json:",omitempty"`
}

// DefaultGlobalMaxRetries is how many counted retries a job gets in a run if
// nobody says otherwise.
const DefaultGlobalMaxRetries = 20

// MaxRetriesOfJob is how many counted retries a job gets in a run.
func (p *Policies) MaxRetriesOfJob() int64 {
	if p.GlobalMaxRetries != nil {
		return *p.GlobalMaxRetries
	}
	return DefaultGlobalMaxRetries
}

// MarshalJSON writes the policies as they are stored and hashed. There a failure
// handler has the names of its fields, not those of the wire.
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

// Hash identifies the rules, so that a stored decision can be told from one
// that other rules would have made. Policies that decide alike may differ in
// it; different ones never agree.
func (p Policies) Hash() string {
	text, err := json.Marshal(p)
	if err != nil { // plain structs of strings and numbers
		panic(fmt.Sprintf("hash policies: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// The numbers of the built-in policy, and of rules that do not say.
const (
	DefaultMaxFree    = 50
	defaultInfraLimit = 3
)

// DefaultPolicy is what applies if nobody says otherwise: what was taken from a
// job is given back, what broke under it is tried elsewhere, and what it did
// itself stands.
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

// InOrder lists the retry policies behind the failure handler, in the order in
// which they are tried; the site's are in front of it.
func (p *Policies) InOrder() []*workflow.RetryPolicy {
	return slices.Concat(pointers(p.Job), pointers(p.Workflow), []*workflow.RetryPolicy{&p.Default})
}

// All lists the retry policies that apply, the site's first, in the order in which
// they are tried.
func (p *Policies) All() []*workflow.RetryPolicy { return append(pointers(p.Site), p.InOrder()...) }

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// OOMPartial is what the policies say about attempts that are in doubt: the first that
// says something decides.
func (p *Policies) OOMPartial() workflow.OOMPartial {
	for _, policy := range p.All() {
		if policy.OOMPartial != "" {
			return policy.OOMPartial
		}
	}
	return workflow.OOMFailLikely
}

// ApplySettings adds what the server says to what workflow and job say. The default is
// the policy that replaces the built-in one, nil if none does.
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

// PoliciesOff is added to the reason of a decision that retry policies might have
// changed.
const PoliciesOff = "retry policies are switched off on this server"

// PoliciesOffLine says for how many attempts no retry policy was asked; empty for
// none.
func PoliciesOffLine(attempts int64) string {
	if attempts == 0 {
		return ""
	}
	return fmt.Sprintf("%s, which were not asked about %s without success; `torc-slurm retry-policy settings --enabled true` switches them on",
		PoliciesOff, workflow.CountOf(attempts, "attempt", "attempts"))
}
