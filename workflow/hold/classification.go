// Package hold has what waits for somebody: jobs that are held for a classification,
// in groups that failed alike, with the classifications that end it; and workflows
// whose claims are held.
package hold

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Classification is somebody's word that ends a hold.
type Classification struct {
	Status workflow.JobStatus `json:"status"` // ready, for another attempt, or failed
	Author string             `json:"author,omitempty"`
	Reason string             `json:"reason"`
	// Confidence is how sure the author is: certain, likely or guess; empty: they
	// did not say.
	Confidence workflow.Confidence `json:"confidence,omitempty"`
	// Memory and Runtime are what the next attempt of the job asks for, alone;
	// empty: what it has asked for. Runtime is ISO 8601 or such as 90m.
	Memory  string `json:"memory,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

// Validate checks a classification, and writes what it asks for in the form in
// which requirements have it.
func (c *Classification) Validate() error {
	if c.Status != workflow.Ready && c.Status != workflow.Failed {
		return workflow.Errorf(workflow.CodeInvalid, "a held job can be classified as ready or failed, not as %s", c.Status)
	}
	if strings.TrimSpace(c.Reason) == "" {
		return workflow.Errorf(workflow.CodeInvalid, "a classification needs a reason")
	}
	if !slices.Contains([]workflow.Confidence{"", workflow.Certain, workflow.Likely, workflow.Guess}, c.Confidence) {
		return workflow.Errorf(workflow.CodeInvalid, "%q is no degree of confidence", string(c.Confidence)).WithHint("use certain, likely or guess")
	}
	if c.Status == workflow.Failed && c.AsksForMore() {
		return workflow.Errorf(workflow.CodeInvalid, "a job that has failed asks for no memory or runtime")
	}
	if c.Memory != "" {
		bytes, err := workflow.ParseMemory(c.Memory)
		if err != nil {
			return err
		}
		if bytes == 0 {
			return workflow.Errorf(workflow.CodeInvalid, "memory %q: a job needs some", c.Memory)
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

// AsksForMore reports whether the retry is to have other requirements.
func (c *Classification) AsksForMore() bool { return c.Memory != "" || c.Runtime != "" }

// Apply returns what the next attempt asks for, and a text such as "memory 4g ->
// 8g", empty if nothing changes. Requirements that are not enforced are refused:
// the job asks for nothing that could change.
func (c *Classification) Apply(r workflow.ResourceRequirements) (workflow.ResourceRequirements, string, error) {
	if !c.AsksForMore() {
		return r, "", nil
	}
	if !r.Enforced() {
		return r, "", workflow.Errorf(workflow.CodeConflict, "it has no resource requirements of its own whose memory or runtime could change").
			WithHint("give the job resource requirements, or retry it without new ones")
	}
	var said []string
	if c.Memory != "" && c.Memory != r.Memory {
		said = append(said, fmt.Sprintf("memory %s -> %s", r.Memory, c.Memory))
		r.Memory = c.Memory
	}
	if c.Runtime != "" && c.Runtime != r.Runtime {
		said = append(said, fmt.Sprintf("runtime %s -> %s", r.Runtime, c.Runtime))
		r.Runtime = c.Runtime
	}
	return r, strings.Join(said, ", "), nil
}

// AuthorDeadline is who classifies a job of which nobody has said anything in
// time.
const AuthorDeadline = "deadline"

// AtDeadline is the classification of a job that was held for too long.
func AtDeadline(h *workflow.Hold) Classification {
	c := Classification{Status: workflow.Failed, Author: AuthorDeadline, Confidence: workflow.Certain}
	if h.OnTimeout == workflow.ActionRetry {
		c.Status = workflow.Ready
	}
	c.Reason = "nobody has decided"
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

// Line is one classification: "run 1, attempt 2: ready, by ann 5m ago: ...".
func (c *PastClassification) Line(nowMS int64) string {
	text := fmt.Sprintf("run %d, attempt %d: classified as %s by %s %s ago", c.RunID, c.Attempt, c.Status, orSomebody(c.Author), workflow.AgoMS(c.AtMS, nowMS))
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
	if len(asks) > 0 {
		text += "; with " + strings.Join(asks, ", ")
	}
	return text
}

func orSomebody(author string) string {
	if author == "" {
		return "somebody"
	}
	return author
}

// HoldOutcome is what became of a job whose hold was to end.
type HoldOutcome struct {
	JobID    int64               `json:"job_id"`
	JobName  string              `json:"job_name,omitempty"`
	Resolved bool                `json:"resolved"`
	Status   *workflow.JobStatus `json:"status,omitempty"`  // of the job now; nil if the workflow has no such job
	Attempt  int64               `json:"attempt,omitempty"` // its next one, if it is ready
	Asks     string              `json:"asks,omitempty"`    // what that asks for, such as "memory 4g -> 8g"
	Error    string              `json:"error,omitempty"`   // why it was not resolved
	Hint     string              `json:"hint,omitempty"`
}
