package workflow

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Hold says why a job waits for a classification, and for how long.
type Hold struct {
	Reason     string `json:"reason"`
	SinceMS    int64  `json:"since_ms,omitempty"`
	DeadlineMS *int64 `json:"deadline_ms,omitempty"` // nil: no deadline
	DeadlineOf string `json:"deadline_of,omitempty"` // what set it: rule mine/gpu, the workflow, site kestrel
	OnTimeout  Action `json:"on_timeout,omitempty"`  // what happens at the deadline: fail or retry
}

// UserHold says who keeps a job from being claimed, and why.
type UserHold struct {
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
	SinceMS int64  `json:"since_ms"`
}

// String returns who holds the job, and why: "held by ann: the input is wrong".
func (h *UserHold) String() string {
	by := h.By
	if by == "" {
		by = "a user"
	}
	if h.Reason == "" {
		return "held by " + by
	}
	return "held by " + by + ": " + h.Reason
}

// HoldLimit is how long jobs wait for a classification.
type HoldLimit struct {
	// After is the time since the job was held: P2D or 48h.
	After string `json:"after"`
	// OnTimeout is what happens to the job then: fail (the default), or retry, if it may
	// have another retry.
	OnTimeout Action `json:"on_timeout,omitempty" jsonschema:"enum=fail,enum=retry"`
}

// HoldLimitSource is a limit and what sets it, such as "rule mine/gpu".
type HoldLimitSource struct {
	Limit *HoldLimit // nil: no limit
	Of    string
}

// SetDeadline sets the deadline of the hold from the first source that has a limit. It
// changes nothing if there is none.
func (h *Hold) SetDeadline(sources ...HoldLimitSource) {
	for _, s := range sources {
		if s.Limit == nil {
			continue
		}
		due := h.SinceMS + durationOr(s.Limit.After, 0).Milliseconds()
		h.DeadlineMS, h.DeadlineOf, h.OnTimeout = &due, s.Of, s.Limit.OnTimeout
		if h.OnTimeout == "" {
			h.OnTimeout = ActionFail
		}
		return
	}
}

// Next returns what ends the hold; h may be nil.
func (h *Hold) Next(nowMS int64) string {
	const decide = "a user %s retry it (jobs retry) or let it fail (jobs fail)"
	if h == nil || h.DeadlineMS == nil {
		return fmt.Sprintf(decide+"; the jobs that depend on it wait", "has to")
	}
	then := "it fails"
	if h.OnTimeout == ActionRetry {
		then = "it gets another attempt, if it has retries left,"
	}
	of := ""
	if h.DeadlineOf != "" {
		of = " of " + h.DeadlineOf
	}
	if *h.DeadlineMS <= nowMS {
		return fmt.Sprintf("the deadline%s passed %s ago: %s as soon as a daemon or run opens the database", of, AgoMS(*h.DeadlineMS, nowMS), strings.TrimSuffix(then, ","))
	}
	return fmt.Sprintf(decide+"; otherwise %s at the deadline%s in %s", "can", then, of, AgoMS(nowMS, *h.DeadlineMS))
}

// holdLimit checks a limit of holds.
func (p *problems) holdLimit(at string, l *HoldLimit) {
	if l == nil {
		return
	}
	p.requiredDuration(at+".after", l.After)
	p.oneOf(at+".on_timeout", string(l.OnTimeout), "", "fail", "retry")
}

// ClassifierPolicy makes the daemon ask an agent about held jobs. What the agent proposes is
// applied by a person or, within the caps, by the daemon.
type ClassifierPolicy struct {
	// Agent is claude, codex, copilot, gemini, an agent of the daemon's configuration, or the
	// absolute path of a program; claude if empty.
	Agent string `json:"agent,omitempty"`
	// Apply lets the daemon apply proposals within the caps; otherwise a person applies them.
	Apply bool `json:"apply,omitempty"`
	// MaxRetries is how many retries of a job in a run are applied without a person; 1 if not
	// given.
	MaxRetries *int64 `json:"max_retries,omitempty" jsonschema:"minimum=0,maximum=3"`
	// MaxMemory is the most memory that a retry may ask for without a person; if it is not given,
	// memory is not changed without a person.
	MaxMemory string `json:"max_memory,omitempty"`
	// MaxRuntime is the same for the runtime.
	MaxRuntime string `json:"max_runtime,omitempty"`
	// MaxCPUs is the same for the number of CPUs.
	MaxCPUs int64 `json:"max_cpus,omitempty" jsonschema:"minimum=1"`
	// Delay is how long the daemon waits after a failure for others like it; 10s by default.
	Delay string `json:"delay,omitempty"`
	// Timeout is how long a call of the agent may last; 10m by default, at most 1h.
	Timeout string `json:"timeout,omitempty"`
	// MaxCalls is how often the agent is called in a run; 10 times by default.
	MaxCalls int64 `json:"max_calls,omitempty" jsonschema:"minimum=1"`
	// MaxCallsPerDay is how often the agent is called for the workflow within 24 hours; 20 times
	// by default.
	MaxCallsPerDay int64 `json:"max_calls_per_day,omitempty" jsonschema:"minimum=1"`
}

// agentName matches the name of an agent in the configuration.
var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// The most that a classifier can be given.
const (
	maxClassifierTimeout = time.Hour
	maxClassifierCalls   = 1000
)

// classifier checks the settings of a classifier.
func (p *problems) classifier(at string, c *ClassifierPolicy) {
	if c == nil {
		return
	}
	if c.Agent != "" && !agentName.MatchString(c.Agent) && (!filepath.IsAbs(c.Agent) || strings.ContainsFunc(c.Agent, unicode.IsControl)) {
		p.add(at+".agent", "write claude, codex, copilot, gemini, the name of an agent in the configuration, or the absolute path of a program", "invalid agent %q", c.Agent)
	}
	if n := c.MaxRetries; n != nil && (*n < 0 || *n > ClassifiedRetryLimit) {
		p.add(at+".max_retries", fmt.Sprintf("write 0 to %d", ClassifiedRetryLimit), "invalid number of retries: %d", *n)
	}
	if c.MaxMemory != "" {
		if n, err := ParseMemory(c.MaxMemory); err != nil || n <= 0 {
			p.add(at+".max_memory", "write an amount such as 16g", "invalid amount of memory %q", c.MaxMemory)
		}
	}
	for _, d := range []struct{ key, text string }{{"max_runtime", c.MaxRuntime}, {"timeout", c.Timeout}} {
		if d.text != "" {
			p.requiredDuration(at+"."+d.key, d.text)
		}
	}
	if d, err := ParseDuration(c.Delay); c.Delay != "" && (err != nil || d < 0) {
		p.add(at+".delay", "write for example 30s, or 0s", "invalid duration %q", c.Delay)
	}
	if durationOr(c.Timeout, 0) > maxClassifierTimeout {
		p.add(at+".timeout", "write at most 1h", "a call of an agent cannot last %s", c.Timeout)
	}
	if c.MaxCPUs < 0 {
		p.add(at+".max_cpus", "write a positive number, or remove it", "invalid number of CPUs: %d", c.MaxCPUs)
	}
	for _, n := range []struct {
		key   string
		value int64
	}{{"max_calls", c.MaxCalls}, {"max_calls_per_day", c.MaxCallsPerDay}} {
		if n.value < 0 || n.value > maxClassifierCalls {
			p.add(at+"."+n.key, fmt.Sprintf("write 1 to %d, or remove it", maxClassifierCalls), "invalid number of calls: %d", n.value)
		}
	}
}
