package placement

import (
	"cmp"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Offer is what a runner has to give at one moment.
type Offer struct {
	Nodes []FreeNode
	Slots int64 // jobs that it takes at most
	// TimeLeftSeconds is how long a job may run at most; nil: no limit.
	TimeLeftSeconds *int64
	// WholeSeconds is how long a job may run that needs all of a fresh allocation,
	// though less is left of it by the margins; 0 if it is not fresh.
	WholeSeconds int64
	Labels       []string // normalized
	// SchedulerConfigID is the scheduler that the runner belongs to; jobs
	// assigned to another one are taken only if StrictScheduler is not set and
	// there is no other work.
	SchedulerConfigID *int64
	StrictScheduler   bool
	// IgnoreResources: only slots and labels count, neither the size nor the
	// runtime nor the scheduler of a job.
	IgnoreResources bool
	Login           LoginPart
}

// LoginPart is what part a runner has in the jobs that run on the daemon's host
// alone.
type LoginPart int8

// The parts.
const (
	LoginNone LoginPart = iota // it is elsewhere, or in an allocation: it takes none
	LoginToo                   // it is there, and takes them as it takes others
	LoginOnly                  // the daemon started it for them: it takes no others
)

// takes reports whether jobs may be taken that run on the daemon's host alone, or
// that do not.
func (p LoginPart) takes(login bool) bool {
	if login {
		return p != LoginNone
	}
	return p != LoginOnly
}

// FreeNode is the free part of one node.
type FreeNode struct {
	Name        string `json:"name,omitempty"`
	CPUs        int64  `json:"num_cpus"`
	MemoryBytes int64  `json:"memory_bytes"`
	GPUs        int64  `json:"num_gpus"`
	// Busy says that jobs run there, so it is not for a job that wants whole
	// nodes. The same node may be listed several times: a runner of short jobs
	// asks for some ahead.
	Busy bool `json:"busy,omitempty"`
	// Together says that it is only for jobs that want several nodes.
	Together bool `json:"together,omitempty"`
}

// Class is what jobs have in common that makes them equal for claiming. Jobs
// of one class are taken in the order of their ids.
type Class struct {
	ID             int64
	Priority       int64
	CPUs           int64 // per node, as the next two
	GPUs           int64
	MemoryBytes    int64
	Nodes          int64
	RuntimeSeconds int64
	Labels         []string // normalized
	SchedulerID    *int64
	Login          bool // on the daemon's host alone
}

// CompareClasses orders classes as they are claimed: priority, GPUs, runtime,
// memory and CPUs, each descending. Classes that differ in nothing of this
// compare as equal; their jobs are then taken in the order of their ids.
func CompareClasses(a, b Class) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(b.GPUs, a.GPUs),
		cmp.Compare(b.RuntimeSeconds, a.RuntimeSeconds),
		cmp.Compare(b.MemoryBytes, a.MemoryBytes),
		cmp.Compare(b.CPUs, a.CPUs),
	)
}

// Compare orders classes as this offer takes them: by CompareClasses, or by
// priority alone if it ignores resources. Jobs of classes that compare as equal
// are taken in the order of their ids.
func (o Offer) Compare(a, b Class) int {
	if o.IgnoreResources {
		return cmp.Compare(b.Priority, a.Priority)
	}
	return CompareClasses(a, b)
}

// Packer hands out an offer, job by job, without promising anything twice. A
// job for one node is put where it leaves least, so that nodes stay free for
// larger ones; a job for several nodes gets whole ones.
type Packer struct {
	offer   Offer
	nodes   []FreeNode // what is still free
	slots   int64
	relaxed bool // the scheduler rule is off
}

// NewPacker returns a packer for an offer, which it does not change.
func NewPacker(o Offer) *Packer {
	return &Packer{offer: o, nodes: slices.Clone(o.Nodes), slots: o.Slots}
}

// Candidates returns the classes of which at least one job fits, in the order
// in which they are claimed. If the scheduler rule leaves none and the offer is
// not strict about it, the rule is dropped for this packer.
func (p *Packer) Candidates(classes []Class) []Class {
	fitting := func() []Class {
		var out []Class
		for _, c := range classes {
			if ok, _ := p.Fits(c); ok {
				out = append(out, c)
			}
		}
		return out
	}
	found := fitting()
	if len(found) == 0 && !p.offer.StrictScheduler && !p.relaxed {
		p.relaxed = true
		found = fitting()
	}
	slices.SortStableFunc(found, p.offer.Compare)
	return found
}

// Fits reports whether a job of the class could be taken now, and if not why.
func (p *Packer) Fits(c Class) (bool, Misfit) {
	_, why := p.place(c)
	return why.Reason == "", why
}

// Take takes a job of the class and returns the index of the offer's node that
// it goes to, the first one if it gets several. In an offer that ignores
// resources the node is 0.
func (p *Packer) Take(c Class) (node int, ok bool) {
	node, why := p.place(c)
	if why.Reason != "" {
		return 0, false
	}
	p.slots--
	switch {
	case p.offer.IgnoreResources:
	case c.Nodes > 1:
		for taken := int64(0); taken < c.Nodes; {
			taken += int64(p.takeWhole(c))
		}
	default:
		n := &p.nodes[node]
		n.CPUs -= c.CPUs
		n.GPUs -= c.GPUs
		n.MemoryBytes -= c.MemoryBytes
		n.Busy = true
	}
	return node, true
}

// takeWhole takes the first idle node that hosts a part of the job.
func (p *Packer) takeWhole(c Class) int {
	for i := range p.nodes {
		if n := &p.nodes[i]; !n.Busy && hosts(*n, c) {
			*n = FreeNode{Name: n.Name, Busy: true}
			return 1
		}
	}
	return 0
}

// Empty reports whether nothing more can be taken, whatever its class.
func (p *Packer) Empty() bool { return p.slots <= 0 }

// place finds the node for a job of the class, or says why there is none.
func (p *Packer) place(c Class) (int, Misfit) {
	switch {
	case !p.offer.Login.takes(c.Login):
		return 0, Misfit{Reason: MisfitPlace, Needed: int64(p.offer.Login)}
	case !workflow.LabelsMatch(c.Labels, p.offer.Labels):
		return 0, Misfit{Reason: MisfitLabels, JobLabels: c.Labels, RunnerLabels: p.offer.Labels}
	case p.slots <= 0:
		return 0, Misfit{Reason: MisfitSlots, Needed: 1, Available: 0}
	case p.offer.IgnoreResources:
		return 0, Misfit{}
	case !p.relaxed && !p.schedulerAdmits(c):
		return 0, Misfit{Reason: MisfitScheduler, Needed: *c.SchedulerID}
	case p.offer.TimeLeftSeconds != nil && c.RuntimeSeconds > max(*p.offer.TimeLeftSeconds, p.offer.WholeSeconds):
		return 0, Misfit{Reason: MisfitRuntime, Needed: c.RuntimeSeconds, Available: *p.offer.TimeLeftSeconds}
	case c.Nodes > 1:
		return p.placeWhole(c)
	}
	best := -1
	for i, n := range p.nodes {
		if !n.Together && hosts(n, c) && (best < 0 || leavesLess(n, p.nodes[best])) {
			best = i
		}
	}
	if best < 0 {
		return 0, p.misfit(c)
	}
	return best, Misfit{}
}

func (p *Packer) schedulerAdmits(c Class) bool {
	return c.SchedulerID == nil || p.offer.SchedulerConfigID != nil && *c.SchedulerID == *p.offer.SchedulerConfigID
}

// placeWhole finds the first of the idle nodes for a job that wants several.
func (p *Packer) placeWhole(c Class) (int, Misfit) {
	first, idle := -1, int64(0)
	for i, n := range p.nodes {
		if n.Busy || !hosts(n, c) {
			continue
		}
		if idle++; first < 0 {
			first = i
		}
	}
	if idle >= c.Nodes {
		return first, Misfit{}
	}
	if why := p.misfit(c); why.Reason != MisfitTogether {
		return 0, why
	}
	return 0, Misfit{Reason: MisfitNodes, Needed: c.Nodes, Available: idle}
}

func hosts(n FreeNode, c Class) bool {
	return c.CPUs <= n.CPUs && c.MemoryBytes <= n.MemoryBytes && c.GPUs <= n.GPUs
}

// leavesLess reports whether a job leaves less free on a than on b. The job is
// the same, so it is enough to compare what is free before; the scarcest
// resource counts first.
func leavesLess(a, b FreeNode) bool {
	return cmp.Or(
		cmp.Compare(a.GPUs, b.GPUs),
		cmp.Compare(a.CPUs, b.CPUs),
		cmp.Compare(a.MemoryBytes, b.MemoryBytes),
	) < 0
}

// misfit says which resource no node has enough of, or that none has all.
func (p *Packer) misfit(c Class) Misfit {
	var most FreeNode
	for _, n := range p.nodes {
		if n.Together && c.Nodes <= 1 {
			continue
		}
		most.CPUs = max(most.CPUs, n.CPUs)
		most.MemoryBytes = max(most.MemoryBytes, n.MemoryBytes)
		most.GPUs = max(most.GPUs, n.GPUs)
	}
	switch {
	case c.GPUs > most.GPUs:
		return Misfit{Reason: MisfitGPUs, Needed: c.GPUs, Available: most.GPUs}
	case c.MemoryBytes > most.MemoryBytes:
		return Misfit{Reason: MisfitMemory, Needed: c.MemoryBytes, Available: most.MemoryBytes}
	case c.CPUs > most.CPUs:
		return Misfit{Reason: MisfitCPUs, Needed: c.CPUs, Available: most.CPUs}
	}
	return Misfit{Reason: MisfitTogether, Needed: 1, Available: 0}
}
