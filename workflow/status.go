package workflow

import "fmt"

// JobStatus is the wire status of a job. Names and numbers are torc's
// (HTTP API 0.23); the numbers are what the database stores.
type JobStatus int8

// The job statuses. A job in Completed, Failed, Canceled, Terminated or
// Disabled is complete: nothing happens to it by itself any more.
const (
	Uninitialized JobStatus = 0
	Blocked       JobStatus = 1
	Ready         JobStatus = 2
	Pending       JobStatus = 3 // claimed by a runner
	Running       JobStatus = 4
	Completed     JobStatus = 5
	Failed        JobStatus = 6
	Canceled      JobStatus = 7
	Terminated    JobStatus = 8
	Disabled      JobStatus = 9
	PendingFailed JobStatus = 10 // held for a classification
)

var statusNames = [...]string{
	Uninitialized: "uninitialized", Blocked: "blocked", Ready: "ready", Pending: "pending",
	Running: "running", Completed: "completed", Failed: "failed", Canceled: "canceled",
	Terminated: "terminated", Disabled: "disabled", PendingFailed: "pending_failed",
}

// JobStatuses lists all statuses in the order of their numbers.
func JobStatuses() []JobStatus {
	all := make([]JobStatus, len(statusNames))
	for i := range all {
		all[i] = JobStatus(i)
	}
	return all
}

// ParseJobStatus turns a wire name into a status.
func ParseJobStatus(name string) (JobStatus, error) {
	for s, n := range statusNames {
		if n == name {
			return JobStatus(s), nil
		}
	}
	return 0, fmt.Errorf("unknown job status %q", name)
}

// Valid reports whether s is one of the eleven statuses.
func (s JobStatus) Valid() bool { return s >= 0 && int(s) < len(statusNames) }

// String returns the wire name.
func (s JobStatus) String() string {
	if !s.Valid() {
		return fmt.Sprintf("status(%d)", int8(s))
	}
	return statusNames[s]
}

// MarshalText writes the wire name.
func (s JobStatus) MarshalText() ([]byte, error) {
	if !s.Valid() {
		return nil, fmt.Errorf("job status %d does not exist", int8(s))
	}
	return []byte(statusNames[s]), nil
}

// UnmarshalText reads the wire name.
func (s *JobStatus) UnmarshalText(text []byte) error {
	parsed, err := ParseJobStatus(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// IsComplete reports whether the job is over: completed, failed, canceled,
// terminated or disabled. A held job (pending_failed) is not.
func (s JobStatus) IsComplete() bool { return s >= Completed && s <= Disabled }

// IsLive reports whether a runner holds the job: pending or running.
func (s JobStatus) IsLive() bool { return s == Pending || s == Running }

// IsUnsuccessful reports whether dependants of a job in this status are
// canceled rather than released: failed, canceled or terminated.
func (s JobStatus) IsUnsuccessful() bool {
	return s == Failed || s == Canceled || s == Terminated
}

// IsTerminal reports whether torc's complete_job accepts the status: the
// complete ones that an attempt can end in, and pending_failed.
func (s JobStatus) IsTerminal() bool {
	return (s >= Completed && s <= Terminated) || s == PendingFailed
}

// StatusCounts are numbers of jobs by JobStatus.
type StatusCounts [len(statusNames)]int64

// Total is the number of jobs.
func (c *StatusCounts) Total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// Complete is the number of jobs that are over.
func (c *StatusCounts) Complete() (n int64) {
	for s, k := range c {
		if JobStatus(s).IsComplete() {
			n += k
		}
	}
	return n
}

// Unsuccessful is how many jobs failed or were terminated.
func (c *StatusCounts) Unsuccessful() int64 { return c[Failed] + c[Terminated] }
