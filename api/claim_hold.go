package api

import (
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// ClaimHoldList lists the present and past holds of a workflow's claims.
type ClaimHoldList struct {
	Holds []hold.ClaimHold `json:"holds"` // by id; those with ended_ms have ended
}

// ClaimRelease releases claim holds.
type ClaimRelease struct {
	Kind hold.ClaimHoldKind `json:"kind,omitempty"` // of this kind; all if empty
}

// ClaimsReleased says how many holds were released.
type ClaimsReleased struct {
	Released int64 `json:"released"`
}
