package workflow

import (
	"cmp"
	"fmt"
	"slices"
)

// StageSummary is a stage in a line.
type StageSummary struct {
	Name  string     `json:"name"`
	Kind  StageKind  `json:"kind"`
	State StageState `json:"state"`
	Text  string     `json:"text"` // how far it is, for people
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

// SummarizeStages summarizes the stages that run and the end job that ran, then those that failed, those
// that have not begun, and the others, each in their order. Compensations are told
// of in another place.
func SummarizeStages(stages []Stage) StageSummaries {
	stages = slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { return s.Kind == StageCompensation })
	slices.SortStableFunc(stages, func(a, b Stage) int { return cmp.Compare(a.rank(), b.rank()) })
	all := StageSummaries{}
	for i := range stages[:min(len(stages), shownStages)] {
		s := &stages[i]
		all.Shown = append(all.Shown, StageSummary{Name: s.Name, Kind: s.Kind, State: s.State, Text: s.progress(), Failed: s.Counts.unsuccessful() > 0})
	}
	all.More = int64(len(stages) - len(all.Shown))
	return all
}

// rank orders stages by how much they are worth a look.
func (s *Stage) rank() int {
	switch {
	case s.State == StageRunning, len(s.WaitsFor) > 0, s.Kind == StageEnd && s.ParentID == nil && s.State == StageEnded:
		return 0
	case s.State == StageEnded && s.Counts.unsuccessful() > 0:
		return 1
	case s.State == StageNotStarted:
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
	return s != nil && slices.ContainsFunc(s.Shown, func(x StageSummary) bool { return x.Kind == StageEnd && x.Failed })
}

// Line is the stage with its name.
func (s StageSummary) Line() string {
	return fmt.Sprintf("%s (%s), %s: %s", s.Name, s.Kind, stageStateWords[s.State], s.Text)
}

var stageStateWords = map[StageState]string{StageNotStarted: "not started", StageRunning: "running", StageEnded: "ended"}
