package explain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
)

// TestExplainAllocations checks the section "allocations" and what happens next, for a
// ready job and for its workflow.
func TestExplainAllocations(t *testing.T) {
	waiting := compute.Allocation{State: compute.AllocationPending, SlurmReason: "Priority"}
	live := compute.Allocation{State: compute.AllocationActive}
	fresh := compute.Allocation{State: compute.AllocationIntent}
	doubtful := compute.Allocation{State: compute.AllocationIntent, SlurmReason: "sbatch: Socket timed out"}
	surplus := compute.Allocation{State: compute.AllocationPending, CancelMS: 1, CancelWhy: "no job is left"}
	const begin = "runners start when Slurm starts the allocations"
	for _, tt := range []struct {
		name   string
		places explain.PlaceFacts
		lines  []string
		next   string
	}{
		{"pending", explain.PlaceFacts{Allocations: []compute.Allocation{waiting, fresh, waiting, waiting}, Ready: []string{"9 ready jobs: room"}},
			[]string{"1 requested; Slurm has not answered yet", "3 requested; Slurm's reason for waiting: Priority", "9 ready jobs: room"}, begin},
		{"no clear answer", explain.PlaceFacts{Allocations: []compute.Allocation{doubtful}},
			[]string{"1 requested; Slurm's answer was unclear, so its queue is searched for the job: sbatch: Socket timed out"},
			"a runner starts when Slurm starts an allocation, and takes the jobs that fit there"},
		{"no room", explain.PlaceFacts{Allocations: []compute.Allocation{live, surplus}, Ready: []string{"1 ready job: no allocation"}, Unplaced: 1},
			[]string{"1 being canceled: no job is left", "1 live", "1 ready job: no allocation"},
			"the daemon requests an allocation from Slurm when nothing prevents it any more"},
		{"not requested by the daemon", explain.PlaceFacts{Allocations: []compute.Allocation{waiting}},
			[]string{"1 requested; Slurm's reason for waiting: Priority"}, "a runner starts when Slurm starts an allocation, and takes the jobs that fit there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			job := jobFacts(Ready)
			job.Places = tt.places
			whole := explain.WorkflowFacts{Places: tt.places, RunID: 1, Ready: []explain.ClassFact{{Class: job.Class, Jobs: 1}}}
			whole.Counts.ByStatus[Ready] = 1
			for _, e := range []explain.Explanation{explain.Job(job), explain.Workflow(whole)} {
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
