package workflow

import (
	"fmt"
	"slices"
	"strings"
)

// Classification is somebody's word that ends a hold.
type Classification struct {
	Status JobStatus `json:"status"` // ready, for another attempt, or failed
	Author string    `json:"author,omitempty"`
	Reason string    `json:"reason"`
	// Confidence is how sure the author is: certain, likely or guess; empty: they
	// did not say.
	Confidence Confidence `json:"confidence,omitempty"`
	// Memory and Runtime are what the next attempt of the job asks for, alone;
	// empty: what it has asked for. Runtime is ISO 8601 or such as 90m.
	Memory  string `json:"memory,omitempty"`
	Runtime string `json:"runtime,omitempty"`
}

// Validate checks a classification, and writes what it asks for in the form in
// which requirements have it.
func (c *Classification) Validate() error {
	if c.Status != Ready && c.Status != Failed {
		return Errorf(CodeInvalid, "a held job can be classified as ready or failed, not as %s", c.Status)
	}
	if strings.TrimSpace(c.Reason) == "" {
		return Errorf(CodeInvalid, "a classification needs a reason")
	}
	if !slices.Contains([]Confidence{"", Certain, Likely, Guess}, c.Confidence) {
		return Errorf(CodeInvalid, "%q is no degree of confidence", string(c.Confidence)).WithHint("use certain, likely or guess")
	}
	if c.Status == Failed && c.AsksForMore() {
		return Errorf(CodeInvalid, "a job that has failed asks for no memory or runtime")
	}
	if c.Memory != "" {
		bytes, err := ParseMemory(c.Memory)
		if err != nil {
			return err
		}
		if bytes == 0 {
			return Errorf(CodeInvalid, "memory %q: a job needs some", c.Memory)
		}
		c.Memory = FormatMemory(bytes)
	}
	if c.Runtime != "" {
		d, err := ParseDuration(c.Runtime)
		if err != nil {
			return err
		}
		seconds := wholeSeconds(d)
		if seconds < 1 || seconds > maxRuntime {
			return Errorf(CodeInvalid, "runtime %q: it is between a second and 100 years", c.Runtime)
		}
		c.Runtime = FormatRuntime(seconds)
	}
	return nil
}

// AsksForMore reports whether the retry is to have other requirements.
func (c *Classification) AsksForMore() bool { return c.Memory != "" || c.Runtime != "" }

// Apply returns what the next attempt asks for, and a text such as "memory 4g ->
// 8g", empty if nothing changes. Requirements that are not enforced are refused:
// the job asks for nothing that could change.
func (c *Classification) Apply(r ResourceRequirements) (ResourceRequirements, string, error) {
	if !c.AsksForMore() {
		return r, "", nil
	}
	if !r.Enforced() {
		return r, "", Errorf(CodeConflict, "it has no resource requirements of its own whose memory or runtime could change").
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

// PastClassification is a classification that ended a hold of a job.
type PastClassification struct {
	Classification
	RunID   int64
	Attempt int64 // after which the job was held
	AtMS    int64
}

// Line is one classification: "run 1, attempt 2: ready, by ann 5m ago: ...".
func (c *PastClassification) Line(nowMS int64) string {
	text := fmt.Sprintf("run %d, attempt %d: classified as %s by %s %s ago", c.RunID, c.Attempt, c.Status, orSomebody(c.Author), AgoMS(c.AtMS, nowMS))
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
	JobID    int64      `json:"job_id"`
	JobName  string     `json:"job_name,omitempty"`
	Resolved bool       `json:"resolved"`
	Status   *JobStatus `json:"status,omitempty"`  // of the job now; nil if the workflow has no such job
	Attempt  int64      `json:"attempt,omitempty"` // its next one, if it is ready
	Asks     string     `json:"asks,omitempty"`    // what that asks for, such as "memory 4g -> 8g"
	Error    string     `json:"error,omitempty"`   // why it was not resolved
	Hint     string     `json:"hint,omitempty"`
}
