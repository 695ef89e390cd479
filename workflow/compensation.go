package workflow

import (
	"fmt"
	"slices"
	"time"
)

// CompensationPolicy is what a workflow says about its compensation: the jobs
// that undo what a run did that was not successful. They are the undo commands of
// its jobs and the jobs of on_failure, in a stage of their own.
type CompensationPolicy struct {
	// Workflow is the file that its jobs were read from.
	Workflow string `json:"workflow,omitempty"`
	// When: after a run that failed (the default), that was canceled, or both.
	When []CompensationCase `json:"when,omitempty" jsonschema:"enum=failed,enum=canceled"`
	// Timeout bounds the compensation as a whole, from the end of the run; 24 h by default.
	Timeout string `json:"timeout,omitempty"`
	// MaxAttempts of each of its jobs; 3 by default.
	MaxAttempts *int64 `json:"max_attempts,omitempty" jsonschema:"minimum=1"`
}

// CompensationCase is after what end of a run there is a compensation.
type CompensationCase string

// The cases.
const (
	CompensateFailed   CompensationCase = "failed"
	CompensateCanceled CompensationCase = "canceled"
)

// What holds for a compensation that does not say.
const (
	DefaultCompensationTimeout  = 24 * time.Hour
	DefaultCompensationAttempts = 3
)

// after reports whether there is a compensation after a verdict. The policy may
// be nil: there are undo commands then, and no word on them.
func (p *CompensationPolicy) after(verdict EventType) bool {
	when := []CompensationCase{CompensateFailed}
	if p != nil && len(p.When) > 0 {
		when = p.When
	}
	switch verdict {
	case EventWorkflowFailed:
		return slices.Contains(when, CompensateFailed)
	case EventWorkflowCanceled:
		return slices.Contains(when, CompensateCanceled)
	}
	return false
}

// timeout is how long the compensation may take; one that cannot be read was
// refused.
func (p *CompensationPolicy) timeout() time.Duration {
	if p != nil && p.Timeout != "" {
		if d, err := ParseDuration(p.Timeout); err == nil {
			return d
		}
	}
	return DefaultCompensationTimeout
}

// Attempts is how many each job of the compensation has.
func (p *CompensationPolicy) Attempts() int64 {
	if p != nil && p.MaxAttempts != nil {
		return *p.MaxAttempts
	}
	return DefaultCompensationAttempts
}

// Compensates reports whether a run with this verdict is compensated, and how
// long that may take.
func (p *RunPolicy) Compensates(verdict EventType) (time.Duration, bool) {
	return p.OnFailure.timeout(), p.OnFailure.after(verdict)
}

// compensation checks what a workflow says about its compensation.
func (p *problems) compensation(c *CompensationPolicy) {
	if c == nil {
		return
	}
	const at = "on_failure"
	for i, when := range c.When {
		p.oneOf(fmt.Sprintf("%s.when[%d]", at, i), string(when), string(CompensateFailed), string(CompensateCanceled))
		if slices.Contains(c.When[:i], when) {
			p.add(at+".when", "remove one of them", "duplicate %s", when)
		}
	}
	if c.When != nil && len(c.When) == 0 {
		p.add(at+".when", "leave it out for failed, or write failed, canceled or both", "an empty list names no case")
	}
	p.duration(at+".timeout", c.Timeout)
	if d, err := ParseDuration(c.Timeout); err == nil && d < time.Second {
		p.add(at+".timeout", "leave it out for 24 hours", "a compensation of less than a second does nothing")
	}
	if n := c.MaxAttempts; n != nil && (*n < 1 || *n > MaxRetryLimit) {
		p.add(at+".max_attempts", "write 1 for no retry", "a job cannot have %d attempts", *n)
	}
}

// compensationPolicy is the name of the policy that jobs of a compensation have
// behind their own.
const compensationPolicy = "compensation"

// Retries is the policy of the jobs of a compensation, behind their own: so many
// attempts, which use no budget, and an end. Nobody is asked what to do, as a
// compensation never waits for a decision.
func (p *CompensationPolicy) Retries() *RetryPolicy {
	free, retries := false, p.Attempts()-1
	all := &RetryPolicy{Name: compensationPolicy, DefaultAction: ActionFail, Rules: []RetryRule{{
		ID: "taken", When: RuleMatch{Cause: []CauseKind{CausePreempted, CauseWalltime, CauseNodeFail, CauseLost}}, Action: ActionRetry, Counted: &free,
	}}}
	if retries > 0 {
		all.Rules = append(all.Rules, RetryRule{
			ID: "attempts", Action: ActionRetry, Counted: &free, MaxFree: &retries, Backoff: &Backoff{Initial: "1s", Factor: new(4.0), Max: "5m"},
		})
	}
	return all
}
