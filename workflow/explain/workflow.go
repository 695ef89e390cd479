package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// WorkflowFacts is what is known about a workflow when a user asks why it has not
// finished, or why it ended as it did.
type WorkflowFacts struct {
	NowMS      int64
	ID         int64
	Name       string
	RunID      int64
	Counts     stage.Counts      // of all jobs except those of compensations
	Verdict    *stage.EndPayload // nil until the run has ended
	IsArchived bool
	// Ready groups the ready jobs that may be claimed now.
	Ready []ClassFact
	// Waiting counts ready jobs that must not be claimed yet; the first may be
	// claimed WaitingMS from now.
	Waiting     int64
	WaitingMS   int64
	Runners     []placement.RunnerFacts
	Failures    []FailureFact // the latest few
	FailedCount int64
	Alike       []hold.FailureGroup   // the largest groups of jobs that failed alike, also held ones
	AlikeCount  int64                 // how many groups there are
	CanceledBy  []stage.CanceledGroup // the largest few
	PoliciesOff int64                 // attempts that no retry policy decided, because policies are switched off
	Held        []string              // names of held jobs, the first few
	UserHeld    int64                 // jobs that are not complete and that users hold
	UserHeldFew []string              // the names of the first few
	Places      PlaceFacts
	Login       LoginFacts
	Agents      AgentFacts
	ClaimHolds  hold.ClaimHolds
	Breakers    []workflow.BreakerTrip // the open ones
	// Compensation is that of the run; nil if there is none.
	Compensation *stage.Compensation
	// Staged counts the jobs of Counts that are in a stage other than the main one.
	// RunningStages counts the running jobs that stand for sub-workflows: no runner
	// holds them.
	Staged        workflow.StatusCounts
	RunningStages int64
	Stages        stage.StageSummaries
	Alerts        RecentAlerts
}

// ClassFact is the number of ready jobs of a class, and the name of one.
type ClassFact struct {
	Class   placement.Class
	Jobs    int64
	Example string
}

// FailureFact is a job that was not successful, and why.
type FailureFact struct {
	Name    string
	Attempt int64
	Cause   workflow.Cause
}

// Workflow explains the state of a workflow, what keeps it from finishing, and what
// happens next.
func Workflow(f WorkflowFacts) Explanation {
	e := Explanation{Subject: fmt.Sprintf("workflow %d %q", f.ID, f.Name)}
	e.State = f.state()
	e.add("jobs", countLines(f.main())...)
	if !f.Counts.Ended() {
		e.add("claims are held", claimHoldLines(f.ClaimHolds, f.NowMS)...)
		e.add("circuit breakers", breakerLines(f.Breakers, f.NowMS)...)
	}
	e.add("stages", f.Stages.Lines()...)
	if c := f.Compensation; c != nil {
		e.add("compensation", c.Lines()...)
	}
	ready, stuck := f.readyLines()
	e.add("ready jobs", ready...)
	e.add("runners", placement.RunnerLines(f.Runners, f.NowMS)...)
	e.add("allocations", f.Places.lines(nil)...)
	e.add("held", f.heldLines()...)
	e.add("agents", f.Agents.lines(f.NowMS)...)
	if f.UserHeld > 0 {
		e.add("held by users", workflow.FirstFew(f.UserHeldFew, f.UserHeld)+fmt.Sprintf("; `torc-slurm jobs release --all -w %d` lets runners claim %s", f.ID, workflow.Plural(f.UserHeld, "it", "them")))
	}
	e.add("failures", f.failureLines()...)
	e.add("canceled", f.canceledLines()...)
	if line := retry.PoliciesOffLine(f.PoliciesOff); line != "" {
		e.add("retry policies", line)
	}
	e.add("alerts", f.Alerts.lines(f.NowMS)...)
	e.add("success", f.successLines()...)
	e.Next = f.next(stuck)
	return e
}

// main returns the counts of the main stage alone, as the verdict uses them.
func (f WorkflowFacts) main() stage.Counts {
	c := f.Counts
	for status, n := range f.Staged {
		c.ByStatus[status] -= n
	}
	return c
}

// live returns how many jobs a runner holds.
func (f WorkflowFacts) live() int64 { return f.Counts.Live() - f.RunningStages }

func (f WorkflowFacts) state() string {
	c := f.Counts
	switch {
	case f.IsArchived:
		return "archived"
	case c.Total() == 0:
		return "has no jobs"
	case c.Ended():
		return fmt.Sprintf("run %d has ended, %s", f.RunID, f.outcome())
	case c.WorkflowCanceled:
		return fmt.Sprintf("run %d is canceled, %s still live", f.RunID, workflow.CountOf(f.live(), "job is", "jobs are"))
	case c.ByStatus[workflow.Uninitialized]+c.ByStatus[workflow.Disabled] == c.Total():
		return "not started"
	}
	c = f.main()
	if c.GivenUp != "" {
		return fmt.Sprintf("run %d was aborted and is ending, %d of %s complete", f.RunID, c.Total()-c.Open(), workflow.CountOf(c.Total(), "job is", "jobs are"))
	}
	return fmt.Sprintf("run %d is in progress, %d of %s complete", f.RunID, c.Total()-c.Open(), workflow.CountOf(c.Total(), "job is", "jobs are"))
}

// outcome returns how the run ended: "completed", "failed" or "canceled".
func (f WorkflowFacts) outcome() string {
	kind := string(stage.EndVerdict(f.Counts, nil).EventType)
	if f.Verdict != nil {
		kind = f.Verdict.EventType
	}
	return strings.TrimPrefix(kind, "workflow_")
}

// successLines returns why the run was aborted or, if it has ended, the results of its
// end job and of success_if.
func (f WorkflowFacts) successLines() []string {
	if f.Counts.GivenUp != "" {
		return []string{"aborted: " + f.Counts.GivenUp}
	}
	if f.Verdict == nil {
		return nil
	}
	var lines []string
	if line := f.Verdict.EndJob.Line(); line != "" {
		lines = append(lines, "the end job "+line)
	}
	if f.Verdict.SuccessIfHolds != nil {
		holds := "does not hold"
		if *f.Verdict.SuccessIfHolds {
			holds = "holds"
		}
		lines = append(lines, fmt.Sprintf("success_if %s: %s", holds, f.Verdict.SuccessIf))
	}
	return lines
}

// countLines returns the counts that are not zero.
func countLines(c stage.Counts) []string {
	var parts []string
	for _, s := range workflow.JobStatuses() {
		if n := c.ByStatus[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	lines := []string{strings.Join(parts, ", ")}
	var causes []string
	troubles := c.Troubles()
	for _, kind := range slices.Sorted(maps.Keys(troubles)) {
		causes = append(causes, fmt.Sprintf("%d %s", troubles[kind], kind))
	}
	if len(causes) > 0 {
		lines = append(lines, "unsuccessful attempts, by cause: "+strings.Join(causes, ", "))
	}
	var categories []string
	for _, name := range slices.Sorted(maps.Keys(c.ByCategory)) {
		categories = append(categories, fmt.Sprintf("%d %s", c.ByCategory[name], name))
	}
	if len(categories) > 0 {
		lines = append(lines, "failed attempts, by category: "+strings.Join(categories, ", "))
	}
	if c.Retried > 0 {
		lines = append(lines, workflow.CountOf(c.Retried, "attempt was retried", "attempts were retried"))
	}
	return lines
}

// readyLines returns the ready jobs, grouped by what keeps them from running. Jobs
// that no live runner can ever take come first; stuck counts them.
func (f WorkflowFacts) readyLines() (lines []string, stuck int64) {
	const shown = 8
	var byLevel [placement.FitsNever + 1][]string
	for _, r := range f.Ready {
		line, level := f.readyLine(r)
		byLevel[level] = append(byLevel[level], line)
		if level == placement.FitsNever {
			stuck += r.Jobs
		}
	}
	lines = slices.Concat(byLevel[placement.FitsNever], byLevel[placement.FitsExcluded], byLevel[placement.FitsLater], byLevel[placement.FitsNow])
	if len(lines) > shown {
		lines = append(lines[:shown], fmt.Sprintf("and %d more kinds of jobs", len(f.Ready)-shown))
	}
	if f.Waiting > 0 {
		lines = append(lines, fmt.Sprintf("%s for a delay to end, the first for another %s",
			workflow.CountOf(f.Waiting, "job waits", "jobs wait"), workflow.AgoMS(0, f.WaitingMS)))
	}
	return lines, stuck
}

func (f WorkflowFacts) readyLine(r ClassFact) (line string, level placement.FitLevel) {
	who := fmt.Sprintf("%s like %s (%s)", workflow.CountOf(r.Jobs, "job", "jobs"), r.Example, r.Class.Needs())
	if r.Jobs == 1 {
		who = fmt.Sprintf("%s (%s)", r.Example, r.Class.Needs())
	}
	fits, best := placement.ExplainFit(r.Class, f.Runners, (&exclusion{nowMS: f.NowMS, class: r.Class, runners: f.Runners, breakers: f.Breakers}).reason)
	switch {
	case r.Class.Login && best == placement.FitsNever:
		return who + ": " + f.Login.next(f.ID), best
	case len(f.Runners) == 0:
		return who + ": no runner is live", best
	case best == placement.FitsNow:
		return who + ": a runner takes " + workflow.Plural(r.Jobs, "it", "them") + " in its next turn", best
	case best == placement.FitsLater:
		return who + workflow.Plural(r.Jobs, ": waits", ": wait") + " until other jobs have ended", best
	}
	if best == placement.FitsExcluded {
		return who + ": excluded from the nodes for now; " + strings.Join(fits, "; "), best
	}
	why := strings.ReplaceAll(strings.Join(fits, "; "), ": never: ", ": ")
	return who + workflow.Plural(r.Jobs, ": fits", ": fit") + " no live runner; " + why, best
}

func (f WorkflowFacts) heldLines() []string {
	n := f.Counts.ByStatus[workflow.PendingFailed]
	if n == 0 {
		return nil
	}
	return []string{workflow.FirstFew(f.Held, n)}
}

func (f WorkflowFacts) failureLines() []string {
	var lines []string
	if hold.AnyAlike(f.Alike) {
		for i := range f.Alike {
			lines = append(lines, f.Alike[i].Line())
		}
		if more := f.AlikeCount - int64(len(f.Alike)); more > 0 {
			lines = append(lines, "and "+workflow.CountOf(more, "other group", "other groups"))
		}
		return lines
	}
	for _, x := range f.Failures {
		lines = append(lines, fmt.Sprintf("%s, attempt %d: %s", x.Name, x.Attempt, x.Cause.Summary()))
	}
	if more := f.FailedCount - int64(len(f.Failures)); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}

func (f WorkflowFacts) canceledLines() []string {
	var lines []string
	for _, g := range f.CanceledBy {
		lines = append(lines, g.Line())
	}
	return lines
}

// nextUndo says what happens while the compensations of the run undo its jobs.
func (f WorkflowFacts) nextUndo() string {
	text := "the run is being undone: " + f.Compensation.Text
	if len(f.Runners) == 0 && f.Places.next() == "" {
		text += fmt.Sprintf("; no runner is live: `torc-slurm run %d` continues it", f.ID)
	}
	return text + "; retry and reset are possible when it has ended; cancel stops it"
}

// nextFailed says what to do about a run that has ended without success.
func (f WorkflowFacts) nextFailed() string {
	causes := make([]workflow.CauseKind, len(f.Failures))
	for i := range f.Failures {
		causes[i] = f.Failures[i].Cause.Kind
	}
	advice, ok := AdviseAll(causes)
	if !ok || f.Compensation != nil { // completed jobs were undone; repeating the failed ones is not enough
		return "nothing by itself; retry or reset the unsuccessful jobs"
	}
	i := slices.IndexFunc(causes, func(c workflow.CauseKind) bool { return AdviceFor(c) == advice })
	return fmt.Sprintf("nothing by itself; %s: %s", f.Failures[i].Name, advice.Sentence(f.ID))
}

func (f WorkflowFacts) next(stuck int64) string {
	c := f.Counts
	switch {
	case f.IsArchived || c.Total() == 0:
		return "nothing"
	case f.Compensation != nil && !f.Compensation.State.IsOver():
		return f.nextUndo()
	case c.Ended() && f.outcome() == "completed":
		return "nothing"
	case c.Ended():
		return f.nextFailed()
	case c.WorkflowCanceled:
		return "its runners end the live jobs"
	case c.ByStatus[workflow.Uninitialized] > 0 && f.live()+c.ByStatus[workflow.Ready]+c.ByStatus[workflow.Blocked] == 0:
		return "start the workflow"
	case len(f.ClaimHolds) > 0:
		return claimHoldNext(f.ClaimHolds, f.ID, f.NowMS)
	case f.live() > 0 && stuck > 0:
		return fmt.Sprintf("continues as live jobs end; %s a larger runner or lower requirements",
			workflow.CountOf(stuck, "ready job needs", "ready jobs need"))
	case f.live() > 0:
		return "continues as live jobs end"
	case stuck > 0 && stuck == c.ByStatus[workflow.Ready] && !slices.ContainsFunc(f.Ready, func(r ClassFact) bool { return !r.Class.Login }):
		return f.Login.next(f.ID)
	case stuck > 0 && stuck == c.ByStatus[workflow.Ready] && f.Places.next() != "":
		return f.Places.next()
	case f.UserHeld > 0 && len(f.Ready) == 0 && f.Waiting == 0:
		return fmt.Sprintf("users hold what is left: `torc-slurm jobs release --all -w %d`", f.ID)
	case len(f.Runners) == 0 && c.ByStatus[workflow.Ready] > 0:
		return "no runner is live; start one"
	case stuck > 0 && stuck == c.ByStatus[workflow.Ready]:
		return "no ready job fits a live runner; start a larger one, or lower the requirements"
	case c.ByStatus[workflow.Ready] > 0:
		return "a runner takes the next ready job"
	case c.ByStatus[workflow.PendingFailed] > 0:
		return "a user has to classify the held jobs"
	}
	return "nothing can happen: every remaining job waits for another one; check the dependencies"
}
