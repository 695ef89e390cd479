package hold

import "github.com/torc-slurm/torc-slurm/workflow"

// HoldVerdict is one entry of a list of classifications: of a job, or of all held
// jobs that failed alike. Entries are taken in their order, and what one has
// decided no later one changes.
type HoldVerdict struct {
	// Exactly one of the three says which jobs are meant.
	JobID       int64  `json:"job_id,omitempty"`
	Job         string `json:"job,omitempty"`         // name or id
	Fingerprint string `json:"fingerprint,omitempty"` // of a group of held jobs

	// Action: retry or fail.
	Action workflow.Action `json:"action" jsonschema:"enum=retry,enum=fail"`
	// Memory and Runtime are what the next attempt of the jobs asks for, such as 16g
	// and PT2H; empty: what it has asked for.
	Memory  string `json:"memory,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	Reason  string `json:"reason"`
	// Confidence is how sure the author is; empty: they did not say.
	Confidence workflow.Confidence `json:"confidence,omitempty" jsonschema:"enum=certain,enum=likely,enum=guess"`
	Author     string              `json:"author,omitempty"` // by default the user who asks
}

// Classification checks a verdict and returns what it says of each job.
func (v *HoldVerdict) Classification() (Classification, error) {
	ways := 0
	for _, given := range []bool{v.JobID != 0, v.Job != "", v.Fingerprint != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return Classification{}, workflow.Errorf(workflow.CodeInvalid, "say which jobs are meant by one of job, job_id and fingerprint")
	}
	c := Classification{Author: v.Author, Reason: v.Reason, Confidence: v.Confidence, Memory: v.Memory, Runtime: v.Runtime}
	switch v.Action {
	case workflow.ActionRetry:
		c.Status = workflow.Ready
	case workflow.ActionFail:
		c.Status = workflow.Failed
	default:
		return c, workflow.Errorf(workflow.CodeInvalid, "%q is not a verdict on a held job", string(v.Action)).WithHint("use retry or fail")
	}
	return c, c.Validate()
}

// VerdictOutcome is what became of an entry of a list of verdicts.
type VerdictOutcome struct {
	Entry    int           `json:"entry"`    // its place in the list, from 0
	Resolved bool          `json:"resolved"` // as far as all its jobs are
	Jobs     []HoldOutcome `json:"jobs"`
	Error    string        `json:"error,omitempty"` // what is wrong with the entry; then no job was resolved by it
	Hint     string        `json:"hint,omitempty"`
}
