package workflow

import "fmt"

// Hold is why a job waits for a classification, and for how long.
type Hold struct {
	Reason     string `json:"reason"`
	SinceMS    int64  `json:"since_ms,omitempty"`
	DeadlineMS *int64 `json:"deadline_ms,omitempty"` // nil: waits for ever
	DeadlineOf string `json:"deadline_of,omitempty"` // who has set it: rule mine/gpu, the workflow, site kestrel
	OnTimeout  Action `json:"on_timeout,omitempty"`  // what the deadline decides: fail or retry
}

// HoldLimit is how long jobs wait for a classification.
type HoldLimit struct {
	// After is the time since the job was held: P2D or 48h.
	After string `json:"after"`
	// OnTimeout is what becomes of the job then: fail, the default, or retry, as
	// long as it may be repeated.
	OnTimeout Action `json:"on_timeout,omitempty" jsonschema:"enum=fail,enum=retry"`
}

// HoldLimitSource is a limit and who says it, such as "rule mine/gpu".
type HoldLimitSource struct {
	Limit *HoldLimit // nil: says nothing
	Of    string
}

// Limited puts the deadline of the nearest limit into a hold: the first of those
// that say anything.
func (h *Hold) Limited(sources ...HoldLimitSource) {
	for _, s := range sources {
		if s.Limit == nil {
			continue
		}
		due := h.SinceMS + parsed(s.Limit.After, 0).Milliseconds()
		h.DeadlineMS, h.DeadlineOf, h.OnTimeout = &due, s.Of, s.Limit.OnTimeout
		if h.OnTimeout == "" {
			h.OnTimeout = ActionFail
		}
		return
	}
}

// Next says what ends the hold.
func (h *Hold) Next(nowMS int64) string {
	const decide = "somebody %s classify it as worth a retry (jobs retry) or as failed (jobs fail)"
	if h == nil || h.DeadlineMS == nil {
		return fmt.Sprintf(decide+"; the jobs behind it wait", "has to")
	}
	then := "it fails"
	if h.OnTimeout == ActionRetry {
		then = "it gets another attempt, if it may have one"
	}
	of := ""
	if h.DeadlineOf != "" {
		of = " of " + h.DeadlineOf
	}
	if *h.DeadlineMS <= nowMS {
		return fmt.Sprintf("overdue for %s, by the deadline%s: %s as soon as a daemon or run has the database", AgoMS(*h.DeadlineMS, nowMS), of, then)
	}
	return fmt.Sprintf(decide+"; if nobody does, %s at the deadline%s in %s", "can", then, of, AgoMS(nowMS, *h.DeadlineMS))
}

// holdLimit checks such a limit.
func (p *problems) holdLimit(at string, l *HoldLimit) {
	if l == nil {
		return
	}
	p.someTime(at+".after", l.After)
	p.oneOf(at+".on_timeout", string(l.OnTimeout), "", "fail", "retry")
}
