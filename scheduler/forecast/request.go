package forecast

import (
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
	Hosts       []string // only these nodes, sorted; nil: any
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

// CPUs returns how many CPUs the allocation has in total.
func (r *Request) CPUs() int64 { return r.Nodes * r.Node.CPUs }
