package workflow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// allocationLines says which allocations the workflow has, those with the same
// answer of Slurm together, and what they mean for jobs like this one.
func (f JobFacts) allocationLines() []string {
	counts := map[string]int64{}
	for i := range f.Allocations {
		counts[f.Allocations[i].standing()]++
	}
	lines := []string{}
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[text], text))
	}
	return append(lines, f.Places...)
}

// standing is where a live allocation stands, in Slurm's words too.
func (a *Allocation) standing() string {
	switch {
	case a.CancelMS != 0:
		return "being canceled: " + a.CancelWhy
	case a.State == AllocationIntent:
		return "asked for, Slurm has not answered"
	case a.State == AllocationPending:
		return "asked for, Slurm says " + cmp.Or(a.SlurmReason, "nothing of when it starts")
	}
	return "live"
}
