package usage

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// FailureGroup says what has to change before a failed job runs again.
type FailureGroup string

// The groups of failures.
const (
	GroupMemory  FailureGroup = "oom"     // it needs more memory
	GroupRuntime FailureGroup = "timeout" // it needs more time
	GroupOutside FailureGroup = "outside" // the failure came from outside of the job
	GroupUnknown FailureGroup = "unknown" // it may fail in the same way again
)

// FailedJob is a job that did not succeed, with what its last attempt used.
type FailedJob struct {
	JobUse
	Cause workflow.CauseKind // "" if it is unknown
}

// nearlyAll is the part of its runtime from which a job counts as ended by that limit.
const nearlyAll = 0.9

// Group returns the group of a failed job, by the cause of its last attempt or, if that is
// unknown, by its return code and what it used.
func (f *FailedJob) Group() FailureGroup {
	switch f.Cause {
	case workflow.CauseOOM, workflow.CauseOOMPartial:
		return GroupMemory
	case workflow.CauseTimeout:
		return GroupRuntime
	case workflow.CauseWalltime:
		if f.usedRuntime() >= nearlyAll {
			return GroupRuntime
		}
		return GroupOutside // its allocation had little time left
	case workflow.CauseNodeFail, workflow.CausePreempted, workflow.CauseCanceledAdmin, workflow.CauseLost, workflow.CauseNeverStarted:
		return GroupOutside
	case "":
		return f.guess()
	}
	return GroupUnknown
}

// The return codes of processes that were killed because of memory or time.
const (
	codeKilled  = 137
	codeTimeout = 152
	codeLost    = -128
)

// guess returns the group by the return code, for results of torc clients.
func (f *FailedJob) guess() FailureGroup {
	limit, known := request(workflow.ResourceMemory, f.Requirements)
	switch used := f.usedRuntime(); {
	case known && f.PeakMemoryBytes != nil && float64(*f.PeakMemoryBytes) > limit, f.ReturnCode == codeKilled && used < 0.8:
		return GroupMemory
	case f.ReturnCode == codeTimeout, used >= nearlyAll:
		return GroupRuntime
	case f.ReturnCode == codeLost:
		return GroupOutside
	}
	return GroupUnknown
}

// usedRuntime returns the part of its runtime that an attempt used; 0 if there is no limit.
func (f *FailedJob) usedRuntime() float64 {
	limit, known := request(workflow.ResourceRuntime, f.Requirements)
	if !known || !f.Requirements.Enforced() {
		return 0
	}
	return f.ExecSeconds / limit
}

// RequirementChange is a change of the requirements of jobs.
type RequirementChange struct {
	From, To workflow.ResourceRequirements
	JobIDs   []int64 // ascending
	// Clone says that other jobs with the same requirements keep them, so that these jobs get
	// requirements of their own.
	Clone       bool
	Corrections []Correction
}

// CorrectFailed returns how the requirements of failed jobs have to change before they run
// again. The map users has the number of jobs by the id of the requirements. Of the options,
// only the multipliers apply; nothing is lowered.
func CorrectFailed(jobs []FailedJob, users map[int64]int, o CorrectionOptions) []RequirementChange {
	o.NoDownsize, o.Codes = true, workflow.ReturnCodes{OOM: codeKilled, Timeout: codeTimeout}
	uses := make([]JobUse, len(jobs))
	for i := range jobs {
		uses[i] = jobs[i].JobUse
		uses[i].Status, uses[i].ReturnCode = workflow.Failed, 1
		switch jobs[i].Group() {
		case GroupMemory:
			uses[i].ReturnCode = codeKilled
		case GroupRuntime:
			uses[i].ReturnCode = codeTimeout
		}
	}
	var changes []RequirementChange
	for _, c := range CorrectRequirements(uses, users, o) {
		n := len(changes)
		if n == 0 || changes[n-1].From.ID != c.Requirements.ID {
			changes = append(changes, RequirementChange{From: c.Requirements, To: c.Requirements})
			n++
		}
		change := &changes[n-1]
		change.To = c.Apply(change.To)
		change.JobIDs = append(change.JobIDs, c.JobIDs...)
		change.Corrections = append(change.Corrections, c)
	}
	for i := range changes {
		c := &changes[i]
		slices.Sort(c.JobIDs)
		c.JobIDs = slices.Compact(c.JobIDs)
		c.Clone = len(c.JobIDs) < users[c.From.ID]
	}
	return changes
}

// String returns what changes and why.
func (c *RequirementChange) String() string {
	text := ""
	for _, x := range c.Corrections {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s %s -> %s (%s)", x.Resource, x.Old, x.New, x.Reason)
	}
	return text
}
