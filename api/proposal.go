package api

import (
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// NewProposal proposes a change that somebody else decides about. The part of its kind is
// set: verdicts for classify and question, requirements, recover or definition.
type NewProposal struct {
	Kind       proposal.Kind `json:"kind"`
	WorkflowID int64         `json:"workflow_id,omitempty"` // 0: it creates one
	Reason     string        `json:"reason"`
	Evidence   string        `json:"evidence,omitempty"`
	Author     string        `json:"author,omitempty"` // by default the calling user
	Door       string        `json:"door,omitempty"`   // how it comes in: mcp; by default api
	// Call is the key of the call of an agent in which it is made. Author and door are then those
	// of the call.
	Call string `json:"call,omitempty"`
	// ExpiresSeconds is how long it can be applied; 24 hours by default.
	ExpiresSeconds int64 `json:"expires_seconds,omitempty"`
	DryRun         bool  `json:"dry_run,omitempty"` // store nothing
	// AllOrNothing stores nothing if a part is refused. Force lets jobs request more than is
	// known to exist.
	AllOrNothing bool `json:"all_or_nothing,omitempty"`
	Force        bool `json:"force,omitempty"`

	Verdicts     []hold.HoldVerdict            `json:"verdicts,omitempty"`
	Requirements []proposal.RequirementsChange `json:"requirements,omitempty"`
	Recover      *RecoverRequest               `json:"recover,omitempty"`
	// Definition is a workflow as lines of JSON, as POST /workflows/definition takes it.
	Definition string `json:"definition,omitempty"`
}

// ProposalOutcome is what became of a NewProposal. The id of the proposal is 0 if it was not
// stored: in a dry run, if nothing was left of it, or if a part was refused of all or
// nothing.
type ProposalOutcome struct {
	Proposal proposal.Proposal  `json:"proposal"`
	Refused  []proposal.Refusal `json:"refused,omitempty"`
	// Recovery is the plan of a recovery.
	Recovery *RecoveryPlan `json:"recovery,omitempty"`
}

// ProposalRejection closes a proposal that is not applied.
type ProposalRejection struct {
	Reason string `json:"reason,omitempty"`
}
