package run

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// heldJobs are the jobs in a report that wait for a decision.
type heldJobs struct {
	Count int `json:"count"`
	// DeadlineMS is the first deadline at which a job is decided automatically, 0 if
	// there is none. OnTimeout is the decision: fail or retry.
	DeadlineMS int64           `json:"deadline_ms,omitempty"`
	OnTimeout  workflow.Action `json:"on_timeout,omitempty"`

	// alone is true if the database has a daemon only while a command uses it.
	alone bool
}

// heldOf summarizes the groups of a workflow.
func heldOf(groups []hold.HoldGroup) *heldJobs {
	h := &heldJobs{}
	for _, g := range groups {
		h.Count += g.Count
		if g.DeadlineMS != 0 && (h.DeadlineMS == 0 || g.DeadlineMS < h.DeadlineMS) {
			h.DeadlineMS, h.OnTimeout = g.DeadlineMS, g.OnTimeout
		}
	}
	return h
}

// String returns how long the jobs wait, and what happens then.
func (h *heldJobs) String() string {
	text := workflow.CountOf(int64(h.Count), "job waits", "jobs wait") + " for a decision"
	if h.DeadlineMS == 0 {
		return text + " without a deadline"
	}
	then := "fails"
	if h.OnTimeout == workflow.ActionRetry {
		then = "is retried if its retry policy allows it"
	}
	var when string
	if h.alone {
		when = ", and takes effect with the next command that uses the database"
	}
	return fmt.Sprintf("%s; a job without a decision by its deadline %s; the first deadline is %s%s", text, then, time.UnixMilli(h.DeadlineMS).Format(time.DateTime), when)
}
