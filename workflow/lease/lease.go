// Package lease has the messages between a runner and the daemon. They are our own addition
// to torc's API: a runner sends one request per turn, with everything that it has to report,
// and receives everything that it has to do. See docs/ARCHITECTURE.md, "The runner call".
//
//	POST /workflows/{id}/runners        RegisterRequest  -> RegisterResponse
//	POST /runners/{id}/turn             TurnRequest      -> TurnResponse
//	POST /runners/{id}/leave            LeaveRequest     -> LeaveResponse
//
// A runner is a compute node of torc's API; its id is the compute node's id. These
// types are the wire format, and the store's use cases take and return them.
package lease

// LeaseRef identifies a lease.
type LeaseRef struct {
	JobID   int64 `json:"job_id"`
	Attempt int64 `json:"attempt_id"`
	Fence   int64 `json:"fence"`
}

// Held is a lease that a runner holds.
type Held struct {
	LeaseRef
	// StartedMS is when the process was spawned, in milliseconds since the epoch; 0 if the
	// job has not been started yet.
	StartedMS int64 `json:"started_ms,omitempty"`
	PID       int   `json:"pid,omitempty"`
	// Ending says that the runner is ending it.
	Ending bool `json:"ending,omitempty"`
}
