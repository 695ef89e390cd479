package explain

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// JobFacts is what is known about a job when somebody asks why it is where it
// is.
type JobFacts struct {
	NowMS            int64
	Job              workflow.Job
	Class            placement.Class
	WorkflowCanceled bool
	GivenUp          string                 // why the run was given up; empty: it was not
	ClaimHolds       hold.ClaimHolds        // of the workflow
	Breakers         []workflow.BreakerTrip // that are open
	Alerts           RecentAlerts
	// Open and Unsuccessful are the first few of the dependencies that are not
	// complete, and of those that ended without success.
	Dependencies      int64
	OpenCount         int64
	Open              []DependencyFact
	UnsuccessfulCount int64
	Unsuccessful      []DependencyFact
	SkippedByName     string
	EndedBy           *workflow.Culprit // for which a canceled job was ended; nil: none
	RunnerHost        string            // of the runner that holds the job
	RunnerID          int64             // of the same; 0: none
	Runners           []placement.RunnerFacts
	ReadyAhead        int64 // ready jobs that are claimed before this one
	Attempts          []workflow.Attempt
	Classifications   []hold.PastClassification
	Retries           RetryFacts
	Places            PlaceFacts
	Login             LoginFacts
	Stage             *stage.Stage // that it is in; nil: the main one
	Child             *stage.Stage // that it stands for; nil if it does not
}

// DependencyFact is a dependency and its status.
type DependencyFact struct {
	Name   string
	Status workflow.JobStatus
}

// Job says why a job is where it is and what happens next.
func Job(f JobFacts) Explanation {
	e := Explanation{Subject: fmt.Sprintf("job %d %q", f.Job.ID, f.Job.Name)}
	kept := f.exclusion()
	fits, best := placement.ExplainFit(f.Class, f.Runners, kept.from)
	e.State = f.state()
	if f.Job.Status == workflow.Ready {
		e.add("claims are held", claimHoldLines(f.ClaimHolds, f.NowMS)...)
		e.add("circuit breakers", breakerLines(f.excluding(), f.NowMS)...)
	}
	e.add("dependencies", f.dependencyLines()...)
	e.add("stage", f.stageLines()...)
	if (f.Job.Status == workflow.Ready || f.Job.Status == workflow.Blocked) && f.Child == nil {
		e.add("needs", f.Class.Needs())
		e.add("runners", fits...)
	}
	e.add("allocations", f.Places.lines()...)
	e.add("attempts", f.attemptLines()...)
	e.add("holds", f.classificationLines()...)
	e.add("alerts", f.Alerts.lines(f.NowMS)...)
	e.add("retries", f.Retries.lines(f.NowMS)...)
	e.Next = f.next(best, kept)
	return e
}

// excluding are the breakers that keep the job from a node.
func (f JobFacts) excluding() []workflow.BreakerTrip {
	return slices.DeleteFunc(slices.Clone(f.Breakers), func(t workflow.BreakerTrip) bool { return t.Action != workflow.BreakerExcludeNode })
}

// state says in words where the job stands.
func (f JobFacts) state() string {
	if text := f.stageState(); text != "" {
		return text
	}
	switch f.Job.Status {
	case workflow.Uninitialized:
		return "uninitialized, not part of a run yet"
	case workflow.Blocked:
		return fmt.Sprintf("blocked, waits for %d of %s", f.OpenCount, workflow.CountOf(f.Dependencies, "dependency", "dependencies"))
	case workflow.Ready:
		if f.waits() {
			return fmt.Sprintf("ready, but not to be started for another %s", workflow.AgoMS(f.NowMS, *f.Job.NotBeforeMS))
		}
		if len(f.ClaimHolds) > 0 {
			return "ready, but no job of the workflow is claimed for now"
		}
		return "ready, waits for a runner"
	case workflow.Pending:
		if f.Job.Phase == workflow.PhaseRecovery {
			return "pending, its recovery script is running" + f.on()
		}
		if trouble := f.runnerState(); trouble != "" {
			return "pending, claimed" + f.on() + ", whose runner " + trouble
		}
		return "pending, claimed and about to start" + f.on()
	case workflow.Running:
		state := fmt.Sprintf("running, attempt %d%s%s", f.Job.AttemptID, f.on(), f.runningFor())
		if silent := f.holder().SilentMS; silent > 0 {
			state += ", as far as is known: its runner has been silent for " + workflow.FormatSeconds(silent/1000)
		}
		return state
	case workflow.Canceled:
		return f.canceledState()
	case workflow.Disabled:
		if f.Job.NotNeeded {
			return "disabled, it was not needed: nothing failed that it was to run after"
		}
		return "disabled, counts as done for the jobs behind it"
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

func (f JobFacts) canceledState() string {
	switch {
	case f.Job.SkippedBy != nil:
		by := workflow.Culprit{JobID: *f.Job.SkippedBy, JobName: f.SkippedByName, Rule: stage.ByDependency}
		return by.Because() + ", which was not successful"
	case f.EndedBy != nil && f.lastAttempt() == nil: // else that says it, and how it ended
		return f.EndedBy.NotStarted()
	case f.WorkflowCanceled:
		return "canceled with the workflow"
	}
	if last := f.lastAttempt(); last != nil && last.Status == workflow.Canceled {
		return workflow.JoinText("canceled", last.Cause.Text)
	}
	if f.GivenUp != "" {
		return "canceled, the run was given up: " + f.GivenUp
	}
	return "canceled"
}

func (f JobFacts) waits() bool { return f.Job.NotBeforeMS != nil && *f.Job.NotBeforeMS > f.NowMS }

func (f JobFacts) on() string {
	if f.RunnerHost == "" {
		return ""
	}
	return " on " + f.RunnerHost
}

// holder is the state of the runner that holds the job.
func (f JobFacts) holder() placement.RunnerState {
	for i := range f.Runners {
		if f.RunnerID != 0 && f.Runners[i].ID == f.RunnerID {
			return f.Runners[i].State
		}
	}
	return placement.RunnerState{}
}

// runnerState says what is the matter with the runner that holds the job.
func (f JobFacts) runnerState() string {
	text := f.holder().Text(f.NowMS)
	if f.holder().SilentMS > 0 {
		return "has been " + text
	}
	return text
}

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

// next says what the job waits for, or what a person can do.
func (f JobFacts) next(best placement.FitLevel, kept *exclusion) string {
	if f.WorkflowCanceled && !f.Job.Status.IsComplete() && !f.Job.Status.IsLive() {
		return "nothing, the workflow is canceled; a reset of the workflow makes it run again"
	}
	switch f.Job.Status {
	case workflow.Uninitialized:
		return "starting the workflow makes it ready or blocked"
	case workflow.Blocked:
		return f.nextBlocked()
	case workflow.Ready:
		return f.nextReady(best, kept)
	case workflow.Pending:
		if f.Job.Phase == workflow.PhaseRecovery {
			return "when the script has ended the job is ready again"
		}
		if f.holder().Paused != nil {
			return "its runner starts it when Slurm answers; at the end of the allocation it is ready again"
		}
		return "its runner starts it; if that runner goes away it is ready again"
	case workflow.Running:
		if f.Child != nil {
			return "it ends as its sub-workflow does"
		}
		if f.holder().SilentMS > 0 {
			return "its runner reports how it ends, if it is still there; if Slurm or the node says that it is not, the job is lost and may be repeated"
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
	return "nothing by itself; a retry or a reset makes it run again"
}

func (f JobFacts) nextBlocked() string {
	switch {
	case f.Stage != nil && f.Stage.State == stage.NotStarted && f.Dependencies == 0:
		return "ready when its stage begins"
	case f.UnsuccessfulCount > 0 && f.Job.RunIf == workflow.RunIfSuccess:
		return "canceled when the other dependencies are complete, because one was not successful"
	case f.UnsuccessfulCount > 0:
		return "ready when the other dependencies are complete; it runs although one was not successful"
	case f.Job.RunIf == workflow.RunIfAlways:
		return "ready when the dependencies are complete, however they end"
	case f.Job.RunIf == workflow.RunIfFailure:
		return "ready when the dependencies are complete and one was not successful; otherwise it is not needed"
	}
	return "ready when the dependencies are complete"
}

func (f JobFacts) nextReady(best placement.FitLevel, kept *exclusion) string {
	switch {
	case len(f.ClaimHolds) > 0:
		return claimHoldNext(f.ClaimHolds, f.Job.WorkflowID, f.NowMS)
	case best == placement.FitsNever && f.Class.Login && !f.waits():
		return f.Login.next(f.Job.WorkflowID)
	case f.Class.Login && f.waits():
		return "a runner takes it then"
	case best == placement.FitsNever && f.Places.next() != "":
		return f.Places.next()
	case len(f.Runners) == 0:
		return "no runner is live; start one for this workflow"
	case best == placement.FitsNever:
		return "no live runner can ever take it; start a larger one, or lower its requirements"
	case best == placement.FitsKept:
		return f.nextKept(kept)
	case f.waits():
		return "a runner takes it then"
	case best == placement.FitsLater:
		return "a runner takes it when others have ended" + f.ahead()
	}
	return "a runner takes it in its next turn" + f.ahead()
}

func (f JobFacts) ahead() string {
	if f.ReadyAhead == 0 {
		return ""
	}
	return fmt.Sprintf("; %s before it", workflow.CountOf(f.ReadyAhead, "ready job is", "ready jobs are"))
}
