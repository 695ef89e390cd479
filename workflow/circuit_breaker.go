package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CircuitBreaker stops what fails again and again: when so many attempts have
// failed in a time, it trips, and its action holds for some time. An attempt is
// counted once, and none from before the end of an earlier trip.
type CircuitBreaker struct {
	// Name tells it from others, at most 63 characters; by default it is made of
	// the next three.
	Name string `json:"name,omitempty"`
	// Per says what is counted apart: each node, each category, or all of the workflow.
	Per      BreakerScope `json:"per" jsonschema:"enum=node,enum=category,enum=workflow"`
	Category string       `json:"category,omitempty"` // only failures of this category
	Cause    []CauseKind  `json:"cause,omitempty"`    // only failures of these causes
	// Threshold is how many failed attempts trip it.
	Threshold int64  `json:"threshold" jsonschema:"minimum=1"`
	Within    string `json:"within"` // the time in which they are counted, for example PT1H
	// Action: exclude_node keeps the workflow from the node, pause holds its claims,
	// hold has failures of this kind wait for a classification instead of a retry.
	Action BreakerAction `json:"action" jsonschema:"enum=exclude_node,enum=pause,enum=hold"`
	For    string        `json:"for,omitempty"` // how long that holds; 1 h by default
}

// BreakerScope is what a breaker counts apart.
type BreakerScope string

// The scopes.
const (
	PerNode     BreakerScope = "node"
	PerCategory BreakerScope = "category"
	PerWorkflow BreakerScope = "workflow"
)

// BreakerAction is what holds while a breaker is open.
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

// Key is its name, or one that follows from what it is about.
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

// Window is the time in which failures are counted.
func (b *CircuitBreaker) Window() time.Duration { return parsed(b.Within, 0) }

// Duration is how long its action holds.
func (b *CircuitBreaker) Duration() time.Duration { return parsed(b.For, defaultBreakerFor) }

// Subject is what a failure is counted under; ok is false if it is not counted.
func (b *CircuitBreaker) Subject(f *Failure) (subject string, ok bool) {
	if b.Category != "" && f.Evidence.Category != b.Category || b.Cause != nil && !slices.Contains(b.Cause, f.Cause.Kind) || !breaks(&f.Cause) {
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

// breaks reports whether an attempt without success is one that a breaker counts:
// not what was taken from the job or ended by somebody.
func breaks(c *Cause) bool {
	return c.Status.IsUnsuccessful() && c.Status != Canceled && !c.Taken()
}

// breakers checks circuit breakers.
func (p *problems) breakers(at string, list []CircuitBreaker, categories []FailureCategory) {
	if len(list) > maxBreakers {
		p.add(at, "remove some", "%d circuit breakers are too many, at most %d are taken", len(list), maxBreakers)
	}
	seen := map[string]bool{}
	for i := range list {
		b, at := &list[i], fmt.Sprintf("%s[%d]", at, i)
		if b.Name != "" && !policyName.MatchString(b.Name) {
			p.add(at+".name", "letters, digits, '.', '_' and '-', at most 63, a letter or digit in front", "%q is no name for a circuit breaker", b.Name)
		}
		if key := b.Key(); seen[key] {
			p.add(at, "remove one of them, or give each a name", "the circuit breaker %s is already there", key)
		} else {
			seen[key] = true
		}
		p.oneOf(at+".per", string(b.Per), string(PerNode), string(PerCategory), string(PerWorkflow))
		p.oneOf(at+".action", string(b.Action), string(BreakerExcludeNode), string(BreakerPause), string(BreakerHold))
		if b.Category != "" {
			p.knownCategory(at+".category", b.Category, categories)
		} else if b.Per == PerCategory && len(categories) == 0 {
			p.add(at+".per", "write failure_categories", "nothing is counted: the workflow has no failure_categories")
		}
		for k, cause := range b.Cause {
			p.oneOf(fmt.Sprintf("%s.cause[%d]", at, k), string(cause), failureCauses()...)
		}
		notEmpty(p, at+".cause", b.Cause)
		if len(b.Cause) > 0 && !slices.ContainsFunc(b.Cause, func(c CauseKind) bool { return c != CausePreempted }) {
			p.add(at+".cause", "name other causes, or remove the breaker", "nothing is counted: what was preempted is no fault of anybody")
		}
		if b.Threshold < 1 || b.Threshold > maxBreakerThreshold {
			p.add(at+".threshold", fmt.Sprintf("write 1 to %d", maxBreakerThreshold), "%d is not a number of failures to stop at", b.Threshold)
		}
		p.positive(at+".within", b.Within, true)
		p.positive(at+".for", b.For, false)
		switch {
		case b.Action == BreakerExcludeNode && b.Per != PerNode:
			p.add(at+".action", "write per: node, or action: pause", "exclude_node is for failures that are counted per node")
		case b.Action == BreakerHold && b.Per != PerCategory && b.Category == "" && b.Cause == nil:
			p.add(at+".action", "write category or cause, or action: pause", "hold would hold every failure of the workflow")
		}
	}
}

// positive checks a duration that must be longer than nothing.
func (p *problems) positive(at, text string, required bool) {
	switch d, err := ParseDuration(cmp.Or(text, "1s")); {
	case text == "" && required:
		p.add(at, "write for example PT1H", "the time is missing")
	case err != nil:
		p.err(at, err)
	case d < time.Second:
		p.add(at, "write for example PT1H", "%q is no time to count in", text)
	}
}

// NodeBreaker is the breaker that looks after the nodes of all workflows: it
// keeps them from nodes on which runners are lost, or that cannot start
// processes. A nil field stands for its default.
type NodeBreaker struct {
	Enabled   *bool  `json:"enabled,omitempty"`                          // true by default
	Threshold int64  `json:"threshold,omitempty" jsonschema:"minimum=1"` // 5 by default
	Within    string `json:"within,omitempty"`                           // 30 min by default
	For       string `json:"for,omitempty"`                              // 1 h by default
}

// nodeBreakerName is what trips of the node breaker are called.
const nodeBreakerName = "nodes"

// Breaker is the breaker as one of a workflow; ok is false if it is off.
func (n *NodeBreaker) Breaker() (b CircuitBreaker, ok bool) {
	b = CircuitBreaker{Name: nodeBreakerName, Per: PerNode, Cause: InfrastructureCauses(), Threshold: 5, Within: "PT30M", Action: BreakerExcludeNode, For: "PT1H"}
	if n == nil {
		return b, true
	}
	b.Threshold, b.Within, b.For = cmp.Or(n.Threshold, b.Threshold), cmp.Or(n.Within, b.Within), cmp.Or(n.For, b.For)
	return b, n.Enabled == nil || *n.Enabled
}

// InfrastructureCauses are those that say nothing about a job and much about the
// node that it ran on.
func InfrastructureCauses() []CauseKind { return []CauseKind{CauseNodeFail, CauseLost, CauseLaunch} }

// nodeBreaker checks such settings.
func (p *problems) nodeBreaker(at string, n *NodeBreaker) {
	if n == nil {
		return
	}
	if n.Threshold < 0 || n.Threshold > maxBreakerThreshold {
		p.add(at+".threshold", fmt.Sprintf("write 1 to %d, or enabled: false", maxBreakerThreshold), "%d is not a number of failures to stop at", n.Threshold)
	}
	p.positive(at+".within", n.Within, false)
	p.positive(at+".for", n.For, false)
}

// BreakerTrip is a circuit breaker that has opened. Times are in ms since the
// epoch.
type BreakerTrip struct {
	ID         int64         `json:"id"`
	WorkflowID int64         `json:"workflow_id,omitempty"` // 0: it is about the nodes of all workflows
	RunID      int64         `json:"run_id,omitempty"`
	Breaker    string        `json:"breaker"`
	Per        BreakerScope  `json:"per"`
	Subject    string        `json:"subject,omitempty"` // the node or the category
	Category   string        `json:"category,omitempty"`
	Cause      []CauseKind   `json:"cause,omitempty"`
	Action     BreakerAction `json:"action"`
	Threshold  int64         `json:"threshold,omitempty"` // how many attempts had to fail
	Within     string        `json:"within,omitempty"`    // in which time
	Reason     string        `json:"reason"`
	Attempts   []TripAttempt `json:"attempts"` // that tripped it, the latest few
	SinceMS    int64         `json:"since_ms"`
	UntilMS    int64         `json:"until_ms"`
	EndedMS    int64         `json:"ended_ms,omitempty"` // 0: nobody has ended it
	EndedWhy   string        `json:"ended_why,omitempty"`
}

// TripAttempt is an attempt that a breaker has counted.
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

// NewTrip says what has opened.
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

// Holds reports whether the trip has failures of this kind wait for a
// classification.
func (t *BreakerTrip) Holds(f *Failure) bool {
	if t.Action != BreakerHold {
		return false
	}
	b := CircuitBreaker{Per: t.Per, Category: t.Category, Cause: t.Cause}
	subject, ok := b.Subject(f)
	return ok && subject == t.Subject
}

// RuleBreaker is in front of a breaker's name where it decides that a job is held.
const RuleBreaker = "breaker:"

// Hold is what becomes of a decision to retry while the breaker is open.
func (t *BreakerTrip) Hold(d Decision) Decision {
	return Decision{Action: ActionHold, Rule: RuleBreaker + t.Breaker, PolicyHash: d.PolicyHash,
		Reason: fmt.Sprintf("%s; held instead of: %s", t.Reason, d.Reason)}
}
