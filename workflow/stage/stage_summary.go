package stage

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// StageSummary is a stage in a line.
type StageSummary struct {
	Name  string             `json:"name"`
	Kind  workflow.StageKind `json:"kind"`
	State State              `json:"state"`
	Text  string             `json:"text"` // how far it is, for people
	// Failed says that jobs of it are not successful.
	Failed bool `json:"failed,omitempty"`
}

// StageSummaries are the stages of a workflow that are worth a look, and how many
// others it has.
type StageSummaries struct {
	Shown []StageSummary `json:"shown"`
	More  int64          `json:"more,omitempty"`
}

// shownStages is how many stages are summarized at most.
const shownStages = 8

// Summarize summarizes the stages that run and the end job that ran, then those that failed, those
// that have not begun, and the others, each in their order. Compensations are told
// of in another place.
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

// rank orders stages by how much they are worth a look.
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

// Lines is a line for each stage, and one for those that are left out.
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

// EndJobFailed reports whether the end job of a run failed all of whose other jobs
// were successful.
func (s *StageSummaries) EndJobFailed() bool {
	return s != nil && slices.ContainsFunc(s.Shown, func(x StageSummary) bool { return x.Kind == workflow.StageEnd && x.Failed })
}

// Line is the stage with its name.
func (s StageSummary) Line() string {
	return fmt.Sprintf("%s (%s), %s: %s", s.Name, s.Kind, stageStateWords[s.State], s.Text)
}

var stageStateWords = map[State]string{NotStarted: "not started", Running: "running", Ended: "ended"}

// Progress says how many jobs of a stage are done.
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

// Waits says for what an end job waits whose turn it is.
func (s *Stage) Waits() string {
	return "waits until the processes of the run, which was given up, have ended: to be said by the runners on " +
		workflow.FirstFew(s.WaitsFor, int64(len(s.WaitsFor)))
}
