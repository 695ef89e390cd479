package workflow_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

// TestExplainAllocations: the section "allocations" and what happens next, for
// a ready job and for its workflow.
func TestExplainAllocations(t *testing.T) {
	waiting := Allocation{State: AllocationPending, SlurmReason: "Priority"}
	live := Allocation{State: AllocationActive}
	fresh := Allocation{State: AllocationIntent}
	doubtful := Allocation{State: AllocationIntent, SlurmReason: "sbatch: Socket timed out"}
	surplus := Allocation{State: AllocationPending, CancelMS: 1, CancelWhy: "no job is left"}
	const begin = "runners begin when Slurm starts the allocations"
	for _, tt := range []struct {
		name   string
		places PlaceFacts
		lines  []string
		next   string
	}{
		{"pending", PlaceFacts{Allocations: []Allocation{waiting, fresh, waiting, waiting}, Ready: []string{"9 ready jobs: room"}},
			[]string{"1 asked for, Slurm has not answered", "3 asked for, Slurm says Priority", "9 ready jobs: room"}, begin},
		{"no clear answer", PlaceFacts{Allocations: []Allocation{doubtful}},
			[]string{"1 asked for, and looked for, as the answer was not clear: sbatch: Socket timed out"},
			"runners begin when Slurm starts an allocation, and take what fits there"},
		{"no room", PlaceFacts{Allocations: []Allocation{live, surplus}, Ready: []string{"1 ready job: no allocation"}, Unplaced: 1},
			[]string{"1 being canceled: no job is left", "1 live", "1 ready job: no allocation"},
			"the daemon asks Slurm for an allocation when what stands in the way is gone"},
		{"somebody's", PlaceFacts{Allocations: []Allocation{waiting}},
			[]string{"1 asked for, Slurm says Priority"}, "runners begin when Slurm starts an allocation, and take what fits there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			job := jobFacts(Ready)
			job.Places = tt.places
			whole := WorkflowFacts{Places: tt.places, RunID: 1, Ready: []ClassFact{{Class: job.Class, Jobs: 1}}}
			whole.Counts.ByStatus[Ready] = 1
			for _, e := range []Explanation{Explain(job), ExplainWorkflow(whole)} {
				var lines []string
				for _, s := range e.Sections {
					if s.Title == "allocations" {
						lines = s.Lines
					}
				}
				if diff := cmp.Diff(tt.lines, lines); diff != "" {
					t.Errorf("%s: -want +got:\n%s", e.Subject, diff)
				}
				if e.Next != tt.next {
					t.Errorf("%s: next: %s", e.Subject, e.Next)
				}
			}
		})
	}
}
