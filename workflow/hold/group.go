package hold

import (
	"cmp"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// HeldJob is a job that waits for a classification, and how its latest attempt ended. The
// cause is empty if there was no attempt.
type HeldJob struct {
	ID          int64
	WorkflowID  int64
	Name        string
	Hold        workflow.Hold
	Cause       workflow.Cause
	Category    string
	Attempt     int64    // the latest
	RetriesLeft int64    // that classifications can grant in this run
	LastLines   []string // of its stderr, for display
	Fingerprint string
}

// NewHeldJob returns a held job with the fingerprint of its latest attempt.
func NewHeldJob(id, workflowID int64, name string, h workflow.Hold, c workflow.Cause, e workflow.Evidence) HeldJob {
	lines := lastLines(lastOutput(e))
	return HeldJob{
		ID: id, WorkflowID: workflowID, Name: name, Hold: h, Cause: c, Category: e.Category,
		LastLines: shortLines(lines), Fingerprint: fingerprint(c, e.Category, lines),
	}
}

// HoldGroup is a group of held jobs of a workflow with similar failures.
type HoldGroup struct {
	WorkflowID  int64               `json:"workflow_id"`
	Fingerprint string              `json:"fingerprint"`
	Count       int                 `json:"count"`
	ExampleID   int64               `json:"example_id"` // the job that the other fields describe
	ExampleName string              `json:"example_name"`
	Cause       workflow.CauseKind  `json:"cause,omitempty"`
	ReturnCode  int64               `json:"return_code"`
	CauseText   string              `json:"cause_text,omitempty"`
	Confidence  workflow.Confidence `json:"confidence,omitempty"` // of the cause
	Category    string              `json:"category,omitempty"`
	LastLines   []string            `json:"last_lines"` // of stderr
	Reason      string              `json:"reason"`     // of the hold
	SinceMS     int64               `json:"since_ms,omitempty"`
	DeadlineMS  int64               `json:"deadline_ms,omitempty"` // the earliest deadline of its jobs
	OnTimeout   workflow.Action     `json:"on_timeout,omitempty"`  // what happens at that: fail or retry
	JobIDs      []int64             `json:"job_ids"`               // ascending
	// Attempts is the most attempts that one of its jobs has had in the run, and RetriesLeft
	// the least retries that classifications can still grant to one.
	Attempts    int64 `json:"attempts"`
	RetriesLeft int64 `json:"retries_left"`
	// Earlier are verdicts about jobs that failed alike, in any workflow, also in deleted
	// ones, the latest first; Experience is what became of all such jobs.
	Earlier    []EarlierVerdict `json:"earlier,omitempty"`
	Experience *Experience      `json:"experience,omitempty"`
}

// GroupHeld returns held jobs grouped by workflow and fingerprint: ordered by workflow id,
// then the largest group first. The example of a group is its first job; SinceMS is that of
// its earliest hold.
func GroupHeld(jobs []HeldJob) []HoldGroup {
	type key struct {
		workflow    int64
		fingerprint string
	}
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b HeldJob) int { return cmp.Compare(a.ID, b.ID) })
	groups := []HoldGroup{}
	index := map[key]int{}
	for _, j := range jobs {
		k := key{j.WorkflowID, j.Fingerprint}
		i, ok := index[k]
		if !ok {
			i, index[k] = len(groups), len(groups)
			groups = append(groups, HoldGroup{
				WorkflowID: j.WorkflowID, Fingerprint: j.Fingerprint, ExampleID: j.ID, ExampleName: j.Name,
				Cause: j.Cause.Kind, ReturnCode: j.Cause.ReturnCode, CauseText: j.Cause.Text, Category: j.Category,
				LastLines: j.LastLines, Reason: j.Hold.Reason, SinceMS: j.Hold.SinceMS, Confidence: j.Cause.Confidence, RetriesLeft: j.RetriesLeft,
			})
		}
		g := &groups[i]
		g.Count++
		g.JobIDs = append(g.JobIDs, j.ID)
		g.Attempts, g.RetriesLeft = max(g.Attempts, j.Attempt), min(g.RetriesLeft, j.RetriesLeft)
		g.SinceMS = min(g.SinceMS, j.Hold.SinceMS)
		if d := j.Hold.DeadlineMS; d != nil && (g.DeadlineMS == 0 || *d < g.DeadlineMS) {
			g.DeadlineMS, g.OnTimeout = *d, j.Hold.OnTimeout
		}
	}
	slices.SortFunc(groups, func(a, b HoldGroup) int {
		return cmp.Or(cmp.Compare(a.WorkflowID, b.WorkflowID), cmp.Compare(b.Count, a.Count), cmp.Compare(a.ExampleID, b.ExampleID))
	})
	return groups
}
