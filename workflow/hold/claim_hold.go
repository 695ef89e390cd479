package hold

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// ClaimHoldKind names why claims of a workflow are held.
type ClaimHoldKind string

// The kinds of claim holds.
const (
	HoldMaxFailures ClaimHoldKind = "max_failures" // too many jobs have failed
	HoldBreaker     ClaimHoldKind = "breaker"      // a circuit breaker with the action pause is open
	HoldDeadline    ClaimHoldKind = "deadline"     // the run's deadline has passed
	HoldPause       ClaimHoldKind = "pause"        // a user paused the workflow
)

// ClaimHoldKinds returns the kinds of claim holds.
func ClaimHoldKinds() []ClaimHoldKind {
	return []ClaimHoldKind{HoldMaxFailures, HoldBreaker, HoldDeadline, HoldPause}
}

// ClaimHoldKindNames returns the names of the kinds.
func ClaimHoldKindNames() []string {
	var names []string
	for _, k := range ClaimHoldKinds() {
		names = append(names, string(k))
	}
	return names
}

// ClaimHold is a reason why no job of a workflow is granted to a runner. Running jobs and
// recovery scripts continue. Times are in ms since the epoch.
type ClaimHold struct {
	ID         int64           `json:"id"`
	WorkflowID int64           `json:"workflow_id"`
	RunID      int64           `json:"run_id"`
	Kind       ClaimHoldKind   `json:"kind"`
	Name       string          `json:"name,omitempty"` // distinguishes holds of a kind
	Reason     string          `json:"reason"`
	Evidence   json.RawMessage `json:"evidence,omitempty"`
	SinceMS    int64           `json:"since_ms"`
	UntilMS    int64           `json:"until_ms,omitempty"` // 0: until a user lifts it
	EndedMS    int64           `json:"ended_ms,omitempty"` // 0: it has not ended
	EndedWhy   string          `json:"ended_why,omitempty"`
}

// ClaimsHeldPayload is the data of EventClaimsHeld and EventClaimsReleased.
type ClaimsHeldPayload struct {
	Category string          `json:"category"` // workflow
	RunID    int64           `json:"run_id"`
	Kind     ClaimHoldKind   `json:"kind"`
	Name     string          `json:"name,omitempty"`
	Reason   string          `json:"reason"` // why claims were held
	Evidence json.RawMessage `json:"evidence,omitempty"`
	UntilMS  int64           `json:"until_ms,omitempty"`
	EndedWhy string          `json:"ended_why,omitempty"`
	StillOn  int64           `json:"still_held_by,omitempty"` // number of other reasons that remain after this one ended
}

// ClaimHolds are the claim holds of a workflow that have not ended.
type ClaimHolds []ClaimHold

// UntilMS returns when the last of the holds ends by itself; 0 if a user has to lift one.
func (h ClaimHolds) UntilMS() (until int64) {
	for i := range h {
		if h[i].UntilMS == 0 {
			return 0
		}
		until = max(until, h[i].UntilMS)
	}
	return until
}

// Reason returns why claims are held; "" if they are not.
func (h ClaimHolds) Reason() string {
	if len(h) == 0 {
		return ""
	}
	last := slices.MaxFunc(h, func(a, b ClaimHold) int { return cmp.Compare(endOrNever(a.UntilMS), endOrNever(b.UntilMS)) })
	text := "claims are held: " + last.Reason
	if n := len(h) - 1; n > 0 {
		text += fmt.Sprintf(", and %s", workflow.CountOf(int64(n), "other reason", "other reasons"))
	}
	return text
}

func endOrNever(ms int64) int64 {
	if ms == 0 {
		return 1<<63 - 1
	}
	return ms
}
