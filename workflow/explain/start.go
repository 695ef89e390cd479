package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// startLines returns which of the pending allocations is expected to start first, and what was
// requested instead of what: of those that can run a class of jobs, or of all if it is nil.
func (f PlaceFacts) startLines(class *placement.Class) []string {
	pending := slices.DeleteFunc(slices.Clone(f.Allocations), func(a compute.Allocation) bool {
		return a.State != compute.AllocationPending && a.State != compute.AllocationIntent || a.CancelMS != 0 || class != nil && !hasRoom(&a, class)
	})
	if len(pending) == 0 {
		return nil
	}
	starts := slices.DeleteFunc(slices.Clone(pending), func(a compute.Allocation) bool { return f.start(&a) == 0 })
	if len(starts) > 0 {
		first := slices.MinFunc(starts, func(a, b compute.Allocation) int { return cmp.Compare(f.start(&a), f.start(&b)) })
		return append([]string{fmt.Sprintf("%s is expected to start in about %s (%s)", nameOf(&first), workflow.AgoMS(f.NowMS, f.start(&first)), f.basis(&first))}, insteadLines(&first)...)
	}
	oldest := slices.MinFunc(pending, func(a, b compute.Allocation) int { return cmp.Compare(a.AskedMS, b.AskedMS) })
	if e := oldest.Request.Expected; e != nil {
		late := workflow.AgoMS(oldest.AskedMS+1000*e.HighS, f.NowMS)
		return append([]string{fmt.Sprintf("%s is late: it was expected to start %s ago at the latest (%s)", nameOf(&oldest), late, e.Reason)}, insteadLines(&oldest)...)
	}
	if f.NoForecast != "" {
		return []string{"when it starts is not known: " + f.NoForecast}
	}
	return nil
}

// start returns when a pending allocation is expected to start, in milliseconds since the
// epoch: Slurm's estimate if there is one that has not passed, else ours; 0 if it is not known.
func (f PlaceFacts) start(a *compute.Allocation) int64 {
	if at := f.Estimates[a.ID]; at > f.NowMS {
		return at
	}
	return a.ExpectedStartMS(f.NowMS)
}

// basis says what the expected start is based on.
func (f PlaceFacts) basis(a *compute.Allocation) string {
	if f.Estimates[a.ID] > f.NowMS {
		return "Slurm's estimate"
	}
	return a.Request.Expected.Reason
}

func nameOf(a *compute.Allocation) string {
	if a.SlurmJobID != 0 {
		return fmt.Sprintf("allocation %d (Slurm job %d)", a.ID, a.SlurmJobID)
	}
	return fmt.Sprintf("allocation %d", a.ID)
}

func insteadLines(a *compute.Allocation) []string {
	if e := a.Request.Expected; e != nil && e.Instead != "" {
		return []string{"it was requested instead of " + e.Instead}
	}
	return nil
}

// hasRoom reports whether a job of a class fits into an empty node of the allocation, as far
// as is known what its nodes have.
func hasRoom(a *compute.Allocation, class *placement.Class) bool {
	q, o := &a.Request, &a.Request.Offer
	if q.WalltimeS > 0 && q.WalltimeS < class.RuntimeSeconds || max(q.Nodes, 1) < class.Nodes {
		return false
	}
	return o.CPUs == 0 || o.CPUs >= class.CPUs && o.GPUs >= class.GPUs && (o.MemoryBytes == 0 || o.MemoryBytes >= class.MemoryBytes)
}
