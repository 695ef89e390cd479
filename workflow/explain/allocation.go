package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// PlaceFacts is what is known of allocations for ready jobs.
type PlaceFacts struct {
	Allocations []compute.Allocation // the live ones of the workflow
	// Ready says in text what the daemon plans for the ready jobs; Unplaced counts
	// the ready jobs that have no place in an allocation.
	Ready    []string
	Unplaced int64
	// NowMS is when these facts were read. Estimates are when Slurm expects to start pending
	// allocations, in milliseconds since the epoch, by their ids. NoForecast is why the daemon
	// does not know when allocations start; empty if it knows.
	NowMS      int64
	Estimates  map[int64]int64
	NoForecast string
}

// lines returns the allocations, grouped by their state and Slurm's reason, and
// what the daemon plans for the ready jobs: those of a class, or all if it is nil.
func (f PlaceFacts) lines(class *placement.Class) []string {
	counts := map[string]int64{}
	for i := range f.Allocations {
		counts[allocationState(&f.Allocations[i])]++
	}
	lines := []string{}
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[text], text))
	}
	return slices.Concat(lines, f.startLines(class), f.Ready)
}

// next says what will give a place to ready jobs that no live runner can take. It
// returns "" if nothing will without a user.
func (f PlaceFacts) next() string {
	switch {
	case f.Unplaced > 0:
		return "the daemon requests an allocation from Slurm when nothing prevents it any more"
	case len(f.Ready) > 0:
		return "runners start when Slurm starts the allocations"
	case len(f.Allocations) > 0:
		return "a runner starts when Slurm starts an allocation, and takes the jobs that fit there"
	}
	return ""
}

// allocationState describes the state of a live allocation, with Slurm's reason.
func allocationState(a *compute.Allocation) string {
	switch {
	case a.CancelMS != 0:
		return "being canceled: " + a.CancelWhy
	case a.State == compute.AllocationIntent && a.SlurmReason != "":
		return "requested; Slurm's answer was unclear, so its queue is searched for the job: " + a.SlurmReason
	case a.State == compute.AllocationIntent:
		return "requested; Slurm has not answered yet"
	case a.State == compute.AllocationPending:
		return "requested; Slurm's reason for waiting: " + cmp.Or(a.SlurmReason, "not known yet")
	}
	return "live"
}
