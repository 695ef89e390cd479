package workflow

import (
	"fmt"
	"strings"
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
