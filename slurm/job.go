package slurm

import "time"

// Job is a job as the controller has it: in the queue, or ended not longer than
// MinJobAge ago.
type Job struct {
	ID         JobID
	Name       string
	User       string
	Account    string
	Partition  string // a list while the job waits for any of several
	QOS        string
	State      State
	Reason     string // why it waits, or how it ended; "" if there is none
	Nodes      int
	CPUs       int
	Memory     Memory // as asked for
	TRES       TRES   // allocated, or asked for while it waits
	NodeList   string // see ExpandNodes; "" while it waits
	BatchHost  string
	Submit     time.Time
	Eligible   time.Time
	Start      time.Time // for a waiting job Slurm's estimate; zero if it has none
	End        time.Time // for a running job when its limit ends it
	TimeLimit  time.Duration
	TimeLeft   time.Duration
	Restarts   int
	Exit       ExitCode
	Comment    string
	Dependency string
}

// Queue is one look at the controller's jobs.
type Queue struct {
	At      time.Time // when it was asked for
	Jobs    []Job
	Skipped int // rows that could not be understood: what they were about is not known
}

// Find returns the job of an id.
func (q Queue) Find(id JobID) (Job, bool) {
	for _, job := range q.Jobs {
		if job.ID == id {
			return job, true
		}
	}
	return Job{}, false
}

// Named lists the jobs of a name.
func (q Queue) Named(name string) []Job {
	var jobs []Job
	for _, job := range q.Jobs {
		if job.Name == name {
			jobs = append(jobs, job)
		}
	}
	return jobs
}
