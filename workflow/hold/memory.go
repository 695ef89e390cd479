package hold

import (
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// VerdictState is whether a verdict has been carried out.
type VerdictState string

// The states. A proposal that nobody decides about expires.
const (
	Decided  VerdictState = "decided"
	Proposed VerdictState = "proposed"
	Rejected VerdictState = "rejected"
	Expired  VerdictState = "expired"
)

// ActionAsk is the action of a verdict that leaves the decision to a person.
const ActionAsk workflow.Action = "ask"

// AlikeFailure is what jobs have in common that failed alike.
type AlikeFailure struct {
	Fingerprint string             `json:"fingerprint"`
	Cause       workflow.CauseKind `json:"cause,omitempty"`
	ReturnCode  int64              `json:"return_code"`
	Category    string             `json:"category,omitempty"`
	// Lines are the last lines of stderr with placeholders such as <n> and <path> for what
	// differs.
	Lines []string `json:"lines,omitempty"`
}

// NewAlikeFailure returns what is kept of how an attempt failed.
func NewAlikeFailure(c workflow.Cause, e workflow.Evidence) AlikeFailure {
	lines := lastLines(lastOutput(e))
	f := AlikeFailure{Fingerprint: fingerprint(c, e.Category, lines), Cause: c.Kind, ReturnCode: c.ReturnCode, Category: e.Category}
	for _, line := range lines {
		f.Lines = append(f.Lines, workflow.ShortLine(normalizeLine(line)))
	}
	return f
}

// Text returns the failure in one line, for people.
func (f *AlikeFailure) Text() string {
	text := string(f.Cause)
	if f.Cause == workflow.CauseExit {
		text = fmt.Sprintf("exit code %d", f.ReturnCode)
	}
	if f.Category != "" {
		text = f.Category + ", " + text
	}
	if n := len(f.Lines); n > 0 {
		text += ": " + f.Lines[n-1]
	}
	return text
}

// EarlierVerdict is an earlier verdict about jobs that failed alike, and what became of the
// jobs. It is kept when their workflow is deleted. Times are in ms since the epoch.
type EarlierVerdict struct {
	AlikeFailure
	ID           int64               `json:"id"`
	WorkflowID   int64               `json:"workflow_id"`
	WorkflowName string              `json:"workflow_name,omitempty"`
	RunID        int64               `json:"run_id"`
	JobID        int64               `json:"job_id"` // the first of its jobs
	JobName      string              `json:"job_name,omitempty"`
	AtMS         int64               `json:"at_ms"`
	State        VerdictState        `json:"state"`
	Action       workflow.Action     `json:"action"` // retry, fail, or ask for a question to a person
	Author       string              `json:"author,omitempty"`
	Door         string              `json:"door,omitempty"` // how it came in
	Reason       string              `json:"reason"`
	Confidence   workflow.Confidence `json:"confidence,omitempty"`
	Memory       string              `json:"memory,omitempty"`
	Runtime      string              `json:"runtime,omitempty"`
	NumCPUs      int64               `json:"num_cpus,omitempty"`
	ProposalID   int64               `json:"proposal_id,omitempty"`
	DecidedBy    string              `json:"decided_by,omitempty"` // who rejected it
	Note         string              `json:"note,omitempty"`       // and why
	// Jobs is the number of its jobs. Of those that it retried, Succeeded have completed,
	// Failed have failed or been held again, and Canceled have been canceled.
	Jobs      int64 `json:"jobs"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	Canceled  int64 `json:"canceled,omitempty"`
	// MostAttempts is the most further attempts that one of the successful jobs needed.
	MostAttempts int64 `json:"most_attempts,omitempty"`
	// Outcome is what became of the jobs in words; empty for a verdict without a retry, and
	// until one of them has ended.
	Outcome string `json:"outcome,omitempty"`
}

// OutcomeText returns what became of the jobs in words.
func (v *EarlierVerdict) OutcomeText() string {
	if v.State != Decided || v.Action != workflow.ActionRetry || v.Succeeded+v.Failed+v.Canceled == 0 {
		return ""
	}
	if v.Jobs == 1 {
		switch {
		case v.Canceled == 1:
			return "canceled"
		case v.Failed == 1:
			return "failed again"
		case v.MostAttempts > 1:
			return fmt.Sprintf("succeeded after %d attempts", v.MostAttempts)
		}
		return "succeeded"
	}
	e := Experience{Retried: v.Jobs, Succeeded: v.Succeeded, Failed: v.Failed, Canceled: v.Canceled}
	text := e.Text()
	if v.MostAttempts > 1 {
		text += fmt.Sprintf(", after up to %d attempts", v.MostAttempts)
	}
	return text
}

// With returns the requirements that the retries got, such as "memory 16g, 4 CPUs"; empty if
// they got no others.
func (v *EarlierVerdict) With() string {
	var parts []string
	for _, p := range []struct{ format, value string }{{"memory %s", v.Memory}, {"runtime %s", v.Runtime}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf(p.format, p.value))
		}
	}
	if v.NumCPUs != 0 {
		parts = append(parts, workflow.CountOf(v.NumCPUs, "CPU", "CPUs"))
	}
	return strings.Join(parts, ", ")
}

// Experience is how many jobs that failed alike were retried or given up by verdicts, and
// what became of them.
type Experience struct {
	Retried   int64 `json:"retried"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`             // again
	Canceled  int64 `json:"canceled,omitempty"` // before they ended
	LetFail   int64 `json:"let_fail,omitempty"` // without a retry
}

// Text returns the experience in words, such as "6 of 6 retries succeeded"; empty if there
// is none.
func (e *Experience) Text() string {
	var parts []string
	if e.Retried > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s succeeded", e.Succeeded, workflow.CountOf(e.Retried, "retry", "retries")))
		if open := e.Retried - e.Succeeded - e.Failed - e.Canceled; open > 0 {
			parts = append(parts, fmt.Sprintf("%d not known", open))
		}
		if e.Canceled > 0 {
			parts = append(parts, fmt.Sprintf("%d canceled", e.Canceled))
		}
	}
	if e.LetFail > 0 {
		parts = append(parts, workflow.CountOf(e.LetFail, "job was", "jobs were")+" given up")
	}
	return strings.Join(parts, ", ")
}

// Add adds the jobs of a verdict.
func (e *Experience) Add(v *EarlierVerdict) {
	switch {
	case v.State != Decided:
	case v.Action == workflow.ActionFail:
		e.LetFail += v.Jobs
	case v.Action == workflow.ActionRetry:
		e.Retried += v.Jobs
		e.Succeeded += v.Succeeded
		e.Failed += v.Failed
		e.Canceled += v.Canceled
	}
}
