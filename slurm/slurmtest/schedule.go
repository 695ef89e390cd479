package slurmtest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// schedule starts each waiting job that can be started: higher tiers first,
// then older jobs; a job that does not fit does not hold up those behind it.
func (c *Cluster) schedule() {
	waiting := slices.DeleteFunc(slices.Clone(c.jobs), func(j *job) bool { return j.state != slurm.Pending })
	slices.SortStableFunc(waiting, func(a, b *job) int { return c.tier(b) - c.tier(a) })
	blocked := map[string]bool{}
	for _, j := range waiting {
		if j.reason = c.whyNot(j); j.reason != "" {
			continue
		}
		nodes := c.place(j, c.free)
		if nodes != nil {
			c.start(j, nodes)
			continue
		}
		if c.makeRoom(j) || !blocked[j.partition] {
			j.reason = "Resources"
		} else {
			j.reason = "Priority"
		}
		blocked[j.partition] = true
	}
}

func (c *Cluster) tier(j *job) int {
	p, _ := c.partition(j.partition)
	return p.PriorityTier
}

// whyNot is Slurm's reason why a job may not start even if nodes were free.
func (c *Cluster) whyNot(j *job) string {
	switch {
	case j.held:
		return "JobHeldUser"
	case c.now.Before(j.eligible):
		return "BeginTime"
	}
	if reason := c.dependency(j); reason != "" {
		return reason
	}
	if limit := c.opts.QOS[j.qos].MaxJobsPerUser; limit > 0 && c.running(j) >= limit {
		return "QOSMaxJobsPerUserLimit"
	}
	if c.place(j, c.usable) == nil {
		return "ReqNodeNotAvail, UnavailableNodes:" + strings.Join(c.unusable(), ",")
	}
	return ""
}

func (c *Cluster) running(j *job) int {
	n := 0
	for _, other := range c.jobs {
		if l := other.life(); other.user == j.user && other.qos == j.qos && l != nil && !l.released {
			n++
		}
	}
	return n
}

// dependency checks afterany, afterok, afternotok, after and singleton.
func (c *Cluster) dependency(j *job) string {
	for _, d := range j.dependencies {
		if d.kind == "singleton" {
			if c.olderNamesake(j) {
				return "Dependency"
			}
			continue
		}
		on := c.job(d.number)
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

func (c *Cluster) olderNamesake(j *job) bool {
	return slices.ContainsFunc(c.jobs, func(other *job) bool {
		return other.number < j.number && other.name == j.name && other.user == j.user && !other.over()
	})
}

// room is what a node has for a job.
type room struct {
	cpus   int
	memory int64
	gpus   int
}

// place chooses nodes that offer enough, in their order; nil if there are not
// as many as the job needs.
func (c *Cluster) place(j *job, offer func(*node) room) []*node {
	p, _ := c.partition(j.partition)
	var chosen []*node
	for _, n := range c.nodes {
		if p.Nodes != nil && !slices.Contains(p.Nodes, n.Name) || slices.Contains(j.exclude, n.Name) ||
			len(j.nodeList) > 0 && !slices.Contains(j.nodeList, n.Name) {
			continue
		}
		if need, has := j.need(n), offer(n); has.cpus >= need.cpus && has.memory >= need.memory && has.gpus >= need.gpus {
			chosen = append(chosen, n)
		}
		if len(chosen) == j.nodes {
			return chosen
		}
	}
	return nil
}

// need is what a job takes of a node.
func (j *job) need(n *node) room {
	r := room{cpus: j.cpusPerNode(), memory: j.memory, gpus: j.gpus}
	if j.exclusive {
		r.cpus = n.CPUs
	}
	if j.wholeMemory {
		r.memory = n.Memory
	}
	return r
}

// whole is what a node has when nothing runs on it.
func (c *Cluster) whole(n *node) room {
	return room{cpus: n.CPUs, memory: n.Memory, gpus: n.GPUs}
}

// usable is what a node has for jobs when nothing runs on it: nothing, if it is
// down.
func (c *Cluster) usable(n *node) room {
	if n.down || n.drain {
		return room{cpus: -1, memory: -1}
	}
	return c.whole(n)
}

// free is what a node has left.
func (c *Cluster) free(n *node) room {
	return c.left(n, func(*life) bool { return true })
}

// left is what a node has beside the lives that count.
func (c *Cluster) left(n *node, counts func(*life) bool) room {
	r := c.usable(n)
	for _, l := range n.lives {
		if counts(l) {
			need := l.job.need(n)
			r.cpus -= need.cpus
			r.memory -= need.memory
			r.gpus -= need.gpus
		}
	}
	return r
}

func (c *Cluster) unusable() []string {
	var names []string
	for _, n := range c.nodes {
		if n.down || n.drain {
			names = append(names, n.Name)
		}
	}
	return names
}

// makeRoom preempts what is in the way of a job and may be preempted by it; it
// tells whether that will make room.
func (c *Cluster) makeRoom(j *job) bool {
	tier := c.tier(j)
	weaker := func(l *life) bool {
		p, _ := c.partition(l.job.partition)
		return p.PreemptMode != "OFF" && p.PriorityTier < tier
	}
	nodes := c.place(j, func(n *node) room {
		return c.left(n, func(l *life) bool { return !weaker(l) && !l.completing })
	})
	for _, n := range nodes {
		for _, l := range n.lives {
			if weaker(l) {
				c.preempt(l)
			}
		}
	}
	return nodes != nil
}

// estimate is when a waiting job would start if all went as the limits say;
// zero if nobody knows.
func (c *Cluster) estimate(j *job) time.Time {
	if c.now.Before(j.eligible) {
		return j.eligible
	}
	if j.reason != "Resources" && j.reason != "Priority" {
		return time.Time{}
	}
	var first time.Time
	for _, other := range c.jobs {
		if l := other.life(); l != nil && !l.released && (first.IsZero() || l.limit.Before(first)) {
			first = l.limit
		}
	}
	return first
}

// tres is what a job takes in all, as Slurm writes it.
func (j *job) tres(nodes int) string {
	cpus := j.cpusPerNode() * nodes
	text := "cpu=" + strconv.Itoa(cpus) + ",mem=" + slurm.FormatMemory(j.memory*int64(nodes)) +
		",node=" + strconv.Itoa(nodes) + ",billing=" + strconv.Itoa(cpus)
	if j.gpus > 0 {
		text += ",gres/gpu=" + strconv.Itoa(j.gpus*nodes)
	}
	return text
}
