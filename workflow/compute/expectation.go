package compute

// AllocationExpectation is what the plan that requested an allocation expected of it.
type AllocationExpectation struct {
	Partition string `json:"partition,omitempty"` // where it was to start
	// Free says that its resources were free when it was requested.
	Free bool `json:"free,omitempty"`
	// LowS, WaitS and HighS are how many seconds it was expected to be pending: at most
	// LowS in one of ten cases, WaitS in half of them, HighS in nine of ten.
	LowS  int64 `json:"low_s"`
	WaitS int64 `json:"wait_s"`
	HighS int64 `json:"high_s"`
	// EndS is in how many seconds the jobs that were ready were expected to have ended.
	EndS int64 `json:"end_s,omitempty"`
	// CPUSeconds is the CPU time that all allocations with these jobs were expected to have, and
	// IdleShare the part of it that no job uses, 0 to 1.
	CPUSeconds int64   `json:"cpu_seconds,omitempty"`
	IdleShare  float64 `json:"idle_share,omitempty"`
	// Instead is the best other choice, with what was expected of it, for people.
	Instead           string `json:"instead,omitempty"`
	InsteadEndS       int64  `json:"instead_end_s,omitempty"`
	InsteadCPUSeconds int64  `json:"instead_cpu_seconds,omitempty"`
	Reason            string `json:"reason,omitempty"` // what the wait is based on
}

// ExpectedStartMS returns when a pending allocation is expected to start, in milliseconds since
// the epoch: after its likely wait, and if that has passed, after the wait that nine of ten do
// not exceed. It is 0 if that has passed too, and without an expectation.
func (a *Allocation) ExpectedStartMS(nowMS int64) int64 {
	e := a.Request.Expected
	if e == nil || a.State != AllocationPending && a.State != AllocationIntent {
		return 0
	}
	for _, wait := range [...]int64{e.WaitS, e.HighS} {
		if start := a.AskedMS + 1000*wait; start > nowMS {
			return start
		}
	}
	return 0
}
