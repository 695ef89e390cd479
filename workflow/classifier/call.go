// Package classifier has the rules by which the daemon asks an agent about held jobs: when,
// about what, and which of its proposals are applied without a person.
package classifier

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Outcome is what came of a call of an agent. It follows from the proposals that the agent has
// left, and from how its process ended only if it left none.
type Outcome string

// The outcomes.
const (
	Running     Outcome = ""            // the call has not ended
	Applied     Outcome = "applied"     // a proposal was applied by the daemon
	Proposed    Outcome = "proposed"    // a person has to decide about a proposal
	Silent      Outcome = "silent"      // the agent ended and left no proposal
	TimedOut    Outcome = "timed_out"   // it was ended after its time, and left no proposal
	TooMuch     Outcome = "too_much"    // it was ended because of its output, and left no proposal
	Absent      Outcome = "absent"      // it could not be started
	Interrupted Outcome = "interrupted" // the daemon ended meanwhile
)

// Answered reports whether the agent has proposed something.
func (o Outcome) Answered() bool { return o == Applied || o == Proposed }

// Asked is a group of held jobs that an agent is asked about.
type Asked struct {
	Fingerprint string `json:"fingerprint"`
	Count       int    `json:"count"`
}

// Call is a call of an agent. Times are in ms since the epoch.
type Call struct {
	ID         int64   `json:"id"`
	WorkflowID int64   `json:"workflow_id"`
	RunID      int64   `json:"run_id"`
	Agent      string  `json:"agent"`
	StartedMS  int64   `json:"started_ms"`
	EndedMS    int64   `json:"ended_ms,omitempty"` // 0: it goes on
	Outcome    Outcome `json:"outcome,omitempty"`
	Detail     string  `json:"detail,omitempty"` // for people: why there is no answer, or what a person has to decide
	Asked      []Asked `json:"asked"`
}

// About reports whether the call was about failures with a fingerprint.
func (c *Call) About(fingerprint string) bool {
	return slices.ContainsFunc(c.Asked, func(a Asked) bool { return a.Fingerprint == fingerprint })
}

// Jobs returns how many jobs the agent was asked about.
func (c *Call) Jobs() (n int) {
	for _, a := range c.Asked {
		n += a.Count
	}
	return n
}

// Line returns the call in one line: "asked the agent claude about 12 held jobs 5m ago: …".
func (c *Call) Line(nowMS int64) string {
	text := fmt.Sprintf("asked the agent %s about %s %s ago: ", c.Agent, workflow.CountOf(int64(c.Jobs()), "held job", "held jobs"), workflow.AgoMS(c.StartedMS, nowMS))
	said := map[Outcome]string{
		Running: "it has not answered yet", Applied: "its proposal was applied", Proposed: "a person has to decide about its proposal",
		Silent: "it proposed nothing", TimedOut: "it was ended after its time, and had proposed nothing", TooMuch: "it was ended because of its output, and had proposed nothing",
		Absent: "it could not be started", Interrupted: "the daemon ended meanwhile",
	}[c.Outcome]
	if text += said; c.Detail != "" {
		text += " (" + c.Detail + ")"
	}
	return text
}
