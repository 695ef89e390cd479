package slurm

import "time"

// Usage is the time for which jobs had nodes and CPUs, used or not: what a site charges.
type Usage struct {
	Nodes        int // for each job, the most that one of its restarts had
	NodeTime     time.Duration
	CPUTime      time.Duration
	UnknownNodes int     // restarts whose number of nodes is not in accounting
	Missing      []JobID // jobs that accounting does not have
}

// Usage sums up all restarts of jobs.
func (a Accounting) Usage(jobs []JobID) (u Usage) {
	for _, id := range jobs {
		restarts, nodes := a.Restarts(id), 0
		if len(restarts) == 0 {
			u.Missing = append(u.Missing, id)
		}
		for _, r := range restarts {
			switch {
			case !r.Started():
				continue
			case r.Nodes == 0:
				u.UnknownNodes++
			}
			nodes = max(nodes, r.Nodes)
			u.NodeTime += r.Elapsed * time.Duration(r.Nodes)
			u.CPUTime += r.Elapsed * time.Duration(r.CPUs)
		}
		u.Nodes += nodes
	}
	return u
}
