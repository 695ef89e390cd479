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
	// Account that is charged; empty if unknown.
	Account string
	// Partition that has to be used; empty leaves the choice to us.
	Partition string
}

// Choice is a partition and why it is the one. Without a partition, none fits.
type Choice struct {
	Partition *Partition
	// Explicit: a request has to name the partition to get there.
	Explicit bool
	Reason   string
}

// Refusal is why a partition was not taken.
type Refusal struct {
	Partition string `json:"partition"`
	Fits      bool   `json:"fits"` // another one suits better
	Reason    string `json:"reason"`
}

// A job of this size on one node uses a part of it: partitions where jobs
// share nodes come first for it.
const (
	smallCPUs     = 26
	smallMemoryMB = 60000
)

// class is how well a partition that fits suits a need; the lowest is best.
type class int

const (
	classSuited class = iota
	classPlain        // whole nodes for a small job, or named partitions for GPUs
	classNamed        // Slurm does not go there by itself
	classIdleGPUs
	classPreemptible
	classDebug
)

// Best chooses the partition for a need: of those where it fits, the best
// suited class, and there the one with the least memory and the shortest
// limit, so that the larger ones stay free for those who need them. The
// refusals are in the order of preference, those that do not fit last.
func Best(site *Site, need Need) (Choice, []Refusal) {
	need.Nodes = max(1, need.Nodes)
	var fitting []*Partition
	var refusals []Refusal
	for i := range site.Partitions {
		p := &site.Partitions[i]
		if why := p.misfit(&need); why != "" {
			refusals = append(refusals, Refusal{Partition: p.Name, Reason: why})
			continue
		}
		fitting = append(fitting, p)
	}
	if need.Partition != "" && site.Partition(need.Partition) == nil {
		refusals = append([]Refusal{{Partition: need.Partition, Reason: site.Title() + " has no partition of this name"}}, refusals...)
	}
	if len(fitting) == 0 {
		return Choice{}, refusals
	}
	slices.SortStableFunc(fitting, func(a, b *Partition) int {
		return cmp.Or(cmp.Compare(a.class(&need), b.class(&need)), cmp.Compare(a.MemoryMB, b.MemoryMB),
			cmp.Compare(a.limit(), b.limit()), preferTrue(a.Default, b.Default))
	})
	best := fitting[0]
	var others []Refusal
	for _, p := range fitting[1:] {
		others = append(others, Refusal{Partition: p.Name, Fits: true, Reason: p.lessSuited(best, &need)})
	}
	choice := Choice{Partition: best, Explicit: need.Partition != "" || best.RequiresExplicitRequest || !site.AutoRouting, Reason: best.suited(&need, len(fitting))}
	return choice, append(others, refusals...)
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

// limit is the longest time for a job.
func (p *Partition) limit() time.Duration {
	if p.MaxWalltime == 0 {
		return math.MaxInt64
	}
	return p.MaxWalltime
}

// misfit says why a need cannot be met, the empty string if it can.
func (p *Partition) misfit(need *Need) string {
	switch {
	case need.Partition != "" && p.Name != need.Partition:
		return need.Partition + " is asked for"
	case p.Closed != "":
		return "takes no jobs: " + p.Closed
	case p.OnlyByName && need.Partition == "":
		return "is for those who ask for it by name"
	case need.CPUs > p.CPUsPerNode:
		return fmt.Sprintf("%d CPUs are needed, a node has %d", need.CPUs, p.CPUsPerNode)
	case need.MemoryMB > p.MemoryMB:
		return fmt.Sprintf("%d MiB are needed, a node has %d", need.MemoryMB, p.MemoryMB)
	case need.GPUs > p.GPUsPerNode:
		return fmt.Sprintf("%s needed, a node has %d", count(need.GPUs, "GPU is", "GPUs are"), p.GPUsPerNode)
	case need.Walltime > p.limit():
		return fmt.Sprintf("%s are needed, at most %s are allowed", shortTime(need.Walltime), shortTime(p.MaxWalltime))
	}
	return cmp.Or(p.nodesMisfit(need.Nodes), p.accountMisfit(need.Account))
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

// class ranks a partition that fits.
func (p *Partition) class(need *Need) class {
	small := need.GPUs == 0 && need.Nodes == 1 && need.CPUs <= smallCPUs && need.MemoryMB <= smallMemoryMB
	switch {
	case p.debug():
		return classDebug
	case p.Preemptible:
		return classPreemptible
	case need.GPUs == 0 && p.GPUsPerNode > 0:
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

// suited says why a partition was chosen.
func (p *Partition) suited(need *Need, fitting int) string {
	if need.Partition != "" {
		return "it is asked for, and fits"
	}
	if fitting == 1 {
		return "the only one that fits"
	}
	switch p.class(need) {
	case classDebug:
		return "only partitions for trials fit"
	case classPreemptible:
		return "only partitions with preemption fit"
	case classIdleGPUs:
		return "only partitions with GPUs fit"
	case classNamed:
		return "the smallest that fits of those that have to be named"
	}
	return fmt.Sprintf("the smallest of %d that fit", fitting)
}

// lessSuited says why best was taken instead of a partition that fits too.
func (p *Partition) lessSuited(best *Partition, need *Need) string {
	if c := p.class(need); c > best.class(need) {
		return "fits, but " + map[class]string{
			classPlain:       "a part of a node is enough",
			classNamed:       "is only used by jobs that name it",
			classIdleGPUs:    "no GPUs are needed",
			classPreemptible: "its jobs may be preempted",
			classDebug:       "is for trials",
		}[c]
	}
	switch {
	case p.MemoryMB > best.MemoryMB:
		return "fits, but has more memory than is needed"
	case p.limit() > best.limit():
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

// shortTime writes a time for people: 4h, 2d, 1h30m.
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
