package hold

import (
	"encoding/json"
	"fmt"
)

// Pause is the evidence of a claim hold of HoldPause: who paused the workflow, and what they
// chose.
type Pause struct {
	By  string `json:"by"`
	Why string `json:"why,omitempty"`
	// CancelPending says that allocations that Slurm has not started are canceled. By
	// default they keep their place in the queue.
	CancelPending bool `json:"cancel_pending,omitempty"`
}

// Hold returns the claim hold of the pause.
func (p *Pause) Hold() (ClaimHold, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return ClaimHold{}, fmt.Errorf("pause: %w", err)
	}
	h := ClaimHold{Kind: HoldPause, Reason: "paused by " + authorOr(p.By, "a user"), Evidence: text}
	if p.Why != "" {
		h.Reason += ": " + p.Why
	}
	return h, nil
}

// Pause returns the pause that a hold records; nil if it is of another kind.
func (h *ClaimHold) Pause() *Pause {
	p := &Pause{}
	if h.Kind != HoldPause || json.Unmarshal(h.Evidence, p) != nil {
		return nil
	}
	return p
}

// Paused returns the hold by which a user paused the workflow; nil if nobody did.
func (h ClaimHolds) Paused() *ClaimHold {
	for i := range h {
		if h[i].Kind == HoldPause {
			return &h[i]
		}
	}
	return nil
}

// KeepPending reports whether pending allocations keep their place in the queue although a
// user has to lift a hold: only pauses last, and none of them cancels allocations.
func (h ClaimHolds) KeepPending() bool {
	paused := false
	for i := range h {
		switch p := h[i].Pause(); {
		case h[i].UntilMS != 0:
		case p == nil || p.CancelPending:
			return false
		default:
			paused = true
		}
	}
	return paused
}
