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
	TimeoutHeartbeat Timeout = "heartbeat" // claimed or running, and its runner sends no turns
	TimeoutTotal     Timeout = "total"     // all attempts and waits together
)

// String returns the key in a specification: "timeouts.queue".
func (t Timeout) String() string { return "timeouts." + string(t) }

// TimeoutPolicy is what happens when a timeout expires.
type TimeoutPolicy string

// The values of TimeoutPolicy.
const (
	OnTimeoutRetry        TimeoutPolicy = "retry"         // the retry policies decide
	OnTimeoutFail         TimeoutPolicy = "fail"          // the job fails without a retry
	OnTimeoutFailWorkflow TimeoutPolicy = "fail_workflow" // the job fails, and the run is aborted
	OnTimeoutAlert        TimeoutPolicy = "alert"         // an alert is raised, nothing else
)

// Fails reports whether the job fails without a retry.
func (p TimeoutPolicy) Fails() bool { return p == OnTimeoutFail || p == OnTimeoutFailWorkflow }

// TimeLimit is how long something may last, and what happens then.
type TimeLimit struct {
	// After is the time limit: PT12H or 12h.
	After string `json:"after"`
	// Policy says what happens then.
	Policy TimeoutPolicy `json:"policy,omitempty" jsonschema:"enum=retry,enum=fail,enum=fail_workflow,enum=alert"`
}

// Duration returns the time limit.
func (l *TimeLimit) Duration() time.Duration { return durationOr(l.After, 0) }

// RunLimit is how long one attempt may last.
type RunLimit struct {
	// After is when the attempt is told to terminate: PT4H or 4h.
	After string `json:"after"`
	// Grace is how long it may take to terminate before it is killed; 30 s by default.
	Grace string `json:"grace,omitempty"`
	// Policy is retry (the retry policies decide; the default), fail, fail_workflow, or
	// alert, which does not end the attempt.
	Policy TimeoutPolicy `json:"policy,omitempty" jsonschema:"enum=retry,enum=fail,enum=fail_workflow,enum=alert"`
}

// DefaultGrace is how long an attempt may take to terminate after its timeout.
const DefaultGrace = 30 * time.Second

// Enforced returns the limit that a runner enforces; nil if it enforces none.
func (l *RunLimit) Enforced() *RunTimeout {
	if l == nil || l.Policy == OnTimeoutAlert {
		return nil
	}
	return &RunTimeout{
		AfterSeconds: wholeSeconds(durationOr(l.After, 0)), GraceSeconds: wholeSeconds(durationOr(l.Grace, DefaultGrace)),
	}
}

// Timeouts are the time limits of a job.
type Timeouts struct {
	// Queue limits how long the job is ready without being claimed. Policy is alert (the
	// default), fail or fail_workflow.
	Queue *TimeLimit `json:"queue,omitempty"`
	// Run limits one attempt.
	Run *RunLimit `json:"run,omitempty"`
	// Heartbeat limits how long the runner of the job may be silent; ten minutes by default,
	// unless Slurm or the node reports earlier that the runner is gone. Policy is retry (the
	// default), fail, fail_workflow or alert.
	Heartbeat *TimeLimit `json:"heartbeat,omitempty"`
	// Total limits all attempts and waits together, from when the job was first ready in the
	// run. Policy is fail (the default), fail_workflow or alert.
	Total *TimeLimit `json:"total,omitempty"`
}

// timeoutPolicies has the valid policies of each timeout, the default first, and why
// retry is not valid.
var timeoutPolicies = map[Timeout]struct {
	allowed []TimeoutPolicy
	why     string
}{
	TimeoutQueue:     {[]TimeoutPolicy{OnTimeoutAlert, OnTimeoutFail, OnTimeoutFailWorkflow}, "a waiting job has no attempt to repeat"},
	TimeoutRun:       {[]TimeoutPolicy{OnTimeoutRetry, OnTimeoutFail, OnTimeoutFailWorkflow, OnTimeoutAlert}, ""},
	TimeoutHeartbeat: {[]TimeoutPolicy{OnTimeoutRetry, OnTimeoutFail, OnTimeoutFailWorkflow, OnTimeoutAlert}, ""},
	TimeoutTotal:     {[]TimeoutPolicy{OnTimeoutFail, OnTimeoutFailWorkflow, OnTimeoutAlert}, "no time is left for another attempt"},
}

// LeastHeartbeat is the shortest silence of a runner that can be detected.
const LeastHeartbeat = time.Minute

// Limit returns a timeout of a job, with the default policy if none was given. It returns
// nil if there is none, and for TimeoutRun also if the runner enforces it.
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

// OnRunTimeout returns what happens to a job whose attempt exceeded its time limit; "" if
// that was not given.
func (t *Timeouts) OnRunTimeout() TimeoutPolicy {
	if t == nil || t.Run == nil {
		return ""
	}
	return t.Run.Policy
}

// NeedDaemon reports whether the daemon has to check one of the timeouts.
func (t *Timeouts) NeedDaemon() bool {
	return slices.ContainsFunc([]Timeout{TimeoutQueue, TimeoutRun, TimeoutHeartbeat, TimeoutTotal}, func(w Timeout) bool { return t.Limit(w) != nil })
}

// Bit returns the bit of the timeout in the stored set of those that have already expired
// for a job.
func (t Timeout) Bit() int64 {
	return 1 << slices.Index([]Timeout{TimeoutQueue, TimeoutRun, TimeoutHeartbeat, TimeoutTotal}, t)
}

// Reason returns the text for an expired timeout of a job.
func (l *TimeLimit) Reason(which Timeout) string {
	what := map[Timeout]string{
		TimeoutQueue: "it was ready for %s and no runner claimed it", TimeoutRun: "its attempt has run for %s",
		TimeoutHeartbeat: "its runner has been silent for %s", TimeoutTotal: "it was first ready %s ago and is not complete",
	}[which]
	return fmt.Sprintf("%s: "+what, which, FormatDuration(l.Duration()))
}

// ExpiredCause returns the cause for a job that ended because a timeout expired while it
// waited, without a process.
func (l *TimeLimit) ExpiredCause(which Timeout, codes ReturnCodes) Cause {
	return Cause{Kind: CauseTimeout, Confidence: Certain, Status: Terminated, ReturnCode: codes.TimeoutCode(), Text: l.Reason(which)}
}

// timeouts checks the timeouts of a job.
func (p *problems) timeouts(at string, t *Timeouts) {
	if t == nil {
		return
	}
	if *t == (Timeouts{}) {
		p.add(at, "write queue, run, heartbeat or total", "it is empty")
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
			p.add(at+".run.grace", "remove it", "the policy alert does not end the attempt")
		}
	}
	if t.Heartbeat != nil {
		if d, err := ParseDuration(t.Heartbeat.After); err == nil && d > 0 && d < LeastHeartbeat {
			p.add(at+".heartbeat.after", "write PT1M or more", "less than a minute is too short: runners send a turn every 15 seconds and may be late")
		}
	}
	if t.Total != nil && t.Run != nil && t.Run.Policy != OnTimeoutAlert {
		if total, run := durationOr(t.Total.After, 0), durationOr(t.Run.After, 0); total > 0 && total < run {
			p.add(at+".total.after", "raise it, or lower run.after", "it is shorter than the limit of one attempt, %s", FormatDuration(run))
		}
	}
}

func (p *problems) timeLimit(at string, which Timeout, after string, policy TimeoutPolicy) {
	p.requiredDuration(at+".after", after)
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

// requiredDuration checks a duration that must be given and be at least a second.
func (p *problems) requiredDuration(path, text string) {
	if text == "" {
		p.add(path, "write PT4H or 4h", "it is missing")
		return
	}
	d, err := ParseDuration(text)
	if p.err(path, err); err == nil && d < time.Second {
		p.add(path, "write PT4H or 4h", "it must be at least a second")
	}
}

// Alert returns the alert about a timeout that expired for a number of jobs.
func (l *TimeLimit) Alert(which Timeout, names []string, jobs int64) Alert {
	a := Alert{Kind: AlertTimeout, Subject: fmt.Sprintf("%s (%s) of %s", which, l.After, FirstFew(names, jobs))}
	if jobs == 1 {
		a.Text = l.Reason(which)
	} else {
		a.Text = fmt.Sprintf("Of %d jobs: %s", jobs, l.Reason(which))
	}
	return a
}

// OnlyRunLimit reports whether the only timeout is a limit of attempts that the runner
// enforces and after which the retry policies decide.
func (t *Timeouts) OnlyRunLimit() bool {
	return t.Run != nil && (t.Run.Policy == "" || t.Run.Policy == OnTimeoutRetry) && *t == (Timeouts{Run: t.Run})
}
