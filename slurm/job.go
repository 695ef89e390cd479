package slurm

import "time"

// Job is a job that the controller knows: in the queue, or ended no longer than
// MinJobAge ago.
type Job struct {
	ID         JobID
	Name       string
	User       string
	Account    string
	Partition  string // a list while a pending job may use several
	QOS        string
	State      State
	Reason     string // why it is pending, or how it ended; "" if there is none
	Nodes      int
	CPUs       int
	Memory     Memory // as requested
	TRES       TRES   // allocated, or requested while it is pending
	NodeList   string // see ExpandNodes; "" while it is pending
	BatchHost  string
	Submit     time.Time
	Eligible   time.Time
	Start      time.Time // for a pending job Slurm's estimate; zero if it has none
	End        time.Time // for a running job the time at which its limit ends it
	TimeLimit  time.Duration
	TimeLeft   time.Duration
	Restarts   int
	Exit       ExitCode
	Comment    string
	Dependency string
}

// Queue is one answer of squeue.
type Queue struct {
	At      time.Time // when squeue was called
	Jobs    []Job
	Skipped int // rows that could not be parsed: their jobs are unknown
}

// Find returns the job with an id; false if there is none.
func (q Queue) Find(id JobID) (Job, bool) {
	for _, job := range q.Jobs {
		if job.ID == id {
			return job, true
		}
	}
	return Job{}, false
}
