package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// JobFacts is what is known about a job when a user asks why it is in its present
// state.
type JobFacts struct {
	NowMS            int64
	Job              workflow.Job
	Class            placement.Class
	WorkflowCanceled bool
	GivenUp          string                 // why the run was aborted; empty: it was not
	ClaimHolds       hold.ClaimHolds        // of the workflow
	Breakers         []workflow.BreakerTrip // the open ones
	Alerts           RecentAlerts
	// Open holds the first few dependencies that are not complete, Unsuccessful the
	// first few that ended without success.
	Dependencies      int64
	OpenCount         int64
	Open              []DependencyFact
	UnsuccessfulCount int64
	Unsuccessful      []DependencyFact
	SkippedByName     string
	EndedBy           *workflow.Culprit // the job whose end canceled this one; nil: none
	RunnerHost        string            // of the runner that holds the job
	RunnerID          int64             // of the runner that holds the job; 0: none
	Runners           []placement.RunnerFacts
	ReadyAhead        int64 // ready jobs that are claimed before this one
	Attempts          []workflow.Attempt
	Classifications   []hold.PastClassification
	Agents            AgentFacts
	Retries           RetryFacts
	Places            PlaceFacts
	Login             LoginFacts
	Stage             *stage.Stage // the stage it is in; nil: the main one
	Child             *stage.Stage // the sub-workflow it stands for; nil: none
}

// DependencyFact is a dependency and its status.
type DependencyFact struct {
	Name   string
	Status workflow.JobStatus
}

// Job explains why a job is in its present state and what happens next.
func Job(f JobFacts) Explanation {
	e := Explanation{Subject: fmt.Sprintf("job %d %q", f.Job.ID, f.Job.Name)}
	excluded := f.exclusion()
	fits, best := placement.ExplainFit(f.Class, f.Runners, excluded.reason)
	e.State = f.state()
	if f.Job.Status == workflow.Ready {
		e.add("claims are held", claimHoldLines(f.ClaimHolds, f.NowMS)...)
		e.add("circuit breakers", breakerLines(f.excluding(), f.NowMS)...)
	}
	if h := f.Job.UserHold; h != nil {
		e.add("held", fmt.Sprintf("%s, %s ago", h, workflow.AgoMS(h.SinceMS, f.NowMS)))
	}
	e.add("dependencies", f.dependencyLines()...)
	e.add("stage", f.stageLines()...)
	if (f.Job.Status == workflow.Ready || f.Job.Status == workflow.Blocked) && f.Child == nil {
		e.add("needs", f.Class.Needs())
		e.add("runners", fits...)
	}
	e.add("allocations", f.Places.lines(&f.Class)...)
	e.add("attempts", f.attemptLines()...)
	e.add("holds", f.classificationLines()...)
	e.add("agents", f.Agents.lines(f.NowMS)...)
	e.add("alerts", f.Alerts.lines(f.NowMS)...)
	e.add("retries", f.Retries.lines(f.NowMS)...)
	e.Next = f.next(best, excluded)
	return e
}

// excluding returns the breakers that exclude a node.
func (f JobFacts) excluding() []workflow.BreakerTrip {
	return slices.DeleteFunc(slices.Clone(f.Breakers), func(t workflow.BreakerTrip) bool { return t.Action != workflow.BreakerExcludeNode })
}

// state describes the state of the job in a sentence.
func (f JobFacts) state() string {
	if text := f.stageState(); text != "" {
		return text
	}
	switch f.Job.Status {
	case workflow.Uninitialized:
		return "uninitialized, not part of a run yet" + f.heldText()
	case workflow.Blocked:
		return fmt.Sprintf("blocked, waits for %d of %s%s", f.OpenCount, workflow.CountOf(f.Dependencies, "dependency", "dependencies"), f.heldText())
	case workflow.Ready:
		if f.Job.UserHold != nil {
			return "ready, but " + f.Job.UserHold.String()
		}
		if f.isDelayed() {
			return fmt.Sprintf("ready, but must not start for another %s", workflow.AgoMS(f.NowMS, *f.Job.NotBeforeMS))
		}
		if len(f.ClaimHolds) > 0 {
			return "ready, but claims of the workflow's jobs are held"
		}
		return "ready, waits for a runner"
	case workflow.Pending:
		if f.Job.Phase == workflow.PhaseRecovery {
			return "pending, its recovery script is running" + f.onHost()
		}
		if trouble := f.runnerTrouble(); trouble != "" {
			return "pending, claimed" + f.onHost() + ", whose runner " + trouble
		}
		return "pending, claimed and about to start" + f.onHost()
	case workflow.Running:
		state := fmt.Sprintf("running, attempt %d%s%s", f.Job.AttemptID, f.onHost(), f.runningFor())
		if silent := f.runner().SilentMS; silent > 0 {
			state += ", as far as is known: its runner has been silent for " + workflow.FormatSeconds(silent/1000)
		}
		return state
	case workflow.Canceled:
		return f.canceledState()
	case workflow.Disabled:
		if f.Job.NotNeeded {
			return "disabled, it was not needed: it runs only after a failure, and none of its dependencies failed"
		}
		return "disabled, counts as done for the jobs that depend on it"
	case workflow.PendingFailed:
		if f.Job.Hold != nil && f.Job.Hold.Reason != "" {
			return "pending_failed, " + f.Job.Hold.Reason
		}
		return "pending_failed, it waits for a classification"
	}
	text := f.Job.Status.String()
	if last := f.lastAttempt(); last != nil {
		text = workflow.JoinText(text, last.Cause.Summary())
	}
	return text
}

// heldText says that a user holds the job, after its state; "" if none does.
func (f JobFacts) heldText() string {
	if f.Job.UserHold == nil {
		return ""
	}
	return "; " + f.Job.UserHold.String()
}

func (f JobFacts) canceledState() string {
	switch {
	case f.Job.SkippedBy != nil:
		by := workflow.Culprit{JobID: *f.Job.SkippedBy, JobName: f.SkippedByName, Rule: stage.ByDependency}
		return by.CanceledReason() + ", which was not successful"
	case f.EndedBy != nil && f.EndedBy.User != "" && (f.lastAttempt() == nil || !strings.HasPrefix(f.lastAttempt().Cause.Text, f.EndedBy.CanceledReason())):
		return f.EndedBy.CanceledReason()
	case f.EndedBy != nil && f.lastAttempt() == nil: // otherwise the attempt has the same text, and how it ended
		return f.EndedBy.NotStartedReason()
	case f.WorkflowCanceled:
		return "canceled with the workflow"
	}
	if last := f.lastAttempt(); last != nil && last.Status == workflow.Canceled {
		return workflow.JoinText("canceled", last.Cause.Text)
	}
	if f.GivenUp != "" {
		return "canceled, the run was aborted: " + f.GivenUp
	}
	return "canceled"
}

// isDelayed reports whether the job must not start yet.
func (f JobFacts) isDelayed() bool {
	return f.Job.NotBeforeMS != nil && *f.Job.NotBeforeMS > f.NowMS
}

// onHost returns " on HOST" for the runner that holds the job; "" if none does.
func (f JobFacts) onHost() string {
	if f.RunnerHost == "" {
		return ""
	}
	return " on " + f.RunnerHost
}

// runner returns the state of the runner that holds the job; the zero value if none
// does.
func (f JobFacts) runner() placement.RunnerState {
	for i := range f.Runners {
		if f.RunnerID != 0 && f.Runners[i].ID == f.RunnerID {
			return f.Runners[i].State
		}
	}
	return placement.RunnerState{}
}

// runnerTrouble says what is wrong with the runner that holds the job; "" if nothing
// is.
func (f JobFacts) runnerTrouble() string {
	text := f.runner().Text(f.NowMS)
	if f.runner().SilentMS > 0 {
		return "has been " + text
	}
	return text
}

// runningFor returns " for DURATION" of the running attempt; "" if there is none.
func (f JobFacts) runningFor() string {
	if last := f.lastAttempt(); last != nil && last.EndedMS == nil && last.StartedMS != nil {
		return " for " + workflow.AgoMS(*last.StartedMS, f.NowMS)
	}
	return ""
}

func (f JobFacts) lastAttempt() *workflow.Attempt {
	if len(f.Attempts) == 0 {
		return nil
	}
	return &f.Attempts[len(f.Attempts)-1]
}

func (f JobFacts) dependencyLines() []string {
	var lines []string
	if f.OpenCount > 0 {
		lines = append(lines, "not complete: "+dependencyNames(f.Open, f.OpenCount))
	}
	if f.UnsuccessfulCount > 0 {
		lines = append(lines, "not successful: "+dependencyNames(f.Unsuccessful, f.UnsuccessfulCount))
	}
	if len(lines) == 0 && f.Dependencies > 0 {
		lines = append(lines, fmt.Sprintf("complete: all %d", f.Dependencies))
	}
	return lines
}

func dependencyNames(deps []DependencyFact, total int64) string {
	names := make([]string, len(deps))
	for i, d := range deps {
		names[i] = fmt.Sprintf("%s (%s)", d.Name, d.Status)
	}
	return workflow.FirstFew(names, total)
}

// next says what the job waits for, or what a user can do.
func (f JobFacts) next(best placement.FitLevel, excluded *exclusion) string {
	if f.WorkflowCanceled && !f.Job.Status.IsComplete() && !f.Job.Status.IsLive() {
		return "nothing, the workflow is canceled; resetting the workflow makes the job run again"
	}
	switch f.Job.Status {
	case workflow.Uninitialized:
		return "starting the workflow makes it ready or blocked"
	case workflow.Blocked:
		return f.nextBlocked()
	case workflow.Ready:
		return f.nextReady(best, excluded)
	case workflow.Pending:
		if f.Job.Phase == workflow.PhaseRecovery {
			return "the job becomes ready again when the script has ended"
		}
		if f.runner().Paused != nil {
			return "its runner starts it when Slurm answers; if the allocation ends first, the job becomes ready again"
		}
		return "its runner starts it; if that runner ends first, the job becomes ready again"
	case workflow.Running:
		if f.Child != nil {
			return "it ends when its sub-workflow ends"
		}
		if f.runner().SilentMS > 0 {
			return "its runner reports how it ends, if the runner is still alive; if Slurm or the node reports that it is not, the job is lost and may be retried"
		}
		return "its runner reports how it ends"
	case workflow.PendingFailed:
		return f.Job.Hold.Next(f.NowMS)
	case workflow.Completed, workflow.Disabled:
		return "nothing"
	}
	if last := f.lastAttempt(); last != nil && f.Job.Status != workflow.Canceled {
		return "nothing by itself; " + AdviceFor(last.Cause.Kind).Sentence(f.Job.WorkflowID)
	}
	return "nothing by itself; retrying or resetting it makes it run again"
}

func (f JobFacts) nextBlocked() string {
	switch {
	case f.Stage != nil && f.Stage.State == stage.NotStarted && f.Dependencies == 0:
		return "ready when its stage begins"
	case f.UnsuccessfulCount > 0 && f.Job.RunIf == workflow.RunIfSuccess:
		return "canceled when the other dependencies are complete, because one was not successful"
	case f.UnsuccessfulCount > 0:
		return "ready when the other dependencies are complete; it runs even though one was not successful"
	case f.Job.RunIf == workflow.RunIfAlways:
		return "ready when the dependencies are complete, however they end"
	case f.Job.RunIf == workflow.RunIfFailure:
		return "ready when the dependencies are complete and one was not successful; otherwise it is not needed"
	}
	return "ready when the dependencies are complete"
}

func (f JobFacts) nextReady(best placement.FitLevel, excluded *exclusion) string {
	switch {
	case f.Job.UserHold != nil:
		return fmt.Sprintf("`torc-slurm jobs release %d` lets runners claim it", f.Job.ID)
	case len(f.ClaimHolds) > 0:
		return claimHoldNext(f.ClaimHolds, f.Job.WorkflowID, f.NowMS)
	case best == placement.FitsNever && f.Class.Login && !f.isDelayed():
		return f.Login.next(f.Job.WorkflowID)
	case f.Class.Login && f.isDelayed():
		return "a runner takes it then"
	case best == placement.FitsNever && f.Places.next() != "":
		return f.Places.next()
	case len(f.Runners) == 0:
		return "no runner is live; start one for this workflow"
	case best == placement.FitsNever:
		return "no live runner can ever take it; start a larger one, or lower its requirements"
	case best == placement.FitsExcluded:
		return f.nextExcluded(excluded)
	case f.isDelayed():
		return "a runner takes it then"
	case best == placement.FitsLater:
		return "a runner takes it when other jobs have ended" + f.jobsAhead()
	}
	return "a runner takes it in its next turn" + f.jobsAhead()
}

// jobsAhead returns a clause with the number of ready jobs that are claimed first; ""
// if there are none.
func (f JobFacts) jobsAhead() string {
	if f.ReadyAhead == 0 {
		return ""
	}
	return fmt.Sprintf("; %s ahead of it", workflow.CountOf(f.ReadyAhead, "ready job is", "ready jobs are"))
}
