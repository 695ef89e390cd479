package workflow

import (
	"fmt"
	"time"
)

// DeadlinePolicy is what happens when a deadline has passed.
type DeadlinePolicy string

// The policies.
const (
	DeadlineAlert   DeadlinePolicy = "alert"    // somebody is told, nothing else
	DeadlineStopNew DeadlinePolicy = "stop_new" // what is live goes on, nothing more is started
	DeadlineFail    DeadlinePolicy = "fail"     // what is live is ended, and the run has failed
)

// Deadline is how long a run may last.
type Deadline struct {
	// After is the time since the start of the run: P7D or 168h.
	After string `json:"after"`
	// Policy says what happens then; alert by default. With stop_new what is live
	// goes on, and nothing more is started; with fail what is live is ended, too.
	// In both cases the run has failed, if jobs are left.
	Policy DeadlinePolicy `json:"policy,omitempty" jsonschema:"enum=alert,enum=stop_new,enum=fail"`
}

// Duration is how long the run may last.
func (d *Deadline) Duration() time.Duration { return parsed(d.After, 0) }

// DueMS is when the deadline of a run passes that started then.
func (d *Deadline) DueMS(startMS int64) int64 { return startMS + d.Duration().Milliseconds() }

// Reason is why a run failed whose deadline passed.
func (d *Deadline) Reason() string {
	return fmt.Sprintf("its deadline passed, %s after its start (policy %s)", FormatDuration(d.Duration()), d.Policy)
}

// deadline checks a deadline.
func (p *problems) deadline(at string, d *Deadline) {
	if d == nil {
		return
	}
	p.someTime(at+".after", d.After)
	p.oneOf(at+".policy", string(d.Policy), "", "alert", "stop_new", "fail")
}
