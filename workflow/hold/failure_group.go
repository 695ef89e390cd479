package hold

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// FailureGroup is a group of jobs of a workflow whose latest attempts failed alike.
type FailureGroup struct {
	Fingerprint string             `json:"fingerprint"` // empty for attempts without evidence
	Count       int64              `json:"count"`
	Attempts    int64              `json:"attempts"`   // that its jobs have had in this run
	FirstID     int64              `json:"first_id"`   // the job that the other fields describe
	FirstName   string             `json:"first_name"` // and its name
	LastName    string             `json:"last_name"`  // that of the job with the highest id
	Cause       workflow.CauseKind `json:"cause"`
	ReturnCode  int64              `json:"return_code"`
	Category    string             `json:"category,omitempty"`
	// Text is the last line of the output, with placeholders for what differs, or the text of
	// the cause.
	Text string `json:"text"`
	// Advice is what to do about failures with this cause.
	Advice string `json:"advice,omitempty"`
}

// Describe fills in what the attempt of the first job says.
func (g *FailureGroup) Describe(c workflow.Cause, e workflow.Evidence) {
	g.Cause, g.ReturnCode, g.Category, g.Text = c.Kind, c.ReturnCode, e.Category, c.Text
	if lines := lastLines(lastOutput(e)); len(lines) > 0 {
		text := normalizeLine(lines[len(lines)-1])
		g.Text = shortLines([]string{strings.NewReplacer("<n>", "N", "<hex>", "X").Replace(text)})[0]
	}
}

// Line returns the group in one line: "31 jobs, exit 3: CFL violated at step N (s_10 … s_40)".
func (g *FailureGroup) Line() string {
	cause := string(g.Cause)
	if g.Cause == workflow.CauseExit {
		cause = fmt.Sprintf("exit %d", g.ReturnCode)
	}
	if g.Text != "" && g.Text != fmt.Sprintf("exit code %d", g.ReturnCode) {
		cause += ": " + g.Text
	}
	text := fmt.Sprintf("%s, %s (%s", workflow.CountOf(g.Count, "job", "jobs"), cause, g.FirstName)
	switch {
	case g.Count == 2:
		text += ", " + g.LastName
	case g.Count > 2:
		text += " … " + g.LastName
	}
	if g.Attempts > g.Count {
		text += "; " + workflow.CountOf(g.Attempts, "attempt", "attempts")
	}
	return text + ")"
}

// AnyAlike reports whether some of the jobs failed alike.
func AnyAlike(groups []FailureGroup) bool {
	for i := range groups {
		if groups[i].Count > 1 {
			return true
		}
	}
	return false
}
