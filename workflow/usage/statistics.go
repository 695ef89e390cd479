package usage

import (
	"cmp"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Statistics is what jobs with the same requirements used.
type Statistics struct {
	Requirements workflow.ResourceRequirements
	Memory       Range // peaks in bytes
	CPU          Range // peaks in percent of a CPU
	Runtime      Range // seconds
	Uses         []JobUse
}

// Range describes a set of numbers.
type Range struct {
	Count                  int
	Min, Max, Mean, Median float64
}

// RangeOf returns the range of numbers; the zero value for none.
func RangeOf(values []float64) Range {
	n := len(values)
	if n == 0 {
		return Range{}
	}
	sorted := slices.Sorted(slices.Values(values))
	s := Range{Count: n, Min: sorted[0], Max: sorted[n-1], Median: (sorted[(n-1)/2] + sorted[n/2]) / 2}
	for _, v := range sorted {
		s.Mean += v / float64(n)
	}
	return s
}

// ByRequirements returns what attempts used by the requirements of their jobs, in the order
// of the ids of these.
func ByRequirements(uses []JobUse) []Statistics {
	groups := map[int64][]JobUse{}
	for _, u := range uses {
		groups[u.Requirements.ID] = append(groups[u.Requirements.ID], u)
	}
	var all []Statistics
	for _, group := range groups {
		var memory, cpu, seconds []float64
		for _, u := range group {
			seconds = append(seconds, u.ExecSeconds)
			if u.PeakMemoryBytes != nil {
				memory = append(memory, float64(*u.PeakMemoryBytes))
			}
			if u.PeakCPUPercent != nil {
				cpu = append(cpu, *u.PeakCPUPercent)
			}
		}
		all = append(all, Statistics{group[0].Requirements, RangeOf(memory), RangeOf(cpu), RangeOf(seconds), group})
	}
	slices.SortFunc(all, func(a, b Statistics) int { return cmp.Compare(a.Requirements.ID, b.Requirements.ID) })
	return all
}
