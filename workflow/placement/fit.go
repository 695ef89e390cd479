package placement

import (
	"cmp"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// Offer is what a runner can give to jobs at one moment.
type Offer struct {
	Nodes []FreeNode
	Slots int64 // the maximum number of jobs that it takes
	// TimeLeftSeconds is how long a job may run at most; nil: no limit.
	TimeLeftSeconds *int64
	// WholeSeconds is the longest runtime of a job that may use a fresh allocation to
	// its end, in spite of the margins; 0 if the allocation is not fresh.
	WholeSeconds int64
	Labels       []string // normalized
	// SchedulerConfigID is the scheduler that the runner belongs to. It takes jobs
	// of another scheduler only if it has no other work and StrictScheduler is not
	// set.
	SchedulerConfigID *int64
	StrictScheduler   bool
	// IgnoreResources says that only slots and labels count; the size, the runtime
	// and the scheduler of a job do not.
	IgnoreResources bool
	Login           LoginPart
}

// LoginPart says whether a runner takes the jobs that must run on the daemon's host.
type LoginPart int8

// The values of LoginPart.
const (
	LoginNone LoginPart = iota // it is on another host, or in an allocation: it takes none of them
	LoginAlso                  // it is on the daemon's host: it takes them and all others
	LoginOnly                  // the daemon started it for them: it takes no others
)

// accepts reports whether the runner takes a job; login says that the job must run on
// the daemon's host.
func (p LoginPart) accepts(login bool) bool {
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
	// Busy says that jobs run there, so that jobs that need whole nodes cannot use
	// it. The same node may be listed several times, because a runner of short jobs
	// claims some in advance.
	Busy bool `json:"busy,omitempty"`
	// Together says that only jobs that need several nodes may use it.
	Together bool `json:"together,omitempty"`
}

// Class is the properties of a job that matter for claiming it. Jobs of one class are
// taken in the order of their ids.
type Class struct {
	ID             int64
	Priority       int64
	CPUs           int64 // per node, like the next two
	GPUs           int64
	MemoryBytes    int64
	Nodes          int64
	RuntimeSeconds int64
	Labels         []string // normalized
	SchedulerID    *int64
	Login          bool // must run on the daemon's host
	Held           bool // a user holds its jobs
}

// CompareClasses orders classes as they are claimed: by priority, GPUs, runtime,
// memory and CPUs, each descending. It returns 0 for classes that differ in none of
// these; their jobs are taken in the order of their ids.
func CompareClasses(a, b Class) int {
	return cmp.Or(
		cmp.Compare(b.Priority, a.Priority),
		cmp.Compare(b.GPUs, a.GPUs),
		cmp.Compare(b.RuntimeSeconds, a.RuntimeSeconds),
		cmp.Compare(b.MemoryBytes, a.MemoryBytes),
		cmp.Compare(b.CPUs, a.CPUs),
	)
}

// Compare orders classes as this offer takes them: like CompareClasses, or by
// priority alone if it ignores resources.
func (o Offer) Compare(a, b Class) int {
	if o.IgnoreResources {
		return cmp.Compare(b.Priority, a.Priority)
	}
	return CompareClasses(a, b)
}

// Packer assigns jobs to an offer, one by one, and never assigns a resource twice. A
// job for one node goes to the node with the least room left, so that other nodes stay
// free for larger jobs; a job for several nodes gets whole nodes.
type Packer struct {
	offer   Offer
	nodes   []FreeNode // the parts that are still free
	slots   int64
	relaxed bool // jobs of other schedulers are allowed
}

// NewPacker returns a packer for an offer, which it does not change.
func NewPacker(o Offer) *Packer {
	return &Packer{offer: o, nodes: slices.Clone(o.Nodes), slots: o.Slots}
}

// Candidates returns the classes of which at least one job fits, in the order in which
// they are claimed. If all classes belong to other schedulers and the offer is not
// strict, the packer ignores schedulers from then on.
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

// Fits reports whether a job of the class could be taken now and, if not, why.
func (p *Packer) Fits(c Class) (bool, Misfit) {
	_, why := p.place(c)
	return why.Reason == "", why
}

// Take assigns a job of the class to a node and returns the index of the node in the
// offer, or of the first node if the job gets several. If the offer ignores resources,
// node is 0. If the job does not fit, ok is false.
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

// takeWhole takes the first idle node that is large enough for a part of the job and
// returns the number of nodes it took, 0 or 1.
func (p *Packer) takeWhole(c Class) int {
	for i := range p.nodes {
		if n := &p.nodes[i]; !n.Busy && hosts(*n, c) {
			*n = FreeNode{Name: n.Name, Busy: true}
			return 1
		}
	}
	return 0
}

// Empty reports whether no more jobs can be taken, of any class.
func (p *Packer) Empty() bool { return p.slots <= 0 }

// place returns the node for a job of the class, or why there is none.
func (p *Packer) place(c Class) (int, Misfit) {
	switch {
	case !p.offer.Login.accepts(c.Login):
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

// placeWhole returns the first idle node for a job that needs several, or why there
// are too few.
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

// leavesLess reports whether a job leaves less free on a than on b. It is the same
// job, so comparing the free resources before it starts is enough. The scarcest
// resource is compared first.
func leavesLess(a, b FreeNode) bool {
	return cmp.Or(
		cmp.Compare(a.GPUs, b.GPUs),
		cmp.Compare(a.CPUs, b.CPUs),
		cmp.Compare(a.MemoryBytes, b.MemoryBytes),
	) < 0
}

// misfit returns which resource no node has enough of, or that no node has enough of
// all of them.
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
