package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CircuitBreaker stops repeated failures: when a number of attempts have failed within a
// time, it opens, and its action applies for some time. It counts each attempt once, and
// none that ended while it was open before.
type CircuitBreaker struct {
	// Name identifies it, at most 63 characters; by default it is made of per, category,
	// cause and action.
	Name string `json:"name,omitempty"`
	// Per says what is counted separately: each node, each category, or the whole workflow.
	Per      BreakerScope `json:"per" jsonschema:"enum=node,enum=category,enum=workflow"`
	Category string       `json:"category,omitempty"` // only failures of this category
	Cause    []CauseKind  `json:"cause,omitempty"`    // only failures of these causes
	// Threshold is the number of failed attempts that opens it.
	Threshold int64  `json:"threshold" jsonschema:"minimum=1"`
	Within    string `json:"within"` // the time in which they are counted, for example PT1H
	// Action is exclude_node (the workflow's jobs avoid the node), pause (claims are held)
	// or hold (failures of this kind wait for a classification instead of being retried).
	Action BreakerAction `json:"action" jsonschema:"enum=exclude_node,enum=pause,enum=hold"`
	For    string        `json:"for,omitempty"` // how long the action applies; 1 h by default
}

// BreakerScope is what a breaker counts separately.
type BreakerScope string

// The scopes.
const (
	PerNode     BreakerScope = "node"
	PerCategory BreakerScope = "category"
	PerWorkflow BreakerScope = "workflow"
)

// BreakerAction is what a breaker does while it is open.
type BreakerAction string

// The actions of breakers.
const (
	BreakerExcludeNode BreakerAction = "exclude_node"
	BreakerPause       BreakerAction = "pause"
	BreakerHold        BreakerAction = "hold"
)

// Bounds of breakers.
const (
	maxBreakers         = 50
	maxBreakerThreshold = 1_000_000
	defaultBreakerFor   = time.Hour
)

// Key returns the name of the breaker, or one made of its scope, category, causes and
// action.
func (b *CircuitBreaker) Key() string {
	if b.Name != "" {
		return b.Name
	}
	parts := []string{string(b.Per)}
	if b.Category != "" {
		parts = append(parts, b.Category)
	}
	for _, c := range b.Cause {
		parts = append(parts, string(c))
	}
	return strings.Join(append(parts, string(b.Action)), "-")
}

// Window returns the time in which failures are counted.
func (b *CircuitBreaker) Window() time.Duration { return durationOr(b.Within, 0) }

// Duration returns how long the breaker stays open.
func (b *CircuitBreaker) Duration() time.Duration { return durationOr(b.For, defaultBreakerFor) }

// Subject returns the node or category under which a failure is counted, "" for the
// whole workflow; ok is false if the breaker does not count it.
func (b *CircuitBreaker) Subject(f *Failure) (subject string, ok bool) {
	if b.Category != "" && f.Evidence.Category != b.Category || b.Cause != nil && !slices.Contains(b.Cause, f.Cause.Kind) || !countsForBreakers(&f.Cause) {
		return "", false
	}
	switch b.Per {
	case PerNode:
		return f.Node, f.Node != ""
	case PerCategory:
		return f.Evidence.Category, f.Evidence.Category != ""
	}
	return "", true
}

// countsForBreakers reports whether breakers count an attempt: it was unsuccessful, and
// neither canceled nor preempted nor drained.
func countsForBreakers(c *Cause) bool {
	return c.Status.IsUnsuccessful() && c.Status != Canceled && !c.PreemptedOrDrained()
}

// breakers checks circuit breakers.
func (p *problems) breakers(at string, list []CircuitBreaker, categories []FailureCategory) {
	if len(list) > maxBreakers {
		p.add(at, "remove some", "too many circuit breakers: %d, the limit is %d", len(list), maxBreakers)
	}
	seen := map[string]bool{}
	for i := range list {
		b, at := &list[i], fmt.Sprintf("%s[%d]", at, i)
		if b.Name != "" && !policyName.MatchString(b.Name) {
			p.add(at+".name", nameHint, "invalid name %q of a circuit breaker", b.Name)
		}
		if key := b.Key(); seen[key] {
			p.add(at, "remove one of them, or give each a name", "duplicate circuit breaker %s", key)
		} else {
			seen[key] = true
		}
		p.oneOf(at+".per", string(b.Per), string(PerNode), string(PerCategory), string(PerWorkflow))
		p.oneOf(at+".action", string(b.Action), string(BreakerExcludeNode), string(BreakerPause), string(BreakerHold))
		if b.Category != "" {
			p.knownCategory(at+".category", b.Category, categories)
		} else if b.Per == PerCategory && len(categories) == 0 {
			p.add(at+".per", "write failure_categories", "no failure would be counted: the workflow has no failure_categories")
		}
		for k, cause := range b.Cause {
			p.oneOf(fmt.Sprintf("%s.cause[%d]", at, k), string(cause), failureCauses()...)
		}
		notEmpty(p, at+".cause", b.Cause)
		if len(b.Cause) > 0 && !slices.ContainsFunc(b.Cause, func(c CauseKind) bool { return c != CausePreempted }) {
			p.add(at+".cause", "name other causes, or remove the breaker", "no failure would be counted: preempted attempts never count")
		}
		if b.Threshold < 1 || b.Threshold > maxBreakerThreshold {
			p.add(at+".threshold", fmt.Sprintf("write 1 to %d", maxBreakerThreshold), "invalid number of failures: %d", b.Threshold)
		}
		p.positive(at+".within", b.Within, true)
		p.positive(at+".for", b.For, false)
		switch {
		case b.Action == BreakerExcludeNode && b.Per != PerNode:
			p.add(at+".action", "write per: node, or action: pause", "exclude_node needs failures that are counted per node")
		case b.Action == BreakerHold && b.Per != PerCategory && b.Category == "" && b.Cause == nil:
			p.add(at+".action", "write category or cause, or action: pause", "hold would hold every failure of the workflow")
		}
	}
}

// positive checks a duration that must be a second or more.
func (p *problems) positive(at, text string, required bool) {
	switch d, err := ParseDuration(cmp.Or(text, "1s")); {
	case text == "" && required:
		p.add(at, "write for example PT1H", "the time is missing")
	case err != nil:
		p.err(at, err)
	case d < time.Second:
		p.add(at, "write for example PT1H", "%q is shorter than a second", text)
	}
}

// NodeBreaker is a breaker for all workflows: it excludes nodes on which runners are
// lost or that cannot start processes. A nil field means its default.
type NodeBreaker struct {
	Enabled   *bool  `json:"enabled,omitempty"`                          // true by default
	Threshold int64  `json:"threshold,omitempty" jsonschema:"minimum=1"` // 5 by default
	Within    string `json:"within,omitempty"`                           // 30 min by default
	For       string `json:"for,omitempty"`                              // 1 h by default
}

// nodeBreakerName is the name of the breaker in its trips.
const nodeBreakerName = "nodes"

// Breaker returns the settings as a circuit breaker; ok is false if it is disabled.
func (n *NodeBreaker) Breaker() (b CircuitBreaker, ok bool) {
	b = CircuitBreaker{Name: nodeBreakerName, Per: PerNode, Cause: InfrastructureCauses(), Threshold: 5, Within: "PT30M", Action: BreakerExcludeNode, For: "PT1H"}
	if n == nil {
		return b, true
	}
	b.Threshold, b.Within, b.For = cmp.Or(n.Threshold, b.Threshold), cmp.Or(n.Within, b.Within), cmp.Or(n.For, b.For)
	return b, n.Enabled == nil || *n.Enabled
}

// InfrastructureCauses returns the causes that point to the node rather than to the job.
func InfrastructureCauses() []CauseKind { return []CauseKind{CauseNodeFail, CauseLost, CauseLaunch} }

// nodeBreaker checks the settings of the node breaker.
func (p *problems) nodeBreaker(at string, n *NodeBreaker) {
	if n == nil {
		return
	}
	if n.Threshold < 0 || n.Threshold > maxBreakerThreshold {
		p.add(at+".threshold", fmt.Sprintf("write 1 to %d, or enabled: false", maxBreakerThreshold), "invalid number of failures: %d", n.Threshold)
	}
	p.positive(at+".within", n.Within, false)
	p.positive(at+".for", n.For, false)
}

// BreakerTrip records that a circuit breaker opened. Times are in ms since the epoch.
type BreakerTrip struct {
	ID         int64         `json:"id"`
	WorkflowID int64         `json:"workflow_id,omitempty"` // 0: it applies to all workflows
	RunID      int64         `json:"run_id,omitempty"`
	Breaker    string        `json:"breaker"`
	Per        BreakerScope  `json:"per"`
	Subject    string        `json:"subject,omitempty"` // the node or the category
	Category   string        `json:"category,omitempty"`
	Cause      []CauseKind   `json:"cause,omitempty"`
	Action     BreakerAction `json:"action"`
	Threshold  int64         `json:"threshold,omitempty"` // how many attempts had to fail
	Within     string        `json:"within,omitempty"`    // the time in which they had to fail
	Reason     string        `json:"reason"`
	Attempts   []TripAttempt `json:"attempts"` // the latest few that it counted
	SinceMS    int64         `json:"since_ms"`
	UntilMS    int64         `json:"until_ms"`
	EndedMS    int64         `json:"ended_ms,omitempty"` // 0: it was not reset before UntilMS
	EndedWhy   string        `json:"ended_why,omitempty"`
}

// TripAttempt is an attempt that a breaker counted.
type TripAttempt struct {
	WorkflowID int64     `json:"workflow_id"`
	JobID      int64     `json:"job_id"`
	AttemptID  int64     `json:"attempt_id"`
	Node       string    `json:"node,omitempty"`
	Cause      CauseKind `json:"cause"`
	EndedMS    int64     `json:"ended_ms"`
}

// BreakerPayload is the data of EventBreakerOpened and EventBreakerClosed.
type BreakerPayload struct {
	Category string `json:"category"` // workflow
	BreakerTrip
	CategoryOfFailure string `json:"category_of_failure,omitempty"`
}

// NewTrip returns the record of the breaker opening now.
func (b *CircuitBreaker) NewTrip(subject string, attempts []TripAttempt, count, nowMS int64) BreakerTrip {
	t := BreakerTrip{
		Breaker: b.Key(), Per: b.Per, Subject: subject, Category: b.Category, Cause: b.Cause, Action: b.Action, Attempts: attempts,
		Threshold: b.Threshold, Within: b.Within, SinceMS: nowMS, UntilMS: nowMS + b.Duration().Milliseconds(),
	}
	what := CountOf(count, "attempt has failed", "attempts have failed")
	if b.Category != "" {
		what += " with category " + b.Category
	}
	if len(b.Cause) > 0 {
		what += " by cause " + joinCauses(b.Cause)
	}
	switch b.Per {
	case PerNode:
		what += " on " + subject
	case PerCategory:
		if b.Category == "" {
			what += " with category " + subject
		}
	}
	t.Reason = fmt.Sprintf("circuit breaker %s: %s within %s", t.Breaker, what, FormatDuration(b.Window()))
	return t
}

func joinCauses(causes []CauseKind) string {
	names := make([]string, len(causes))
	for i, c := range causes {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// Holds reports whether the open breaker makes a failure wait for a classification.
func (t *BreakerTrip) Holds(f *Failure) bool {
	if t.Action != BreakerHold {
		return false
	}
	b := CircuitBreaker{Per: t.Per, Category: t.Category, Cause: t.Cause}
	subject, ok := b.Subject(f)
	return ok && subject == t.Subject
}

// RuleBreaker precedes the name of a breaker in Decision.Rule when the breaker decided
// that a job is held.
const RuleBreaker = "breaker:"

// Hold returns the decision that replaces a retry while the breaker is open.
func (t *BreakerTrip) Hold(d Decision) Decision {
	return Decision{Action: ActionHold, Rule: RuleBreaker + t.Breaker, PolicyHash: d.PolicyHash,
		Reason: fmt.Sprintf("%s; held instead of: %s", t.Reason, d.Reason)}
}
