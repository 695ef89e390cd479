package slurmtest

import (
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// queue is what the controller knows of jobs.
type queue struct {
	clock     *timeline
	minJobAge time.Duration // that it remembers jobs after their end
	lastID    int64
	jobs      []*job // by id
}

// add gives a job its number and adds it.
func (q *queue) add(j *job) {
	q.lastID++
	j.number = q.lastID
	q.jobs = append(q.jobs, j)
}

// job returns a job that the controller has not forgotten.
func (q *queue) job(number int64) *job {
	for _, j := range q.jobs {
		if j.number == number && !q.forgotten(j) {
			return j
		}
	}
	return nil
}

// jobOf returns the job with the id in a text.
func (q *queue) jobOf(text string) *job {
	id, err := slurm.ParseJobID(text)
	if err != nil {
		return nil
	}
	return q.job(id.Number)
}

// forgotten reports whether a job has left the controller's memory.
func (q *queue) forgotten(j *job) bool {
	return j.over() && q.clock.now.Sub(j.ended) >= q.minJobAge
}

// ids lists all jobs that were ever accepted.
func (q *queue) ids() []slurm.JobID {
	ids := make([]slurm.JobID, len(q.jobs))
	for i, j := range q.jobs {
		ids[i] = j.id()
	}
	return slices.Clip(ids)
}

// submitted counts the jobs of a user in a QOS that are not over.
func (q *queue) submitted(user, qos string) int {
	n := 0
	for _, j := range q.jobs {
		if j.user == user && j.qos == qos && !j.over() {
			n++
		}
	}
	return n
}

// running counts the jobs of a job's user and QOS that hold nodes.
func (q *queue) running(j *job) int {
	n := 0
	for _, other := range q.jobs {
		if r := other.current(); other.user == j.user && other.qos == j.qos && r != nil && !r.released {
			n++
		}
	}
	return n
}

// dependency checks afterany, afterok, afternotok, after and singleton. It returns
// Slurm's reason why the job waits; empty if it need not wait.
func (q *queue) dependency(j *job) string {
	for _, d := range j.dependencies {
		if d.kind == "singleton" {
			if q.olderNamesake(j) {
				return "Dependency"
			}
			continue
		}
		on := q.job(d.number)
		switch {
		case on == nil && (d.kind == "afterok" || d.kind == "afternotok"):
			return "DependencyNeverSatisfied"
		case on == nil:
		case d.kind == "after":
			if on.state == slurm.Pending {
				return "Dependency"
			}
		case !on.over():
			return "Dependency"
		case d.kind == "afterok" && on.state != slurm.Completed, d.kind == "afternotok" && on.state == slurm.Completed:
			return "DependencyNeverSatisfied"
		}
	}
	return ""
}

func (q *queue) olderNamesake(j *job) bool {
	return slices.ContainsFunc(q.jobs, func(other *job) bool {
		return other.number < j.number && other.name == j.name && other.user == j.user && !other.over()
	})
}
