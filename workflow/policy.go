package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Policies are the rules that apply to a job. They are tried in the order of
// the engine's design: the failure handler, then ordered policies, of which the
// server's default is the last.
type Policies struct {
	Handler          *FailureHandlerDefinition // nil if the job has none
	UsePendingFailed bool
	Default          Policy // see DefaultPolicy
}

// ordered lists the policies that are tried after the failure handler.
func (p Policies) ordered() []Policy { return []Policy{p.Default} }

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

// Policy is an ordered list of rules; the first rule that matches decides.
type Policy struct {
	Name  string
	Rules []PolicyRule
}

// PolicyRule says what to do for some causes. It grants Limit retries that are
// counted, or MaxFree that are not.
type PolicyRule struct {
	ID      string
	Causes  []CauseKind
	Action  Action
	Limit   int64 // retries, if Counted
	Counted bool
	MaxFree int64 // retries, if not Counted
	Delay   time.Duration
	// AvoidLast keeps the next attempt off the node of this one.
	AvoidLast bool
	// OnlyByDrain: walltime only if our own drain cut the attempt.
	OnlyByDrain bool
	// OnlyOfNode: launch failures only if the command is not at fault.
	OnlyOfNode bool
}

// The numbers of the built-in policy.
const (
	defaultMaxFree     = 50
	defaultInfraLimit  = 3
	defaultLaunchDelay = 5 * time.Second
)

// DefaultPolicy is what applies if nobody says otherwise: what was taken from a
// job is given back, what broke under it is tried elsewhere, and what it did
// itself stands.
func DefaultPolicy() Policy {
	infra := func(id string, delay time.Duration, causes ...CauseKind) PolicyRule {
		return PolicyRule{ID: "default:" + id, Causes: causes, Action: ActionRetry,
			Counted: true, Limit: defaultInfraLimit, Delay: delay, AvoidLast: true}
	}
	launch := infra("launch", defaultLaunchDelay, CauseLaunch)
	launch.OnlyOfNode = true
	return Policy{Name: "default", Rules: []PolicyRule{
		{ID: "default:preempted", Causes: []CauseKind{CausePreempted}, Action: ActionRetry, MaxFree: defaultMaxFree},
		{ID: "default:drained", Causes: []CauseKind{CauseWalltime}, Action: ActionRetry, MaxFree: defaultMaxFree, OnlyByDrain: true},
		infra("infra", 0, CauseNodeFail, CauseLost),
		launch,
	}}
}

// match returns the first rule that is about the cause, nil if there is none.
func (p Policy) match(c Cause) *PolicyRule {
	for i := range p.Rules {
		if p.Rules[i].matches(c) {
			return &p.Rules[i]
		}
	}
	return nil
}

func (r *PolicyRule) matches(c Cause) bool {
	return slices.Contains(r.Causes, c.Kind) && (!r.OnlyByDrain || c.ByDrain) && (!r.OnlyOfNode || !c.OfCommand)
}

// decide applies the rule: a spent budget means fail, and no other rule.
func (r *PolicyRule) decide(h History, c Cause) Decision {
	d := Decision{Action: r.Action, Rule: r.ID, Reason: fmt.Sprintf("rule %s: %s", r.ID, c.Kind)}
	if r.Action != ActionRetry {
		return d
	}
	used, limit, free := h.Rules[r.ID].Free, r.MaxFree, "free "
	if r.Counted {
		used, limit, free = h.Rules[r.ID].Counted, r.Limit, ""
	}
	if used >= limit {
		d.Action = ActionFail
		d.Reason = fmt.Sprintf("%s, all %d %s%s used", d.Reason, limit, free, plural(limit, "retry", "retries"))
		return d
	}
	d.Reason = fmt.Sprintf("%s, %sretry %d of %d", d.Reason, free, used+1, limit)
	d.Counted, d.Delay, d.AvoidNode = r.Counted, r.Delay, r.AvoidLast
	return d
}
