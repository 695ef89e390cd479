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
	// Holds are those that were released.
	Holds []hold.ClaimHold `json:"holds,omitempty"`
}

// PauseRequest stops new claims of a workflow until they are released.
type PauseRequest struct {
	Reason string `json:"reason,omitempty"`
	// Now ends the jobs that runners hold, as a drain does. They are ready again then, and
	// have used no retry.
	Now bool `json:"now,omitempty"`
	// CancelPending cancels the allocations that Slurm has not started. By default they keep
	// their place in the queue.
	CancelPending bool `json:"cancel_pending,omitempty"`
	// DryRun returns what would happen, and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// PauseOutcome is what a pause stops.
type PauseOutcome struct {
	WorkflowID int64          `json:"workflow_id"`
	DryRun     bool           `json:"dry_run,omitempty"`
	Hold       hold.ClaimHold `json:"hold"`
	// Began is false if the workflow was paused before.
	Began bool `json:"began"`
	// Jobs are those that runners hold. Ending is how many of them end because of this
	// request.
	Jobs   []LiveJob `json:"jobs"`
	Ending int64     `json:"ending"`
	// Unreachable are jobs that would have to end, but are held by runners of torc, which
	// cannot be told.
	Unreachable []LiveJob `json:"unreachable,omitempty"`
	// CPUSeconds is what the ending jobs have used so far, by the CPUs that they require:
	// work that is lost unless they save it.
	CPUSeconds int64 `json:"cpu_seconds"`
	// Pending are allocations that keep their place in the queue, Canceled those whose
	// cancellation was requested.
	Pending  []LiveAllocation `json:"pending_allocations"`
	Canceled []LiveAllocation `json:"canceled_allocations"`
}
