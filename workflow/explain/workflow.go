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

// WorkflowFacts is what is known about a workflow when somebody asks why it has
// not finished, or why it ended as it did.
type WorkflowFacts struct {
	NowMS      int64
	ID         int64
	Name       string
	RunID      int64
	Counts     stage.Counts      // of all jobs but those of compensations
	Verdict    *stage.EndPayload // nil while the run goes on
	IsArchived bool
	// Ready groups the ready jobs that may be claimed now.
	Ready []ClassFact
	// Waiting counts ready jobs that are not to be claimed yet, the first of
	// them in WaitingMS from now.
	Waiting     int64
	WaitingMS   int64
	Runners     []placement.RunnerFacts
	Failures    []FailureFact // the latest few
	FailedCount int64
	CanceledBy  []stage.CanceledGroup // the largest few
	PoliciesOff int64                 // attempts for which no retry policy was asked, as they are switched off
	Held        []string              // names, the first few
	Places      PlaceFacts
	Login       LoginFacts
	ClaimHolds  hold.ClaimHolds
	Breakers    []workflow.BreakerTrip // that are open
	// Compensation of the run; nil if there is none.
	Compensation *stage.Compensation
	// Staged are those of Counts that are in a stage beside the main one, and
	// RunningStages the sub-workflow jobs that are running: nobody holds them.
	Staged        workflow.StatusCounts
	RunningStages int64
	Stages        stage.StageSummaries
	Alerts        RecentAlerts
}

// ClassFact is how many ready jobs are of a class, and the name of one.
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

// Workflow says where a workflow stands, what keeps it from its end and
// what happens next.
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
	e.add("allocations", f.Places.lines()...)
	e.add("held", f.heldLines()...)
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

// main is the counts with the jobs of the main stage alone, as the verdict has
// them.
func (f WorkflowFacts) main() stage.Counts {
	c := f.Counts
	for status, n := range f.Staged {
		c.ByStatus[status] -= n
	}
	return c
}

// live is how many jobs somebody holds.
func (f WorkflowFacts) live() int64 { return f.Counts.Live() - f.RunningStages }

func (f WorkflowFacts) state() string {
	c := f.Counts
	switch {
	case f.IsArchived:
		return "archived"
	case c.Total() == 0:
		return "has no jobs"
	case c.Ended():
		return fmt.Sprintf("run %d has ended, %s", f.RunID, f.verdictWord())
	case c.WorkflowCanceled:
		return fmt.Sprintf("run %d is canceled, %s still live", f.RunID, workflow.CountOf(f.live(), "job is", "jobs are"))
	case c.ByStatus[workflow.Uninitialized]+c.ByStatus[workflow.Disabled] == c.Total():
		return "not started"
	}
	c = f.main()
	if c.GivenUp != "" {
		return fmt.Sprintf("run %d is given up and goes on to its end, %d of %s complete", f.RunID, c.Total()-c.Open(), workflow.CountOf(c.Total(), "job is", "jobs are"))
	}
	return fmt.Sprintf("run %d goes on, %d of %s complete", f.RunID, c.Total()-c.Open(), workflow.CountOf(c.Total(), "job is", "jobs are"))
}

// verdictWord says how the run ended: completed, failed or canceled.
func (f WorkflowFacts) verdictWord() string {
	kind := string(stage.EndVerdict(f.Counts, nil).EventType)
	if f.Verdict != nil {
		kind = f.Verdict.EventType
	}
	return strings.TrimPrefix(kind, "workflow_")
}

// successLines say what came of the workflow's condition of success.
func (f WorkflowFacts) successLines() []string {
	if f.Counts.GivenUp != "" {
		return []string{"given up: " + f.Counts.GivenUp}
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

// countLines lists the counts that are not zero.
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
		lines = append(lines, "attempts without success, by cause: "+strings.Join(causes, ", "))
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

// readyLines groups the ready jobs by what keeps them from running, those that
// no live runner can ever take first; stuck counts these.
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
	lines = slices.Concat(byLevel[placement.FitsNever], byLevel[placement.FitsKept], byLevel[placement.FitsLater], byLevel[placement.FitsNow])
	if len(lines) > shown {
		lines = append(lines[:shown], fmt.Sprintf("and %d more kinds of jobs", len(f.Ready)-shown))
	}
	if f.Waiting > 0 {
		lines = append(lines, fmt.Sprintf("%s for a delay, the first for another %s",
			workflow.CountOf(f.Waiting, "job waits", "jobs wait"), workflow.AgoMS(0, f.WaitingMS)))
	}
	return lines, stuck
}

func (f WorkflowFacts) readyLine(r ClassFact) (line string, level placement.FitLevel) {
	who := fmt.Sprintf("%s like %s (%s)", workflow.CountOf(r.Jobs, "job", "jobs"), r.Example, r.Class.Needs())
	if r.Jobs == 1 {
		who = fmt.Sprintf("%s (%s)", r.Example, r.Class.Needs())
	}
	fits, best := placement.ExplainFit(r.Class, f.Runners, (&exclusion{nowMS: f.NowMS, class: r.Class, runners: f.Runners, breakers: f.Breakers}).from)
	switch {
	case r.Class.Login && best == placement.FitsNever:
		return who + ": " + f.Login.next(f.ID), best
	case len(f.Runners) == 0:
		return who + ": no runner is live", best
	case best == placement.FitsNow:
		return who + ": taken in the next turn of a runner", best
	case best == placement.FitsLater:
		return who + workflow.Plural(r.Jobs, ": waits", ": wait") + " until others have ended", best
	}
	if best == placement.FitsKept {
		return who + ": kept from the nodes for now; " + strings.Join(fits, "; "), best
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

// nextUndo says what happens while what the run did is being undone.
func (f WorkflowFacts) nextUndo() string {
	text := "what the run did is being undone: " + f.Compensation.Text
	if len(f.Runners) == 0 && f.Places.next() == "" {
		text += fmt.Sprintf("; no runner is live: run %d goes on with it", f.ID)
	}
	return text + "; a retry or a reset has to wait for its end, a cancel ends it"
}

// nextFailed says what to do about a run that has ended without success.
func (f WorkflowFacts) nextFailed() string {
	causes := make([]workflow.CauseKind, len(f.Failures))
	for i := range f.Failures {
		causes[i] = f.Failures[i].Cause.Kind
	}
	advice, ok := AdviseAll(causes)
	if !ok || f.Compensation != nil { // what completed was undone
		return "nothing by itself; retry or reset what was not successful"
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
	case c.Ended() && f.verdictWord() == "completed":
		return "nothing"
	case c.Ended():
		return f.nextFailed()
	case c.WorkflowCanceled:
		return "its runners end what is live"
	case c.ByStatus[workflow.Uninitialized] > 0 && f.live()+c.ByStatus[workflow.Ready]+c.ByStatus[workflow.Blocked] == 0:
		return "start it"
	case len(f.ClaimHolds) > 0:
		return claimHoldNext(f.ClaimHolds, f.ID, f.NowMS)
	case f.live() > 0 && stuck > 0:
		return fmt.Sprintf("goes on as live jobs end; for %s somebody has to start a larger runner or lower the requirements",
			workflow.CountOf(stuck, "ready job", "ready jobs"))
	case f.live() > 0:
		return "goes on as live jobs end"
	case stuck > 0 && stuck == c.ByStatus[workflow.Ready] && !slices.ContainsFunc(f.Ready, func(r ClassFact) bool { return !r.Class.Login }):
		return f.Login.next(f.ID)
	case stuck > 0 && stuck == c.ByStatus[workflow.Ready] && f.Places.next() != "":
		return f.Places.next()
	case len(f.Runners) == 0 && c.ByStatus[workflow.Ready] > 0:
		return "no runner is live; start one"
	case stuck > 0 && stuck == c.ByStatus[workflow.Ready]:
		return "nothing that is ready fits a live runner; start a larger one, or lower the requirements"
	case c.ByStatus[workflow.Ready] > 0:
		return "a runner takes the next ready job"
	case c.ByStatus[workflow.PendingFailed] > 0:
		return "somebody has to classify what is held"
	}
	return "nothing can happen: every job left waits for another one; check the dependencies"
}
