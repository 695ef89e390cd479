package forecast

import "time"

// Wait is how long an allocation is expected to be pending: in one of ten cases at most
// Low, in half of them at most Likely, in nine of ten at most High.
type Wait struct {
	Low, Likely, High time.Duration
	Reason            string // for people: where this is from
}

// Past is one allocation of ours that has started, or was canceled while pending.
type Past struct {
	Partition  string // in which it started; the first requested if it did not start
	QOS        string
	Account    string
	Nodes      int64
	CPUs       int64 // in total
	GPUs       int64 // in total
	Walltime   time.Duration
	Asked      time.Time
	Waited     time.Duration
	NotStarted bool // it was canceled or changed after Waited: it would have waited longer
	// Free says that resources for it were free when it was requested.
	Free bool
}

// Probe is Slurm's answer to the question when it would start an allocation.
type Probe struct {
	Request Request
	At      time.Time
	Start   time.Time
}

// Forecast has the facts from which waits are foretold. The zero value knows nothing.
type Forecast struct {
	Cluster *Cluster // nil: not known
	Past    []Past
	Probes  []Probe
}
