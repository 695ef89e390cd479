package slurmtest

import (
	"fmt"
	"slices"
)

// node is the state of a Node.
type node struct {
	Node
	dead     bool       // slurmd does not answer
	down     bool       // the controller has noticed, or an administrator said so
	drain    bool       // takes no new jobs
	reason   string     // why
	restarts []*restart // that hold a part of it, oldest first
}

// nodes are the machines of the cluster.
type nodes []*node

// named returns a node; nil if there is none.
func (ns nodes) named(name string) *node {
	for _, n := range ns {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func (ns nodes) mostCPUs() int {
	most := 0
	for _, n := range ns {
		most = max(most, n.CPUs)
	}
	return most
}

// unusable lists the nodes that take no jobs.
func (ns nodes) unusable() []string {
	var names []string
	for _, n := range ns {
		if n.down || n.drain {
			names = append(names, n.Name)
		}
	}
	return names
}

// place chooses nodes of a partition that offer enough for a job, in their order; nil if
// there are fewer than the job needs.
func (ns nodes) place(p Partition, j *job, offer func(*node) room) []*node {
	var chosen []*node
	for _, n := range ns {
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

// room is what a node has for a job.
type room struct {
	cpus   int
	memory int64
	gpus   int
}

// noRoom is what a node has on which no job may run.
var noRoom = room{cpus: -1, memory: -1}

func (r room) without(used room) room {
	return room{r.cpus - used.cpus, r.memory - used.memory, r.gpus - used.gpus}
}

func (r room) least(other room) room {
	return room{min(r.cpus, other.cpus), min(r.memory, other.memory), min(r.gpus, other.gpus)}
}

// whole returns what a node has when nothing runs on it.
func (n *node) whole() room {
	return room{cpus: n.CPUs, memory: n.Memory, gpus: n.GPUs}
}

// usable returns what a node has for jobs when nothing runs on it: nothing if it is down.
func (n *node) usable() room {
	if n.down || n.drain {
		return noRoom
	}
	return n.whole()
}

// free returns what a node has left.
func (n *node) free() room {
	return n.left(func(*restart) bool { return true })
}

// left returns what a node has besides the restarts that count.
func (n *node) left(counts func(*restart) bool) room {
	has := n.usable()
	for _, r := range n.restarts {
		if counts(r) {
			has = has.without(r.job.need(n))
		}
	}
	return has
}

// state returns the node's state as sinfo's %T shows it.
func (n *node) state() string {
	flag := ""
	if n.dead {
		flag = "*"
	}
	busy := len(n.restarts) > 0
	switch {
	case n.down:
		return "down" + flag
	case n.drain && busy:
		return "draining" + flag
	case n.drain:
		return "drained" + flag
	case !busy:
		return "idle" + flag
	case n.free().cpus > 0:
		return "mixed" + flag
	}
	return "allocated" + flag
}

// used returns what jobs have of a node.
func (n *node) used() room {
	var all room
	for _, r := range n.restarts {
		all = all.without(r.job.need(n))
	}
	return room{}.without(all)
}

func (n *node) gres() string {
	if n.GPUs == 0 {
		return "(null)"
	}
	return fmt.Sprintf("gpu:test:%d", n.GPUs)
}
