package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Queue says why a ready job is not claimed: nothing is there and nothing
// was asked for, Slurm has not started what was, what is there is busy, or it
// fits nowhere.
func Queue(f JobFacts) string {
	fits, best := placement.ExplainFit(f.Class, f.Runners, f.exclusion().from)
	waiting := slices.ContainsFunc(f.Places.Allocations, func(a compute.Allocation) bool {
		return a.State == compute.AllocationIntent || a.State == compute.AllocationPending
	})
	var lines []string
	switch {
	case f.WorkflowCanceled:
		return "The workflow is canceled."
	case best == placement.FitsNow:
		lines = append(lines, "A runner that is there could take it now.")
	case best == placement.FitsLater:
		lines = append(lines, "The runners that could take it are busy.")
	case best == placement.FitsKept && !waiting:
		lines = append(lines, "It is kept from the nodes of the runners that could take it.")
	case waiting:
		lines = append(lines, "An allocation was asked for, and Slurm has not started it.")
	case len(f.Runners) == 0 && len(f.Places.Allocations) == 0 && len(f.Places.Ready) == 0:
		lines = append(lines, fmt.Sprintf("No runner is there, and nobody asks Slurm for one; torc-slurm run %d starts one.", f.Job.WorkflowID))
	case len(f.Runners) == 0 && len(f.Places.Allocations) == 0:
		lines = append(lines, "No runner is there, and no allocation was asked for.")
	case len(f.Runners) == 0:
		lines = append(lines, "Allocations are there, but no runner of theirs has come.")
	default:
		lines = append(lines, "No runner that is there could ever take it.")
	}
	lines = append(lines, "It needs "+f.Class.Needs()+".")
	lines = append(lines, fits...)
	return strings.Join(append(lines, f.Places.lines()...), "\n")
}
