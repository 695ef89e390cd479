package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// PlaceFacts is what is known of allocations for ready jobs.
type PlaceFacts struct {
	Allocations []compute.Allocation // the live ones of the workflow
	// Ready is what the daemon makes of them for the ready jobs, in words;
	// Unplaced counts those that have no place.
	Ready    []string
	Unplaced int64
}

// lines says which allocations there are, those with the same answer of Slurm
// together, and what they mean for the ready jobs.
func (f PlaceFacts) lines() []string {
	counts := map[string]int64{}
	for i := range f.Allocations {
		counts[allocationStanding(&f.Allocations[i])]++
	}
	lines := []string{}
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[text], text))
	}
	return append(lines, f.Ready...)
}

// next says what gives a place to ready jobs that no live runner can take;
// empty if nothing does by itself.
func (f PlaceFacts) next() string {
	switch {
	case f.Unplaced > 0:
		return "the daemon asks Slurm for an allocation when what stands in the way is gone"
	case len(f.Ready) > 0:
		return "runners begin when Slurm starts the allocations"
	case len(f.Allocations) > 0:
		return "runners begin when Slurm starts an allocation, and take what fits there"
	}
	return ""
}

// allocationStanding is where a live allocation stands, in Slurm's words too.
func allocationStanding(a *compute.Allocation) string {
	switch {
	case a.CancelMS != 0:
		return "being canceled: " + a.CancelWhy
	case a.State == compute.AllocationIntent && a.SlurmReason != "":
		return "asked for, and looked for, as the answer was not clear: " + a.SlurmReason
	case a.State == compute.AllocationIntent:
		return "asked for, Slurm has not answered"
	case a.State == compute.AllocationPending:
		return "asked for, Slurm says " + cmp.Or(a.SlurmReason, "nothing of when it starts")
	}
	return "live"
}
