package workflow

import "fmt"

// JobStatus is the status of a job in the API. Names and numbers are torc's (HTTP API
// 0.23); the database stores the numbers.
type JobStatus int8

// The job statuses. A job that is Completed, Failed, Canceled, Terminated or Disabled is
// complete: it changes only if a user acts.
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

// JobStatuses returns all statuses in the order of their numbers.
func JobStatuses() []JobStatus {
	all := make([]JobStatus, len(statusNames))
	for i := range all {
		all[i] = JobStatus(i)
	}
	return all
}

// ParseJobStatus returns the status with a name, or an error for an unknown name.
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

// String returns the name.
func (s JobStatus) String() string {
	if !s.Valid() {
		return fmt.Sprintf("status(%d)", int8(s))
	}
	return statusNames[s]
}

// MarshalText writes the name. It returns an error for an unknown status.
func (s JobStatus) MarshalText() ([]byte, error) {
	if !s.Valid() {
		return nil, fmt.Errorf("job status %d does not exist", int8(s))
	}
	return []byte(statusNames[s]), nil
}

// UnmarshalText reads the name. It returns an error for an unknown name.
func (s *JobStatus) UnmarshalText(text []byte) error {
	parsed, err := ParseJobStatus(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// IsComplete reports whether the job is completed, failed, canceled, terminated or
// disabled. A held job (pending_failed) is not complete.
func (s JobStatus) IsComplete() bool { return s >= Completed && s <= Disabled }

// IsLive reports whether a runner holds the job: pending or running.
func (s JobStatus) IsLive() bool { return s == Pending || s == Running }

// IsUnsuccessful reports whether the job is failed, canceled or terminated, so that its
// dependents are canceled rather than released.
func (s JobStatus) IsUnsuccessful() bool {
	return s == Failed || s == Canceled || s == Terminated
}

// IsTerminal reports whether torc's complete_job accepts the status: completed, failed,
// canceled, terminated or pending_failed.
func (s JobStatus) IsTerminal() bool {
	return (s >= Completed && s <= Terminated) || s == PendingFailed
}

// StatusCounts holds the number of jobs by JobStatus.
type StatusCounts [len(statusNames)]int64

// Total returns the number of all jobs.
func (c *StatusCounts) Total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// Complete returns the number of jobs that are complete.
func (c *StatusCounts) Complete() (n int64) {
	for s, k := range c {
		if JobStatus(s).IsComplete() {
			n += k
		}
	}
	return n
}

// Unsuccessful returns how many jobs failed or were terminated.
func (c *StatusCounts) Unsuccessful() int64 { return c[Failed] + c[Terminated] }
