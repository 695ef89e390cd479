package workflow

import (
	"fmt"
	"slices"
	"time"
)

// CompensationPolicy configures a workflow's compensation: the jobs that undo an
// unsuccessful run. They are the undo commands of its jobs and the jobs of on_failure, in
// a stage of their own.
type CompensationPolicy struct {
	// Workflow is the file that its jobs were read from.
	Workflow string `json:"workflow,omitempty"`
	// When says which runs are compensated: those that failed (the default), those that
	// were canceled, or both.
	When []CompensationCase `json:"when,omitempty" jsonschema:"enum=failed,enum=canceled"`
	// Timeout bounds the compensation as a whole, from the end of the run; 24 h by default.
	Timeout string `json:"timeout,omitempty"`
	// MaxAttempts is the maximum number of attempts of each of its jobs; 3 by default.
	MaxAttempts *int64 `json:"max_attempts,omitempty" jsonschema:"minimum=1"`
}

// CompensationCase is an outcome of a run that leads to a compensation.
type CompensationCase string

// The cases.
const (
	CompensateFailed   CompensationCase = "failed"
	CompensateCanceled CompensationCase = "canceled"
)

// The defaults of a compensation.
const (
	DefaultCompensationTimeout  = 24 * time.Hour
	DefaultCompensationAttempts = 3
)

// after reports whether there is a compensation after a verdict. The policy may be nil:
// then there are only undo commands, and the defaults apply.
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

// timeout returns how long the compensation may take. The text was validated before.
func (p *CompensationPolicy) timeout() time.Duration {
	if p != nil && p.Timeout != "" {
		if d, err := ParseDuration(p.Timeout); err == nil {
			return d
		}
	}
	return DefaultCompensationTimeout
}

// Attempts returns the maximum number of attempts of each job of the compensation.
func (p *CompensationPolicy) Attempts() int64 {
	if p != nil && p.MaxAttempts != nil {
		return *p.MaxAttempts
	}
	return DefaultCompensationAttempts
}

// Compensates returns whether a run with this verdict is compensated, and how long the
// compensation may take.
func (p *RunPolicy) Compensates(verdict EventType) (time.Duration, bool) {
	return p.OnFailure.timeout(), p.OnFailure.after(verdict)
}

// compensation checks the settings of a compensation.
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
		p.add(at+".when", "remove it for failed, or write failed, canceled or both", "an empty list")
	}
	p.duration(at+".timeout", c.Timeout)
	if d, err := ParseDuration(c.Timeout); err == nil && d < time.Second {
		p.add(at+".timeout", "remove it for 24 hours, or write 1s or more", "timeout must be at least a second")
	}
	if n := c.MaxAttempts; n != nil && (*n < 1 || *n > MaxRetryLimit) {
		p.add(at+".max_attempts", fmt.Sprintf("write 1 to %d; 1 means no retry", MaxRetryLimit), "invalid number of attempts: %d", *n)
	}
}

// compensationPolicy is the name of the policy that applies to jobs of a compensation
// after their own.
const compensationPolicy = "compensation"

// Retries returns the policy that applies to jobs of a compensation after their own. It
// grants a number of retries, which use no budget, and then fails the job; it never holds
// one, because a compensation must not wait for a user.
func (p *CompensationPolicy) Retries() *RetryPolicy {
	free, retries := false, p.Attempts()-1
	all := &RetryPolicy{Name: compensationPolicy, DefaultAction: ActionFail, Rules: []RetryRule{{
		// The id stands in stored counters of retries; it cannot change.
		ID: "taken", When: RuleMatch{Cause: []CauseKind{CausePreempted, CauseWalltime, CauseNodeFail, CauseLost}}, Action: ActionRetry, Counted: &free,
	}}}
	if retries > 0 {
		all.Rules = append(all.Rules, RetryRule{
			ID: "attempts", Action: ActionRetry, Counted: &free, MaxFree: &retries, Backoff: &Backoff{Initial: "1s", Factor: new(4.0), Max: "5m"},
		})
	}
	return all
}
