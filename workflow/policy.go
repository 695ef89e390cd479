package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Policies are the rules that apply to a job. They are tried in this order:
// what the site attached to the queue, the failure handler, the job's policies,
// the workflow's, the server's default.
type Policies struct {
	Site     []RetryPolicy             `json:",omitempty"`
	Handler  *FailureHandlerDefinition // nil if the job has none
	Job      []RetryPolicy             `json:",omitempty"`
	Workflow []RetryPolicy             `json:",omitempty"`
	Default  RetryPolicy               // see DefaultPolicy
	// UsePendingFailed holds failures that nothing matched.
	UsePendingFailed bool
	// GlobalMaxRetries bounds the counted retries of a job in a run, whatever
	// granted them. Nil stands for DefaultGlobalMaxRetries, which does not bind
	// failure handlers; 0 grants no retry at all.
	GlobalMaxRetries *int64 `json:",omitempty"`
	// MaxRetriesTotal bounds the counted retries of all jobs in a run; nil: none.
	MaxRetriesTotal *int64   `json:",omitempty"`
	DefaultBackoff  *Backoff `json:",omitempty"` // of rules and policies that have none
	// OnRunTimeout is what the job says about attempts that were ended for their
	// time; fail and fail_workflow hold before all rules.
	OnRunTimeout TimeoutPolicy `json:",omitempty"`
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
		Rules []FailureRule
	}
	type rest Policies
	return json.Marshal(struct {
		Site    []RetryPolicy `json:",omitempty"`
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
func DefaultPolicy() RetryPolicy {
	limit, yes, no := int64(defaultInfraLimit), true, false
	elsewhere := &AvoidNodes{Mode: AvoidLast}
	return RetryPolicy{Name: "default", Rules: []RetryRule{
		{ID: "preempted", When: RuleMatch{Cause: []CauseKind{CausePreempted}}, Action: ActionRetry, Counted: &no},
		{ID: "drained", When: RuleMatch{Cause: []CauseKind{CauseWalltime}, ByDrain: &yes}, Action: ActionRetry, Counted: &no},
		{ID: "infra", When: RuleMatch{Cause: []CauseKind{CauseNodeFail, CauseLost}}, Action: ActionRetry, Limit: &limit, AvoidNodes: elsewhere},
		{ID: "launch", When: RuleMatch{Cause: []CauseKind{CauseLaunch}, OfCommand: &no}, Action: ActionRetry, Limit: &limit, AvoidNodes: elsewhere,
			Backoff: &Backoff{Kind: BackoffFixed, Initial: "5s"}},
	}}
}

// InOrder lists the retry policies behind the failure handler, in the order in
// which they are tried; the site's are in front of it.
func (p *Policies) InOrder() []*RetryPolicy {
	return slices.Concat(pointers(p.Job), pointers(p.Workflow), []*RetryPolicy{&p.Default})
}

// All lists the retry policies that apply, the site's first, in the order in which
// they are tried.
func (p *Policies) All() []*RetryPolicy { return append(pointers(p.Site), p.InOrder()...) }

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}
