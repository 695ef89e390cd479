package siteconfigs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Need is what an allocation has to offer; numbers are per node.
type Need struct {
	CPUs     int64
	MemoryMB int64 // MiB
	GPUs     int64
	Nodes    int64         // 0 is 1
	Walltime time.Duration // 0 is any
	// Account is charged; empty for the default of the site.
	Account string
	// QOS is requested; empty for that of the partition or the account.
	QOS string
	// Partition is required; empty for any.
	Partition string
}

// Choice is a partition and why it was chosen. Without a partition, none fits.
type Choice struct {
	Partition *Partition
	// Node is the smallest kind of its nodes that meets the need.
	Node NodeType
	// Explicit says that a request has to name the partition.
	Explicit bool
	Reason   string
}

// Refusal is why a partition was not chosen.
type Refusal struct {
	Partition string `json:"partition"`
	Fits      bool   `json:"fits"` // another one is better
	Reason    string `json:"reason"`
}

// A single-node job of at most this size uses a part of a node. It prefers partitions with
// shared nodes.
const (
	smallCPUs     = 26
	smallMemoryMB = 60000
)

// class is how well a fitting partition suits a need; the lowest is best.
type class int

const (
	classSuited class = iota
	classPlain        // whole nodes for a small job
	classNamed        // Slurm uses it only on request
	classIdleGPUs
	classPreemptible
	classDebug
)

// candidate is a partition that fits a need.
type candidate struct {
	*Partition
	node  NodeType
	class class
}

// Best returns the partition for a need: the best class of those that fit, and of these
// the one with the least memory and the shortest limit, so that larger ones stay free for
// jobs that need them. The refusals are in the order of preference, those that do not fit
// last.
func Best(site *Site, need Need) (Choice, []Refusal) {
	need = need.complete(site)
	fitting, refusals := rank(site, need)
	if len(fitting) == 0 {
		return Choice{}, refusals
	}
	best := fitting[0]
	var others []Refusal
	for _, c := range fitting[1:] {
		others = append(others, Refusal{Partition: c.Name, Fits: true, Reason: c.whyNot(best)})
	}
	return best.choice(site, need, best.whyChosen(&need, len(fitting))), append(others, refusals...)
}

// Spare returns a second partition for jobs that the best one does not take: the next best
// with the same sharing of nodes that wastes no GPUs, does not preempt, and is not for
// tests. Without a partition, there is none.
func Spare(site *Site, need Need) Choice {
	need = need.complete(site)
	fitting, _ := rank(site, need)
	if len(fitting) == 0 || need.Partition != "" {
		return Choice{}
	}
	best := fitting[0]
	for _, c := range fitting[1:] {
		if c.class <= classNamed && c.Shared == best.Shared {
			choice := c.choice(site, need, "the next best after "+best.Name)
			choice.Explicit = true
			return choice
		}
	}
	return Choice{}
}

// complete sets the defaults of a need.
func (n Need) complete(site *Site) Need {
	n.Nodes = max(1, n.Nodes)
	n.Account = site.Account(n.Account).Name
	return n
}

func (c candidate) choice(site *Site, need Need, reason string) Choice {
	return Choice{
		Partition: c.Partition, Node: c.node, Reason: reason,
		Explicit: need.Partition != "" || c.RequiresExplicitRequest || !site.AutoRouting,
	}
}

// rank returns the partitions that fit a need, the best first, and why the others do not.
func rank(site *Site, need Need) (fitting []candidate, refusals []Refusal) {
	account := site.Account(need.Account)
	if need.Partition != "" && site.Partition(need.Partition) == nil {
		refusals = append(refusals, Refusal{Partition: need.Partition, Reason: site.Title() + " has no partition with this name"})
	}
	for i := range site.Partitions {
		p := &site.Partitions[i]
		node, why := p.fit(&need)
		why = cmp.Or(why, p.qosMisfit(cmp.Or(need.QOS, p.DefaultQOS, account.DefaultQOS)))
		if why == "" {
			why = site.MaxJob(p, need.Account, need.QOS).misfit(&need, node, p.Shared)
		}
		if why == "" && account.MaxWalltime > 0 && need.Walltime > account.MaxWalltime {
			why = fmt.Sprintf("%s are needed, the account %s allows at most %s", shortTime(need.Walltime), account.Name, shortTime(account.MaxWalltime))
		}
		if why != "" {
			refusals = append(refusals, Refusal{Partition: p.Name, Reason: why})
			continue
		}
		fitting = append(fitting, candidate{p, node, p.class(&need, node)})
	}
	slices.SortStableFunc(fitting, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.node.MemoryMB, b.node.MemoryMB),
			cmp.Compare(a.limit(), b.limit()), preferTrue(a.Default, b.Default))
	})
	return fitting, refusals
}

func preferTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// limit returns the longest walltime of a job.
func (p *Partition) limit() time.Duration {
	if p.MaxWalltime == 0 {
		return math.MaxInt64
	}
	return p.MaxWalltime
}

// fit returns the smallest kind of node that meets a need, or why none does.
func (p *Partition) fit(need *Need) (NodeType, string) {
	switch {
	case need.Partition != "" && p.Name != need.Partition:
		return NodeType{}, need.Partition + " is required"
	case p.Closed != "":
		return NodeType{}, "takes no jobs: " + p.Closed
	case p.OnlyByName && need.Partition == "":
		return NodeType{}, "is only for jobs that name it"
	case p.RequiresReservation && need.Partition == "":
		return NodeType{}, "takes only jobs with a reservation"
	case need.Walltime > p.limit():
		return NodeType{}, fmt.Sprintf("%s are needed, at most %s are allowed", shortTime(need.Walltime), shortTime(p.MaxWalltime))
	}
	if why := cmp.Or(p.nodesMisfit(need.Nodes), p.accountMisfit(need.Account)); why != "" {
		return NodeType{}, why
	}
	types := p.Types()
	left := need.Nodes
	for i := len(types) - 1; i >= 0; i-- { // larger nodes count, too
		if t := types[i]; t.misfit(need) == "" {
			if left -= t.Count; left <= 0 || t.Count == 0 {
				return smallest(types, need), ""
			}
		}
	}
	if left < need.Nodes {
		return NodeType{}, fmt.Sprintf("%s needed, %d of its nodes are large enough", count(need.Nodes, "node is", "nodes are"), need.Nodes-left)
	}
	return NodeType{}, types[len(types)-1].misfit(need)
}

// smallest returns the first kind of node that meets a need.
func smallest(types []NodeType, need *Need) NodeType {
	return types[slices.IndexFunc(types, func(t NodeType) bool { return t.misfit(need) == "" })]
}

// misfit returns why such a node does not meet a need, empty if it does.
func (t *NodeType) misfit(need *Need) string {
	switch {
	case need.GPUs > t.GPUs:
		return fmt.Sprintf("%s needed, a node has %d", count(need.GPUs, "GPU is", "GPUs are"), t.GPUs)
	case need.CPUs > t.CPUs:
		return fmt.Sprintf("%s needed, a node has %d", count(need.CPUs, "CPU is", "CPUs are"), t.CPUs)
	case need.MemoryMB > t.MemoryMB:
		return fmt.Sprintf("%d MiB are needed, a node has %d", need.MemoryMB, t.MemoryMB)
	}
	return ""
}

func (p *Partition) nodesMisfit(nodes int64) string {
	most := func(limit int64, of string) string {
		if limit > 0 && nodes > limit {
			return fmt.Sprintf("%s needed, %s %d", count(nodes, "node is", "nodes are"), of, limit)
		}
		return ""
	}
	if nodes < p.MinNodes {
		return fmt.Sprintf("a job has at least %d nodes there", p.MinNodes)
	}
	return cmp.Or(most(p.MaxNodes, "a job has at most"), most(p.MaxNodesPerUser, "a user has at most"), most(p.TotalNodes, "it has"))
}

func (p *Partition) accountMisfit(account string) string {
	switch {
	case account == "":
	case len(p.AllowAccounts) > 0 && !slices.Contains(p.AllowAccounts, account):
		return "the account " + account + " may not use it"
	case slices.Contains(p.DenyAccounts, account):
		return "the account " + account + " may not use it"
	}
	return ""
}

// qosMisfit returns why a QOS may not use the partition, empty if it may, or is not known.
func (p *Partition) qosMisfit(qos string) string {
	switch {
	case qos == "" && len(p.AllowQOS) > 0:
		return "is only for the QOS " + strings.Join(p.AllowQOS, ", ")
	case len(p.AllowQOS) > 0 && !slices.Contains(p.AllowQOS, qos), slices.Contains(p.DenyQOS, qos):
		return "the QOS " + qos + " may not use it"
	}
	return ""
}

// class returns the class of a partition for a need on such nodes.
func (p *Partition) class(need *Need, node NodeType) class {
	small := need.GPUs == 0 && need.Nodes == 1 && need.CPUs <= smallCPUs && need.MemoryMB <= smallMemoryMB
	switch {
	case p.debug():
		return classDebug
	case p.Preemptible:
		return classPreemptible
	case need.GPUs == 0 && node.GPUs > 0:
		return classIdleGPUs
	case small && p.Shared:
		return classSuited
	case p.RequiresExplicitRequest:
		return classNamed
	case small:
		return classPlain
	}
	return classSuited
}

// whyChosen returns why a partition was chosen.
func (c candidate) whyChosen(need *Need, fitting int) string {
	switch {
	case need.Partition != "":
		return "it is required, and fits"
	case fitting == 1:
		return "the only one that fits"
	case c.class == classDebug:
		return "only partitions for tests fit"
	case c.class == classPreemptible:
		return "only partitions with preemption fit"
	case c.class == classIdleGPUs:
		return "only partitions with GPUs fit"
	case c.class == classNamed:
		return "the smallest that fits of those that have to be named"
	}
	return fmt.Sprintf("the smallest of %d that fit", fitting)
}

// whyNot returns why best was chosen instead of a fitting partition.
func (c candidate) whyNot(best candidate) string {
	switch {
	case c.class > best.class:
		return "fits, but " + map[class]string{
			classPlain:       "a part of a node is enough",
			classNamed:       "is only used by jobs that name it",
			classIdleGPUs:    "no GPUs are needed",
			classPreemptible: "its jobs may be preempted",
			classDebug:       "is for tests",
		}[c.class]
	case c.node.MemoryMB > best.node.MemoryMB:
		return "fits, but has more memory than is needed"
	case c.limit() > best.limit():
		return "fits, but allows longer jobs than is needed"
	}
	return "fits as well as " + best.Name
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// shortTime formats a duration: 4h, 2d, 1h30m.
func shortTime(d time.Duration) string {
	if d >= 24*time.Hour && d%(24*time.Hour) == 0 {
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	}
	text := d.Truncate(time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
