package workflow

import (
	"fmt"
	"time"
)

// DeadlinePolicy is what happens when a deadline has passed.
type DeadlinePolicy string

// The values of DeadlinePolicy.
const (
	DeadlineAlert   DeadlinePolicy = "alert"    // an alert is raised, nothing else
	DeadlineStopNew DeadlinePolicy = "stop_new" // live jobs continue, no more jobs start
	DeadlineFail    DeadlinePolicy = "fail"     // live jobs are ended, and the run has failed
)

// Deadline is how long a run may last.
type Deadline struct {
	// After is the time since the start of the run: P7D or 168h.
	After string `json:"after"`
	// Policy says what happens at the deadline: alert (the default) only raises an alert.
	// With stop_new live jobs continue and no more jobs start; fail also ends the live
	// jobs. In both cases the run fails if jobs are left.
	Policy DeadlinePolicy `json:"policy,omitempty" jsonschema:"enum=alert,enum=stop_new,enum=fail"`
}

// Duration returns how long the run may last.
func (d *Deadline) Duration() time.Duration { return durationOr(d.After, 0) }

// DueMS returns when the deadline of a run that started at startMS passes.
func (d *Deadline) DueMS(startMS int64) int64 { return startMS + d.Duration().Milliseconds() }

// Reason returns why the run failed, for a run whose deadline has passed.
func (d *Deadline) Reason() string {
	return fmt.Sprintf("its deadline passed, %s after its start (policy %s)", FormatDuration(d.Duration()), d.Policy)
}

// deadline checks a deadline.
func (p *problems) deadline(at string, d *Deadline) {
	if d == nil {
		return
	}
	p.requiredDuration(at+".after", d.After)
	p.oneOf(at+".policy", string(d.Policy), "", "alert", "stop_new", "fail")
}
