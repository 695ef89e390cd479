// Package workflowtest has a reference engine for tests: a simple implementation of the job
// statuses in a graph. It examines all jobs repeatedly until nothing changes, without
// counters, leases or time. The store, which uses gates and sets, must have the same results.
package workflowtest

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Job is a job of the reference engine. Jobs are named by their index.
type Job struct {
	Status    workflow.JobStatus
	DependsOn []int
	RunIf     workflow.RunIf
	Skipped   bool // canceled or disabled because of its dependencies
}

// disabled reports whether a user disabled the job.
func (j *Job) disabled() bool { return j.Status == workflow.Disabled && !j.Skipped }

// Engine is a workflow. Its methods are the operations of the same names. They return an
// error and change nothing if the state machine does not allow the operation.
type Engine struct {
	Jobs     []Job
	Canceled bool
	// Halted says that nothing is released or skipped, because the workflow was canceled. In
	// a new run it is reset by Initialize, or when the first job becomes complete.
	Halted bool
}

// Initialize makes every job that has to run blocked, ready or skipped: jobs that are
// uninitialized, terminated or held, and their dependents. With onlyUninitialized, dependents
// of other incomplete jobs do not change; otherwise they wait for these again, even if they
// were complete. Live and disabled jobs do not change.
func (e *Engine) Initialize(onlyUninitialized bool) {
	e.Halted = e.Canceled
	toRun := func(s workflow.JobStatus) bool {
		return s == workflow.Uninitialized || s == workflow.Terminated || s == workflow.PendingFailed
	}
	behind := e.dependents(func(s workflow.JobStatus) bool {
		return toRun(s) || !onlyUninitialized && !s.IsComplete()
	})
	for i := range e.Jobs {
		s := e.Jobs[i].Status
		if (toRun(s) || behind[i]) && !s.IsLive() && !e.Jobs[i].disabled() {
			e.set(i, workflow.Blocked)
		}
	}
	e.settle()
}

// ResetJobs makes jobs uninitialized: all of them, or those that were not successful or are
// held, and all dependents of unsuccessful ones. Disabled jobs do not change; live ones lose
// their lease.
func (e *Engine) ResetJobs(failedOnly bool) {
	reset := make([]bool, len(e.Jobs))
	if failedOnly {
		reset = e.dependents(workflow.JobStatus.IsUnsuccessful)
	}
	for i := range e.Jobs {
		s := e.Jobs[i].Status
		if !failedOnly || s.IsUnsuccessful() || s == workflow.PendingFailed {
			reset[i] = true
		}
		if reset[i] && !e.Jobs[i].disabled() {
			e.set(i, workflow.Uninitialized)
		}
	}
}

// Cancel cancels the workflow: live jobs end, jobs that have not started do not change, and
// nothing is released or skipped any more.
func (e *Engine) Cancel() {
	e.Canceled, e.Halted = true, true
	for i := range e.Jobs {
		if e.Jobs[i].Status.IsLive() {
			e.set(i, workflow.Canceled)
		}
	}
}

// ResetStatus starts a new run: the workflow is no longer canceled. Jobs do not change.
func (e *Engine) ResetStatus() { e.Canceled = false }

// Claim grants a job to a runner. It returns an error if the workflow is canceled or the job
// is not ready.
func (e *Engine) Claim(i int) error {
	if e.Canceled {
		return fmt.Errorf("claim job %d: the workflow is canceled", i)
	}
	return e.Apply(workflow.OpClaim, i, workflow.Pending)
}

// Apply changes the status of a job by another operation. It returns an error if the state
// machine does not allow that.
func (e *Engine) Apply(op workflow.Operation, i int, to workflow.JobStatus) error {
	from := e.Jobs[i].Status
	if !workflow.CanTransition(from, to, op) {
		return fmt.Errorf("%s job %d: %s does not become %s", op, i, from, to)
	}
	e.set(i, to)
	if to.IsComplete() && !from.IsComplete() {
		e.Halted = e.Canceled
	}
	if op == workflow.OpManage && from.IsComplete() && to == workflow.Uninitialized {
		e.resetNext(i)
	}
	e.settle()
	return nil
}

// Spawn adds a job that waits for others, and returns its index.
func (e *Engine) Spawn(dependsOn []int, runIf workflow.RunIf) int {
	e.Jobs = append(e.Jobs, Job{Status: workflow.Blocked, DependsOn: dependsOn, RunIf: runIf})
	e.settle()
	return len(e.Jobs) - 1
}

// Counts returns the numbers of jobs by status.
func (e *Engine) Counts() stage.Counts {
	c := stage.Counts{WorkflowCanceled: e.Canceled}
	for _, j := range e.Jobs {
		c.ByStatus[j.Status]++
	}
	return c
}

// Statuses returns the statuses of the jobs.
func (e *Engine) Statuses() []workflow.JobStatus {
	all := make([]workflow.JobStatus, len(e.Jobs))
	for i, j := range e.Jobs {
		all[i] = j.Status
	}
	return all
}

func (e *Engine) set(i int, s workflow.JobStatus) {
	e.Jobs[i].Status, e.Jobs[i].Skipped = s, false
}

// settle reopens, releases and skips jobs until nothing changes.
func (e *Engine) settle() {
	for changed := true; changed; {
		changed = false
		for i := range e.Jobs {
			if next, skipped := e.consequence(i); next != e.Jobs[i].Status {
				e.set(i, next)
				e.Jobs[i].Skipped = skipped
				changed = true
			}
		}
	}
}

// consequence returns the status of a job that follows from its dependencies: it is released
// or skipped when all are complete, and blocked again if it has not started and one is open
// again. The latter applies even if the workflow is halted.
func (e *Engine) consequence(i int) (next workflow.JobStatus, skipped bool) {
	j := e.Jobs[i]
	switch {
	case e.open(i) && (j.Status == workflow.Ready || j.Skipped):
		return workflow.Blocked, false
	case j.Status != workflow.Blocked || e.open(i) || e.Halted:
		return j.Status, j.Skipped
	case j.RunIf == workflow.RunIfSuccess && e.failedBefore(i):
		return workflow.Canceled, true
	case j.RunIf == workflow.RunIfFailure && len(j.DependsOn) > 0 && !e.failedBefore(i):
		return workflow.Disabled, true
	}
	return workflow.Ready, false
}

// resetNext resets the completed and failed jobs that directly depend on i.
func (e *Engine) resetNext(i int) {
	for k := range e.Jobs {
		s := e.Jobs[k].Status
		if e.dependsOn(k, i) && (s == workflow.Completed || s == workflow.Failed) {
			e.set(k, workflow.Uninitialized)
		}
	}
}

func (e *Engine) dependsOn(i, on int) bool {
	for _, d := range e.Jobs[i].DependsOn {
		if d == on {
			return true
		}
	}
	return false
}

// open reports whether a dependency of the job is not complete.
func (e *Engine) open(i int) bool {
	for _, d := range e.Jobs[i].DependsOn {
		if !e.Jobs[d].Status.IsComplete() {
			return true
		}
	}
	return false
}

// failedBefore reports whether a dependency of the job was not successful.
func (e *Engine) failedBefore(i int) bool {
	for _, d := range e.Jobs[i].DependsOn {
		if e.Jobs[d].Status.IsUnsuccessful() {
			return true
		}
	}
	return false
}

// dependents marks the jobs that depend, directly or indirectly, on a job whose status
// matches.
func (e *Engine) dependents(is func(workflow.JobStatus) bool) []bool {
	marked := make([]bool, len(e.Jobs))
	for changed := true; changed; {
		changed = false
		for i := range e.Jobs {
			for _, d := range e.Jobs[i].DependsOn {
				if !marked[i] && (marked[d] || is(e.Jobs[d].Status)) {
					marked[i], changed = true, true
				}
			}
		}
	}
	return marked
}
