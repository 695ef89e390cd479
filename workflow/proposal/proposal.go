// Package proposal has changes that one party proposes and another decides about: what would
// change, why, what it costs, and whether it can still be applied.
package proposal

import (
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// Kind is what a proposal changes.
type Kind string

// The kinds.
const (
	Classify     Kind = "classify"     // ends the holds of jobs
	Requirements Kind = "requirements" // gives jobs other resource requirements
	Recover      Kind = "recover"      // repeats failed jobs of a run that has ended
	Create       Kind = "create"       // creates a workflow
	Question     Kind = "question"     // asks a person to decide about held jobs; it changes nothing
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Classify, Requirements, Recover, Create, Question} }

// State is the state of a proposal.
type State string

// The states. A proposal expires by itself; the others are decisions.
const (
	Open     State = "open"
	Applied  State = "applied"
	Rejected State = "rejected"
	Expired  State = "expired"
)

// States returns all states.
func States() []State { return []State{Open, Applied, Rejected, Expired} }

// The time that a proposal is open.
const (
	UsualLife = 24 * time.Hour
	MostLife  = 30 * 24 * time.Hour
)

// The limits of the texts of a proposal, in bytes.
const (
	maxReason   = 4 << 10
	maxEvidence = 16 << 10
)

// Proposal is a change that somebody proposes. Times are in ms since the epoch.
type Proposal struct {
	ID         int64  `json:"id"`
	WorkflowID int64  `json:"workflow_id,omitempty"` // 0: it creates one
	Kind       Kind   `json:"kind"`
	State      State  `json:"state"`
	Author     string `json:"author"`
	Door       string `json:"door,omitempty"`    // how it came in: mcp, api, agent
	CallID     int64  `json:"call_id,omitempty"` // of the call of an agent in which it was made; 0: none
	Reason     string `json:"reason"`
	Evidence   string `json:"evidence,omitempty"`
	CreatedMS  int64  `json:"created_ms"`
	ExpiresMS  int64  `json:"expires_ms"`
	DecidedMS  int64  `json:"decided_ms,omitempty"`
	DecidedBy  string `json:"decided_by,omitempty"`
	Note       string `json:"note,omitempty"` // why it was rejected
	// JobCount is how many jobs it changes, and CPUSeconds the most that they may use
	// because of it, by their CPUs and runtime.
	JobCount   int64  `json:"job_count"`
	CPUSeconds int64  `json:"cpu_seconds"`
	Title      string `json:"title"` // what it does, in one line
	// Jobs are the changes of jobs. A list of proposals does not have them.
	Jobs []JobChange `json:"jobs,omitempty"`
}

// JobChange is what a proposal changes of a job.
type JobChange struct {
	JobID   int64              `json:"job_id"`
	Name    string             `json:"name"`
	Status  workflow.JobStatus `json:"status"` // when it was proposed
	Attempt int64              `json:"attempt"`
	Changes []string           `json:"changes"` // such as "status pending_failed -> ready", "memory 4g -> 8g"
}

// Change is what is done when a proposal is applied. Exactly the part of its kind is set.
type Change struct {
	Verdicts     []hold.HoldVerdict   `json:"verdicts,omitempty"`
	Requirements []RequirementsChange `json:"requirements,omitempty"`
	Recovery     *Recovery            `json:"recovery,omitempty"`
	Definition   string               `json:"definition,omitempty"` // lines of JSON
	Force        bool                 `json:"force,omitempty"`      // requirements may exceed everything that is known
}

// RequirementsChange gives jobs requirements of their own. Zero values keep what is there.
type RequirementsChange struct {
	JobIDs   []int64 `json:"job_ids"`
	Name     string  `json:"name,omitempty"`
	NumCPUs  int64   `json:"num_cpus,omitempty"`
	NumGPUs  *int64  `json:"num_gpus,omitempty"`
	NumNodes int64   `json:"num_nodes,omitempty"`
	Memory   string  `json:"memory,omitempty"`
	Runtime  string  `json:"runtime,omitempty"`
}

// Apply returns the new requirements; CodeInvalid if a value is not valid.
func (c *RequirementsChange) Apply(q workflow.ResourceRequirements) (workflow.ResourceRequirements, error) {
	if c.NumCPUs != 0 {
		q.NumCPUs = c.NumCPUs
	}
	if c.NumGPUs != nil {
		q.NumGPUs = *c.NumGPUs
	}
	if c.NumNodes != 0 {
		q.NumNodes = c.NumNodes
	}
	if c.Memory != "" {
		bytes, err := workflow.ParseMemory(c.Memory)
		if err != nil {
			return q, err
		}
		if bytes == 0 {
			return q, workflow.Errorf(workflow.CodeInvalid, "memory %q: it must be more than 0", c.Memory)
		}
		q.Memory = workflow.FormatMemory(bytes)
	}
	if c.Runtime != "" {
		runtime, err := workflow.CanonicalRuntime(c.Runtime)
		if err != nil {
			return q, err
		}
		q.Runtime = runtime
	}
	return q, nil
}

// Validate returns CodeInvalid for a change that names no jobs or changes nothing.
func (c *RequirementsChange) Validate() error {
	switch {
	case len(c.JobIDs) == 0:
		return workflow.Errorf(workflow.CodeInvalid, "a change of requirements names no jobs")
	case c.NumCPUs < 0, c.NumNodes < 0, c.NumGPUs != nil && *c.NumGPUs < 0:
		return workflow.Errorf(workflow.CodeInvalid, "a change of requirements has a negative number")
	case c.NumCPUs == 0 && c.NumGPUs == nil && c.NumNodes == 0 && c.Memory == "" && c.Runtime == "":
		return workflow.Errorf(workflow.CodeInvalid, "a change of requirements changes nothing").WithHint("give memory, runtime, num_cpus, num_gpus or num_nodes")
	}
	_, err := c.Apply(workflow.ResourceRequirements{})
	return err
}

// Recovery repeats failed jobs in a new run.
type Recovery struct {
	RunID   int64               `json:"run_id"` // of the run that has ended
	Jobs    []ExpectedJob       `json:"jobs"`
	Changes []RecoveredResource `json:"changes,omitempty"`
}

// ExpectedJob is a job with the status that it must still have.
type ExpectedJob struct {
	JobID  int64              `json:"job_id"`
	Status workflow.JobStatus `json:"status"`
}

// RecoveredResource changes requirements before jobs are repeated.
type RecoveredResource struct {
	To workflow.ResourceRequirements `json:"to"`
	// Clone gives the jobs requirements of their own; else those with the id of To change.
	Clone  bool    `json:"clone,omitempty"`
	JobIDs []int64 `json:"job_ids,omitempty"`
}

// Check completes a new proposal: how long it is open, and that it has a reason. It returns
// CodeInvalid if a text is missing or too long, or the time is.
func (p *Proposal) Check(life time.Duration, nowMS int64) error {
	p.Reason, p.Evidence = strings.TrimSpace(p.Reason), strings.TrimSpace(p.Evidence)
	switch {
	case p.Reason == "":
		return workflow.Errorf(workflow.CodeInvalid, "a proposal needs a reason")
	case len(p.Reason) > maxReason:
		return workflow.Errorf(workflow.CodeInvalid, "the reason has %d bytes; at most %d are accepted", len(p.Reason), maxReason)
	case len(p.Evidence) > maxEvidence:
		return workflow.Errorf(workflow.CodeInvalid, "the evidence has %d bytes; at most %d are accepted", len(p.Evidence), maxEvidence)
	case life < 0 || life > MostLife:
		return workflow.Errorf(workflow.CodeInvalid, "a proposal can be open for at most %s", workflow.FormatDuration(MostLife))
	case life == 0:
		life = UsualLife
	}
	p.State, p.CreatedMS, p.ExpiresMS = Open, nowMS, nowMS+life.Milliseconds()
	return nil
}

// StateAt returns the state at a time.
func (p *Proposal) StateAt(nowMS int64) State {
	if p.State == Open && nowMS >= p.ExpiresMS {
		return Expired
	}
	return p.State
}

// Decidable returns CodeConflict if nobody can decide about the proposal any more.
func (p *Proposal) Decidable(nowMS int64) error {
	switch state := p.StateAt(nowMS); state {
	case Open:
		return nil
	case Expired:
		return workflow.Errorf(workflow.CodeConflict, "proposal %d expired %s ago", p.ID, workflow.AgoMS(p.ExpiresMS, nowMS)).WithHint("propose it again, from the present state")
	default:
		by := p.DecidedBy
		if by == "" {
			by = "a user"
		}
		return workflow.Errorf(workflow.CodeConflict, "proposal %d was %s by %s %s ago", p.ID, state, by, workflow.AgoMS(p.DecidedMS, nowMS))
	}
}

// Applicable is Decidable for applying; a question cannot be applied either.
func (p *Proposal) Applicable(nowMS int64) error {
	if err := p.Decidable(nowMS); err != nil {
		return err
	}
	if p.Kind == Question {
		return workflow.Errorf(workflow.CodeConflict, "proposal %d asks a person to decide: there is nothing to apply", p.ID).
			WithHint("`torc-slurm holds resolve %d` decides; then reject the proposal", p.WorkflowID)
	}
	return nil
}

// JobState is what a proposal sees of a job.
type JobState struct {
	JobID, WorkflowID int64
	Name              string
	Status            workflow.JobStatus
	Attempt           int64
	Requirements      workflow.ResourceRequirements
}

// Unchanged returns CodeConflict if a job is not as it was when the change was proposed.
func (c *JobChange) Unchanged(now *JobState) error {
	switch {
	case now.Status != c.Status:
		return c.goneOn("it was %s and is %s now", c.Status, now.Status)
	case now.Attempt != c.Attempt:
		return c.goneOn("it was at attempt %d and is at attempt %d now", c.Attempt, now.Attempt)
	}
	return nil
}

func (c *JobChange) goneOn(format string, args ...any) error {
	return workflow.Errorf(workflow.CodeConflict, "job %d (%s) has gone on since: %s; nothing was changed", c.JobID, c.Name, fmt.Sprintf(format, args...)).
		WithHint("reject the proposal, and propose it again from the present state")
}

// Compare returns how a job differs before and after a change.
func Compare(before, after *JobState) JobChange {
	c := JobChange{JobID: before.JobID, Name: before.Name, Status: before.Status, Attempt: before.Attempt, Changes: []string{}}
	add := func(what, from, to string) {
		if from != to {
			c.Changes = append(c.Changes, what+" "+from+" -> "+to)
		}
	}
	add("status", before.Status.String(), after.Status.String())
	if after.Attempt != before.Attempt {
		c.Changes = append(c.Changes, fmt.Sprintf("attempt %d -> %d", before.Attempt, after.Attempt))
	}
	q, r := &before.Requirements, &after.Requirements
	add("memory", q.Memory, r.Memory)
	add("runtime", q.Runtime, r.Runtime)
	add("num_cpus", fmt.Sprint(q.NumCPUs), fmt.Sprint(r.NumCPUs))
	add("num_gpus", fmt.Sprint(q.NumGPUs), fmt.Sprint(r.NumGPUs))
	add("num_nodes", fmt.Sprint(q.NumNodes), fmt.Sprint(r.NumNodes))
	return c
}

// Cost returns the most CPU seconds that a job may use because of a change: those of its
// next attempt if it becomes ready or waits for others, else 0.
func Cost(before, after *JobState) int64 {
	if after.Status == before.Status || after.Status != workflow.Ready && after.Status != workflow.Blocked {
		return 0
	}
	q := &after.Requirements
	seconds, err := workflow.ParseRuntime(q.Runtime)
	if err != nil || !q.Enforced() { // not declared
		return 0
	}
	return seconds * q.NumCPUs * max(1, q.NumNodes)
}

// Refusal is why a part of a change is not proposed.
type Refusal struct {
	Entry   int    `json:"entry"` // of the request, from 0
	JobID   int64  `json:"job_id,omitempty"`
	JobName string `json:"job_name,omitempty"`
	Error   string `json:"error"`
	Hint    string `json:"hint,omitempty"`
}

// Text returns the refusal in one line.
func (r *Refusal) Text() string {
	if r.JobName == "" {
		return r.Error
	}
	return r.JobName + ": " + r.Error
}

// Title returns what a change does, in one line.
func (c *Change) Title(kind Kind, jobs int64) string {
	what := workflow.CountOf(jobs, "job", "jobs")
	switch kind {
	case Classify:
		retried, failed := false, false
		for i := range c.Verdicts {
			retried = retried || c.Verdicts[i].Action == workflow.ActionRetry
			failed = failed || c.Verdicts[i].Action == workflow.ActionFail
		}
		switch {
		case retried && failed:
			return "decide about " + what + " on hold"
		case retried:
			return "retry " + what + " on hold"
		}
		return "let " + what + " on hold fail"
	case Requirements:
		return "change the resource requirements of " + what
	case Recover:
		return "repeat " + what + " in a new run"
	case Create:
		return "create a workflow of " + what
	}
	return "a person has to decide about " + what + " on hold"
}
