package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Queue explains why a ready job is not claimed: there is no allocation and none was
// requested, Slurm has not started it, all runners are busy, or the job fits none of them.
func Queue(f JobFacts) string {
	fits, best := placement.ExplainFit(f.Class, f.Runners, f.exclusion().reason)
	waiting := slices.ContainsFunc(f.Places.Allocations, func(a compute.Allocation) bool {
		return a.State == compute.AllocationIntent || a.State == compute.AllocationPending
	})
	var lines []string
	switch {
	case f.WorkflowCanceled:
		return "The workflow is canceled."
	case best == placement.FitsNow:
		lines = append(lines, "A live runner could take it now.")
	case best == placement.FitsLater:
		lines = append(lines, "The runners that could take it are busy.")
	case best == placement.FitsExcluded && !waiting:
		lines = append(lines, "It must not start on the nodes of the runners that could take it.")
	case waiting:
		lines = append(lines, "An allocation was requested, and Slurm has not started it.")
	case len(f.Runners) == 0 && len(f.Places.Allocations) == 0 && len(f.Places.Ready) == 0:
		lines = append(lines, fmt.Sprintf("No runner is live, and none is requested from Slurm. Start one: torc-slurm run %d", f.Job.WorkflowID))
	case len(f.Runners) == 0 && len(f.Places.Allocations) == 0:
		lines = append(lines, "No runner is live, and no allocation was requested.")
	case len(f.Runners) == 0:
		lines = append(lines, "Allocations are live, but none of their runners has registered.")
	default:
		lines = append(lines, "No live runner can ever take it.")
	}
	lines = append(lines, "It needs "+f.Class.Needs()+".")
	lines = append(lines, fits...)
	return strings.Join(append(lines, f.Places.lines(&f.Class)...), "\n")
}
