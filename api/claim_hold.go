package api

import (
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ClaimHoldList is why claims of a workflow are held, and were.
type ClaimHoldList struct {
	Holds []hold.ClaimHold `json:"holds"` // by id; those with ended_ms have ended
}

// ClaimRelease lifts holds of claims.
type ClaimRelease struct {
	Kind hold.ClaimHoldKind `json:"kind,omitempty"` // of this kind; all without it
}

// ClaimsReleased is how many holds were lifted.
type ClaimsReleased struct {
	Released int64 `json:"released"`
}
