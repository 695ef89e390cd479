package forecast

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Place is where an allocation may start, as its request says.
type Place struct {
	Partitions  []string // any of them
	QOS         string
	Account     string
	Reservation string   // its name; empty: none
	Features    []string // every node must have all of them
	// Unclear says that only Slurm knows on which nodes: none counts as free.
	Unclear bool
	Hosts   []string // only these nodes, sorted; nil: any
}

// Request is an allocation about which a forecast is wanted.
type Request struct {
	Place
	Nodes      int64
	Node       placement.FreeNode // needed on each node
	WholeNodes bool               // no other job may run on them
	Exclude    []string           // nodes that it must not get, sorted
	Walltime   time.Duration
}

// Within reports whether another allocation asks for the same place and at least as much.
func (r *Request) Within(other *Request) bool {
	return slices.Equal(r.Partitions, other.Partitions) && r.QOS == other.QOS && r.Account == other.Account && r.Reservation == other.Reservation &&
		r.Nodes <= other.Nodes && r.Node.CPUs <= other.Node.CPUs && r.Node.MemoryBytes <= other.Node.MemoryBytes && r.Node.GPUs <= other.Node.GPUs &&
		r.Walltime <= other.Walltime && (other.WholeNodes || !r.WholeNodes)
}

// NoLarger reports whether another allocation asks for the same place, and for at least as much of
// each node and as much CPU time in total. Where it does not ask for as long, it needs so much more
// at once that it does not start sooner.
func (r *Request) NoLarger(other *Request) bool {
	if r.Within(other) {
		return true
	}
	longer := *other
	longer.Walltime = max(other.Walltime, r.Walltime)
	return r.Within(&longer) && float64(r.CPUs())*r.Walltime.Seconds() <= float64(other.CPUs())*other.Walltime.Seconds()
}

// CPUs returns how many CPUs the allocation has in total.
func (r *Request) CPUs() int64 { return r.Nodes * r.Node.CPUs }
