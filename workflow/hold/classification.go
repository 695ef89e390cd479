// Package hold has jobs that are held until a user classifies them, grouped by similar
// failures, the classifications that end these holds, and the holds of a workflow's claims.
package hold

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Classification is the decision that ends the hold of a job.
type Classification struct {
	Status workflow.JobStatus `json:"status"` // ready, for another attempt, or failed
	Author string             `json:"author,omitempty"`
	Reason string             `json:"reason"`
	// Confidence is how certain the author is: certain, likely or guess; empty if they gave
	// none.
	Confidence workflow.Confidence `json:"confidence,omitempty"`
	// Memory, Runtime and NumCPUs are the requirements of this job's next attempt; empty or
	// 0: unchanged. Runtime is in ISO 8601 or has a form such as 90m.
	Memory  string `json:"memory,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	NumCPUs int64  `json:"num_cpus,omitempty"`
	// ProposalID is the proposal that it carries out; 0 if there was none.
	ProposalID int64 `json:"-"`
}

// maxReason limits the reason of a classification, in bytes.
const maxReason = 4 << 10

// Validate converts Memory and Runtime to the form of requirements. It returns an error of
// CodeInvalid if the classification is not valid.
func (c *Classification) Validate() error {
	if c.Status != workflow.Ready && c.Status != workflow.Failed {
		return workflow.Errorf(workflow.CodeInvalid, "a held job can be classified as ready or failed, not as %s", c.Status)
	}
	if strings.TrimSpace(c.Reason) == "" {
		return workflow.Errorf(workflow.CodeInvalid, "a classification needs a reason")
	}
	if len(c.Reason) > maxReason {
		return workflow.Errorf(workflow.CodeInvalid, "the reason of a classification has %d bytes; at most %d are accepted", len(c.Reason), maxReason)
	}
	if !slices.Contains([]workflow.Confidence{"", workflow.Certain, workflow.Likely, workflow.Guess}, c.Confidence) {
		return workflow.Errorf(workflow.CodeInvalid, "invalid confidence %q", string(c.Confidence)).WithHint("use certain, likely or guess")
	}
	if c.Status == workflow.Failed && c.ChangesRequirements() {
		return workflow.Errorf(workflow.CodeInvalid, "memory, runtime and num_cpus can only be changed if the job is classified as ready")
	}
	if c.NumCPUs < 0 {
		return workflow.Errorf(workflow.CodeInvalid, "num_cpus %d: it must be at least 1", c.NumCPUs)
	}
	if c.Memory != "" {
		bytes, err := workflow.ParseMemory(c.Memory)
		if err != nil {
			return err
		}
		if bytes == 0 {
			return workflow.Errorf(workflow.CodeInvalid, "memory %q: it must be more than 0", c.Memory)
		}
		c.Memory = workflow.FormatMemory(bytes)
	}
	if c.Runtime != "" {
		runtime, err := workflow.CanonicalRuntime(c.Runtime)
		if err != nil {
			return err
		}
		c.Runtime = runtime
	}
	return nil
}

// ChangesRequirements reports whether the retry gets other requirements.
func (c *Classification) ChangesRequirements() bool {
	return c.Memory != "" || c.Runtime != "" || c.NumCPUs != 0
}

// Apply returns the requirements of the next attempt, and a text such as "memory 4g -> 8g",
// empty if nothing changes. It returns an error of CodeConflict if the job has only the
// default requirements, which cannot change.
func (c *Classification) Apply(r workflow.ResourceRequirements) (workflow.ResourceRequirements, string, error) {
	if !c.ChangesRequirements() {
		return r, "", nil
	}
	if !r.Enforced() {
		return r, "", workflow.Errorf(workflow.CodeConflict, "it has no resource requirements of its own that could change").
			WithHint("give the job resource requirements, or retry it without new ones")
	}
	var changes []string
	if c.Memory != "" && c.Memory != r.Memory {
		changes = append(changes, fmt.Sprintf("memory %s -> %s", r.Memory, c.Memory))
		r.Memory = c.Memory
	}
	if c.Runtime != "" && c.Runtime != r.Runtime {
		changes = append(changes, fmt.Sprintf("runtime %s -> %s", r.Runtime, c.Runtime))
		r.Runtime = c.Runtime
	}
	if c.NumCPUs != 0 && c.NumCPUs != r.NumCPUs {
		changes = append(changes, fmt.Sprintf("cpus %d -> %d", r.NumCPUs, c.NumCPUs))
		r.NumCPUs = c.NumCPUs
	}
	return r, strings.Join(changes, ", "), nil
}

// AuthorDeadline is the author of the classification of a job that no user classified in
// time.
const AuthorDeadline = "deadline"

// AtDeadline returns the classification of a job whose hold has reached its deadline.
func AtDeadline(h *workflow.Hold) Classification {
	c := Classification{Status: workflow.Failed, Author: AuthorDeadline, Confidence: workflow.Certain}
	if h.OnTimeout == workflow.ActionRetry {
		c.Status = workflow.Ready
	}
	c.Reason = "no user classified it"
	if h.DeadlineMS != nil {
		c.Reason += " within " + workflow.FormatDuration(time.Duration(*h.DeadlineMS-h.SinceMS)*time.Millisecond)
	}
	return c
}

// PastClassification is a classification that ended a hold of a job.
type PastClassification struct {
	Classification
	RunID   int64
	Attempt int64 // after which the job was held
	AtMS    int64
}

// Line returns the classification in one line: "run 1, attempt 2: classified as ready by ann
// 5m ago: ...".
func (c *PastClassification) Line(nowMS int64) string {
	text := fmt.Sprintf("run %d, attempt %d: classified as %s by %s %s ago", c.RunID, c.Attempt, c.Status, authorOr(c.Author, "a user"), workflow.AgoMS(c.AtMS, nowMS))
	if c.Confidence != "" {
		text += fmt.Sprintf(" (%s)", c.Confidence)
	}
	text += ": " + c.Reason
	var asks []string
	if c.Memory != "" {
		asks = append(asks, "memory "+c.Memory)
	}
	if c.Runtime != "" {
		asks = append(asks, "runtime "+c.Runtime)
	}
	if c.NumCPUs != 0 {
		asks = append(asks, fmt.Sprintf("%d CPUs", c.NumCPUs))
	}
	if len(asks) > 0 {
		text += "; with " + strings.Join(asks, ", ")
	}
	return text
}

func authorOr(author, unknown string) string {
	if author == "" {
		return unknown
	}
	return author
}

// HoldOutcome is the result of ending the hold of a job.
type HoldOutcome struct {
	JobID    int64               `json:"job_id"`
	JobName  string              `json:"job_name,omitempty"`
	Resolved bool                `json:"resolved"`
	Status   *workflow.JobStatus `json:"status,omitempty"`  // of the job now; nil if the workflow has no such job
	Attempt  int64               `json:"attempt,omitempty"` // the next attempt, if it is ready
	Asks     string              `json:"asks,omitempty"`    // changed requirements of that, such as "memory 4g -> 8g"
	Error    string              `json:"error,omitempty"`   // why it was not resolved
	Hint     string              `json:"hint,omitempty"`
}
