package hold

import "github.com/torc-slurm/torc-slurm/workflow"

// HoldVerdict is one entry of a list of classifications: of a job, or of a group of held
// jobs with similar failures. Entries apply in their order; a later one does not change what
// an earlier one decided.
type HoldVerdict struct {
	// Exactly one of JobID, JobIDs, Job and Fingerprint says which jobs are meant.
	JobID       int64   `json:"job_id,omitempty"`
	JobIDs      []int64 `json:"job_ids,omitempty"`
	Job         string  `json:"job,omitempty"`         // name or id
	Fingerprint string  `json:"fingerprint,omitempty"` // of a group of held jobs

	// Action is retry or fail.
	Action workflow.Action `json:"action" jsonschema:"enum=retry,enum=fail"`
	// Memory, Runtime and NumCPUs are the requirements of the next attempt, such as 16g,
	// PT2H and 4; empty or 0: unchanged.
	Memory  string `json:"memory,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	NumCPUs int64  `json:"num_cpus,omitempty"`
	Reason  string `json:"reason"`
	// Confidence is how certain the author is; empty if they gave none.
	Confidence workflow.Confidence `json:"confidence,omitempty" jsonschema:"enum=certain,enum=likely,enum=guess"`
	Author     string              `json:"author,omitempty"` // by default the user who sends the request
}

// Classification returns the classification for each job of the verdict, or an error of
// CodeInvalid if the verdict is not valid.
func (v *HoldVerdict) Classification() (Classification, error) {
	selectors := 0
	for _, given := range []bool{v.JobID != 0, len(v.JobIDs) > 0, v.Job != "", v.Fingerprint != ""} {
		if given {
			selectors++
		}
	}
	if selectors != 1 {
		return Classification{}, workflow.Errorf(workflow.CodeInvalid, "select the jobs by exactly one of job, job_id, job_ids and fingerprint")
	}
	c := Classification{Author: v.Author, Reason: v.Reason, Confidence: v.Confidence, Memory: v.Memory, Runtime: v.Runtime, NumCPUs: v.NumCPUs}
	switch v.Action {
	case workflow.ActionRetry:
		c.Status = workflow.Ready
	case workflow.ActionFail:
		c.Status = workflow.Failed
	default:
		return c, workflow.Errorf(workflow.CodeInvalid, "invalid action %q for a held job", string(v.Action)).WithHint("use retry or fail")
	}
	return c, c.Validate()
}

// VerdictOutcome is the result of an entry of a list of verdicts.
type VerdictOutcome struct {
	Entry    int           `json:"entry"`    // its index in the list, from 0
	Resolved bool          `json:"resolved"` // whether all its jobs are resolved
	Jobs     []HoldOutcome `json:"jobs"`
	Error    string        `json:"error,omitempty"` // what is wrong with the entry; if set, it resolved no job
	Hint     string        `json:"hint,omitempty"`
}
