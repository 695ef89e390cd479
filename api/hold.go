package api

import (
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// HoldList is the jobs that wait for a classification, grouped by how they
// failed.
type HoldList struct {
	Groups []hold.HoldGroup `json:"groups"` // by workflow, the largest first
}

// HoldResolution ends the holds of jobs of a workflow: of those in job_ids, of
// those with the fingerprint, or of all. Exactly one of the three is given.
type HoldResolution struct {
	JobIDs      []int64 `json:"job_ids,omitempty"`
	Fingerprint string  `json:"fingerprint,omitempty"`
	All         bool    `json:"all,omitempty"`
	// DryRun tells what would become of the jobs and changes nothing; Force lets
	// them ask for more than there is anywhere.
	DryRun bool `json:"dry_run,omitempty"`
	Force  bool `json:"force,omitempty"`
	// Without an author it is the user who asks.
	hold.Classification
}

// HoldOutcomes is what became of the jobs whose holds were to end.
type HoldOutcomes struct {
	Outcomes []hold.HoldOutcome `json:"outcomes"` // by job
}

// HoldVerdicts ends the holds of jobs of a workflow, each entry as it says. DryRun
// and Force are as in HoldResolution.
type HoldVerdicts struct {
	Verdicts []hold.HoldVerdict `json:"verdicts"` // in the order in which they count
	DryRun   bool               `json:"dry_run,omitempty"`
	Force    bool               `json:"force,omitempty"`
}

// VerdictOutcomes is what became of the entries.
type VerdictOutcomes struct {
	Outcomes []hold.VerdictOutcome `json:"outcomes"` // in the order of the entries
}
