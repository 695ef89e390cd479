package stage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// StageSummary is a stage for display in one line.
type StageSummary struct {
	Name  string             `json:"name"`
	Kind  workflow.StageKind `json:"kind"`
	State State              `json:"state"`
	Text  string             `json:"text"` // its progress, for display
	// Failed says that some of its jobs were not successful.
	Failed bool `json:"failed,omitempty"`
}

// StageSummaries has the most important stages of a workflow, and the number of the others.
type StageSummaries struct {
	Shown []StageSummary `json:"shown"`
	More  int64          `json:"more,omitempty"`
}

// shownStages is the maximum number of stages in StageSummaries.
const shownStages = 8

// Summarize returns the running stages and the end job that ran, then the failed stages, those
// that have not started, and the others, each group in its order. It omits compensations.
func Summarize(stages []Stage) StageSummaries {
	stages = slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { return s.Kind == workflow.StageCompensation })
	slices.SortStableFunc(stages, func(a, b Stage) int { return cmp.Compare(a.rank(), b.rank()) })
	all := StageSummaries{}
	for i := range stages[:min(len(stages), shownStages)] {
		s := &stages[i]
		all.Shown = append(all.Shown, StageSummary{Name: s.Name, Kind: s.Kind, State: s.State, Text: s.Progress(), Failed: s.Counts.Unsuccessful() > 0})
	}
	all.More = int64(len(stages) - len(all.Shown))
	return all
}

// rank returns the importance of a stage, 0 for the most important.
func (s *Stage) rank() int {
	switch {
	case s.State == Running, len(s.WaitsFor) > 0, s.Kind == workflow.StageEnd && s.ParentID == nil && s.State == Ended:
		return 0
	case s.State == Ended && s.Counts.Unsuccessful() > 0:
		return 1
	case s.State == NotStarted:
		return 2
	}
	return 3
}

// Lines returns a line for each stage, and one with the number of the others.
func (s StageSummaries) Lines() []string {
	var lines []string
	for _, x := range s.Shown {
		lines = append(lines, x.Line())
	}
	if s.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", s.More))
	}
	return lines
}

// EndJobFailed reports whether the end job of the run failed.
func (s *StageSummaries) EndJobFailed() bool {
	return s != nil && slices.ContainsFunc(s.Shown, func(x StageSummary) bool { return x.Kind == workflow.StageEnd && x.Failed })
}

// Line returns the stage in one line.
func (s StageSummary) Line() string {
	return fmt.Sprintf("%s (%s), %s: %s", s.Name, s.Kind, stageStateTexts[s.State], s.Text)
}

var stageStateTexts = map[State]string{NotStarted: "not started", Running: "running", Ended: "ended"}

// Progress returns how many jobs of a stage are done, or what it waits for.
func (s *Stage) Progress() string {
	if len(s.WaitsFor) > 0 {
		return s.Waits()
	}
	c := Counts{ByStatus: s.Counts}
	text := fmt.Sprintf("%d of %s done", c.Total()-c.Open(), workflow.CountOf(c.Total(), "job", "jobs"))
	if n := s.Counts.Unsuccessful(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	return text
}

// Waits returns what the end job of an aborted run waits for.
func (s *Stage) Waits() string {
	return "waits until the processes of the aborted run have ended; the runners that have to confirm this are on " +
		workflow.FirstFew(s.WaitsFor, int64(len(s.WaitsFor)))
}
