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
	EndS      int64   `json:"end_s,omitempty"`
	IdleShare float64 `json:"idle_share,omitempty"` // the expected part of its CPU time that no job uses, 0 to 1
	// Instead is the best other choice, with what was expected of it, for people.
	Instead string `json:"instead,omitempty"`
	Reason  string `json:"reason,omitempty"` // what the wait is based on
}
