package cluster

import "math"

// Priority has the weights of Slurm's multifactor plugin. With all weights 0 the order is
// that of submission.
type Priority struct {
	Age       float64 // for each day
	Size      float64 // for a job as large as the partition
	FairShare float64 // for a user who has used nothing
}

// Fair share as Slurm's classic algorithm has it: 2^(-usage/share), where usage is the
// user's part of all usage, and past usage counts half after a week. Priorities are
// calculated again every five minutes (PriorityCalcPeriod).
const (
	halfLife   = 7 * 24 * 3600.0
	calcPeriod = 300
)

// usage is what users have used, in CPU seconds that lose half of their weight in a week.
type usage struct {
	users []account
	total float64
}

// account is the usage of a user up to a time.
type account struct {
	used  float64
	cpus  int64 // that the user's jobs have now
	until int64
}

func (u *usage) clone() usage {
	return usage{users: append([]account(nil), u.users...), total: u.total}
}

// settle brings the account of a user up to a time.
func (u *usage) settle(user int, now int64) *account {
	for user >= len(u.users) {
		u.users = append(u.users, account{until: now})
	}
	a := &u.users[user]
	if dt := float64(now - a.until); dt > 0 {
		a.used = a.used*math.Exp2(-dt/halfLife) + float64(a.cpus)*dt
		a.until = now
	}
	return a
}

// add changes how many CPUs a user has from now on.
func (u *usage) add(user int, cpus, now int64) { u.settle(user, now).cpus += cpus }

// settleAll brings all accounts up to a time.
func (u *usage) settleAll(now int64) {
	u.total = 0
	for i := range u.users {
		u.total += u.settle(i, now).used
	}
}

// share returns the fair-share factor of a user, as of the last time that all were settled.
func (u *usage) share(user int) float64 {
	if user >= len(u.users) || u.total == 0 {
		return 1
	}
	return math.Exp2(-u.users[user].used / u.total * float64(len(u.users)))
}

// keyOf returns the place of a job in the queue of a partition. Age grows for all jobs
// alike, so only the time of submission counts.
func (c *Cluster) keyOf(j *Job, p *partition) float64 {
	w := &c.config.Priority
	key := -w.Age * float64(j.Submit) / 86400
	if w.Size != 0 {
		key += w.Size * float64(j.CPUs(&p.Partition)) / float64(p.CPUs())
	}
	if w.FairShare != 0 {
		key += w.FairShare * c.usage.share(j.User)
	}
	return key
}
