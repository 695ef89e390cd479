package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timeout names one of the timeouts of a job.
type Timeout string

// The timeouts.
const (
	TimeoutQueue     Timeout = "queue"     // ready, but not claimed
	TimeoutRun       Timeout = "run"       // one attempt
	TimeoutHeartbeat Timeout = "heartbeat" // claimed or running, and its runner says nothing
	TimeoutTotal     Timeout = "total"     // all attempts and waits together
)

// String is the key in a specification.
func (t Timeout) String() string { return "timeouts." + string(t) }

// TimeoutPolicy is what happens when a timeout expires.
type TimeoutPolicy string

// The policies.
const (
	OnTimeoutRetry        TimeoutPolicy = "retry"         // the rules for retries decide
	OnTimeoutFail         TimeoutPolicy = "fail"          // the job ends without a retry
	OnTimeoutFailWorkflow TimeoutPolicy = "fail_workflow" // and the run with it
	OnTimeoutAlert        TimeoutPolicy = "alert"         // somebody is told, nothing else
)

// Fails reports whether the job gets no other attempt.
func (p TimeoutPolicy) Fails() bool { return p == OnTimeoutFail || p == OnTimeoutFailWorkflow }

// TimeLimit is how long something may last, and what happens then.
type TimeLimit struct {
	// After is the time: PT12H or 12h.
	After string `json:"after"`
	// Policy says what happens then.
	Policy TimeoutPolicy `json:"policy,omitempty" jsonschema:"enum=retry,enum=fail,enum=fail_workflow,enum=alert"`
}

// Duration is the time.
func (l *TimeLimit) Duration() time.Duration { return parsed(l.After, 0) }

// RunLimit is how long one attempt may last.
type RunLimit struct {
	// After is when the attempt is told to end: PT4H or 4h.
	After string `json:"after"`
	// Grace is how long it may take to end before it is killed; 30 s by default.
	Grace string `json:"grace,omitempty"`
	// Policy: retry (the rules for retries decide, the default), fail,
	// fail_workflow, or alert, with which it is not told to end.
	Policy TimeoutPolicy `json:"policy,omitempty" jsonschema:"enum=retry,enum=fail,enum=fail_workflow,enum=alert"`
}

// DefaultGrace is how long an attempt may take to end after its timeout.
const DefaultGrace = 30 * time.Second

// Enforced is what a runner has to do about it; nil if that is nothing.
func (l *RunLimit) Enforced() *RunTimeout {
	if l == nil || l.Policy == OnTimeoutAlert {
		return nil
	}
	return &RunTimeout{
		AfterSeconds: wholeSeconds(parsed(l.After, 0)), GraceSeconds: wholeSeconds(parsed(l.Grace, DefaultGrace)),
	}
}

// Timeouts bound a job in time.
type Timeouts struct {
	// Queue bounds how long the job is ready without being claimed. Policy: alert
	// (the default), fail, fail_workflow.
	Queue *TimeLimit `json:"queue,omitempty"`
	// Run bounds one attempt.
	Run *RunLimit `json:"run,omitempty"`
	// Heartbeat bounds how long the runner of the job says nothing; ten minutes,
	// if nobody else knows what became of it. Policy: retry (the default), fail,
	// fail_workflow, alert.
	Heartbeat *TimeLimit `json:"heartbeat,omitempty"`
	// Total bounds all attempts and waits together, since the job was ready first
	// in the run. Policy: fail (the default), fail_workflow, alert.
	Total *TimeLimit `json:"total,omitempty"`
}

// timeoutPolicies are the policies of each timeout, the default first, and why
// others make no sense.
var timeoutPolicies = map[Timeout]struct {
	allowed []TimeoutPolicy
	why     string
}{
	TimeoutQueue:     {[]TimeoutPolicy{OnTimeoutAlert, OnTimeoutFail, OnTimeoutFailWorkflow}, "a job that waits has nothing to be repeated"},
	TimeoutRun:       {[]TimeoutPolicy{OnTimeoutRetry, OnTimeoutFail, OnTimeoutFailWorkflow, OnTimeoutAlert}, ""},
	TimeoutHeartbeat: {[]TimeoutPolicy{OnTimeoutRetry, OnTimeoutFail, OnTimeoutFailWorkflow, OnTimeoutAlert}, ""},
	TimeoutTotal:     {[]TimeoutPolicy{OnTimeoutFail, OnTimeoutFailWorkflow, OnTimeoutAlert}, "its time is over, for another attempt too"},
}

// LeastHeartbeat is the shortest silence of a runner that can be noticed.
const LeastHeartbeat = time.Minute

// Limit is a timeout of a job: how long and what then, with the default policy
// where none was given. It is nil if there is none, and of the timeout of
// attempts also where the runner sees to it.
func (t *Timeouts) Limit(which Timeout) *TimeLimit {
	if t == nil {
		return nil
	}
	var l *TimeLimit
	switch which {
	case TimeoutQueue:
		l = t.Queue
	case TimeoutHeartbeat:
		l = t.Heartbeat
	case TimeoutTotal:
		l = t.Total
	case TimeoutRun:
		if t.Run != nil && t.Run.Policy == OnTimeoutAlert {
			l = &TimeLimit{After: t.Run.After, Policy: t.Run.Policy}
		}
	}
	if l == nil {
		return nil
	}
	limit := *l
	if limit.Policy == "" {
		limit.Policy = timeoutPolicies[which].allowed[0]
	}
	return &limit
}

// OnRun is what happens to a job whose attempt was ended for its time.
func (t *Timeouts) OnRun() TimeoutPolicy {
	if t == nil || t.Run == nil {
		return ""
	}
	return t.Run.Policy
}

// Watched reports whether the daemon has to look at the clock for it.
func (t *Timeouts) Watched() bool {
	return slices.ContainsFunc([]Timeout{TimeoutQueue, TimeoutRun, TimeoutHeartbeat, TimeoutTotal}, func(w Timeout) bool { return t.Limit(w) != nil })
}

// Bit tells the timeouts apart that have been told for a job.
func (t Timeout) Bit() int64 {
	return 1 << slices.Index([]Timeout{TimeoutQueue, TimeoutRun, TimeoutHeartbeat, TimeoutTotal}, t)
}

// Reason says that a timeout of a job has expired.
func (l *TimeLimit) Reason(which Timeout) string {
	what := map[Timeout]string{
		TimeoutQueue: "it was ready for %s and nobody claimed it", TimeoutRun: "its attempt has run for %s",
		TimeoutHeartbeat: "its runner has been silent for %s", TimeoutTotal: "it was ready first %s ago and is not complete",
	}[which]
	return fmt.Sprintf("%s: "+what, which, FormatDuration(l.Duration()))
}

// ExpiredCause is the cause of the end of a job that waited when a timeout
// expired: there was no process.
func (l *TimeLimit) ExpiredCause(which Timeout, codes ReturnCodes) Cause {
	return Cause{Kind: CauseTimeout, Confidence: Certain, Status: Terminated, ReturnCode: codes.TimeoutCode(), Text: l.Reason(which)}
}

// timeouts checks such timeouts.
func (p *problems) timeouts(at string, t *Timeouts) {
	if t == nil {
		return
	}
	if *t == (Timeouts{}) {
		p.add(at, "give queue, run, heartbeat or total", "it says nothing")
	}
	for _, x := range []struct {
		which Timeout
		limit *TimeLimit
	}{{TimeoutQueue, t.Queue}, {TimeoutHeartbeat, t.Heartbeat}, {TimeoutTotal, t.Total}} {
		if x.limit != nil {
			p.timeLimit(at+"."+string(x.which), x.which, x.limit.After, x.limit.Policy)
		}
	}
	if t.Run != nil {
		p.timeLimit(at+".run", TimeoutRun, t.Run.After, t.Run.Policy)
		p.duration(at+".run.grace", t.Run.Grace)
		if t.Run.Policy == OnTimeoutAlert && t.Run.Grace != "" {
			p.add(at+".run.grace", "remove it", "with the policy alert nothing is ended")
		}
	}
	if t.Heartbeat != nil {
		if d, err := ParseDuration(t.Heartbeat.After); err == nil && d > 0 && d < LeastHeartbeat {
			p.add(at+".heartbeat.after", "write PT1M or more", "runners speak every 15 seconds and may be late: less than a minute proves nothing")
		}
	}
	if t.Total != nil && t.Run != nil && t.Run.Policy != OnTimeoutAlert {
		if total, run := parsed(t.Total.After, 0), parsed(t.Run.After, 0); total > 0 && total < run {
			p.add(at+".total.after", "raise it, or lower run.after", "it is shorter than what one attempt may take, %s", FormatDuration(run))
		}
	}
}

func (p *problems) timeLimit(at string, which Timeout, after string, policy TimeoutPolicy) {
	p.someTime(at+".after", after)
	rules := timeoutPolicies[which]
	if policy == "" || slices.Contains(rules.allowed, policy) {
		return
	}
	names := make([]string, len(rules.allowed))
	for i, a := range rules.allowed {
		names[i] = string(a)
	}
	if policy == OnTimeoutRetry {
		p.add(at+".policy", "use one of "+strings.Join(names, ", "), "%s cannot have the policy retry: %s", which, rules.why)
		return
	}
	p.oneOf(at+".policy", string(policy), names...)
}

// someTime checks a duration that must be there and be a second at least.
func (p *problems) someTime(path, text string) {
	if text == "" {
		p.add(path, "write PT4H or 4h", "it is missing")
		return
	}
	d, err := ParseDuration(text)
	if p.err(path, err); err == nil && d < time.Second {
		p.add(path, "write PT4H or 4h", "a second is the least")
	}
}

// Alert tells that a timeout of jobs has expired.
func (l *TimeLimit) Alert(which Timeout, names []string, jobs int64) Alert {
	a := Alert{Kind: AlertTimeout, Subject: fmt.Sprintf("%s (%s) of %s", which, l.After, FirstFew(names, jobs))}
	if jobs == 1 {
		a.Text = l.Reason(which)
	} else {
		a.Text = fmt.Sprintf("Of %d jobs: %s", jobs, l.Reason(which))
	}
	return a
}

// OnlyRuns reports whether nothing is said but how long an attempt may last,
// which its runner sees to, and the rules what follows.
func (t *Timeouts) OnlyRuns() bool {
	return t.Run != nil && (t.Run.Policy == "" || t.Run.Policy == OnTimeoutRetry) && *t == (Timeouts{Run: t.Run})
}
