package siteconfigs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// Facts are what Slurm reports about a cluster.
type Facts struct {
	Config     slurm.Config
	Partitions []slurm.Partition
	Nodes      []slurm.NodeGroup
	Reserved   []slurm.NodeRecord // of nodes that keep something for themselves
	Reachable  []slurm.NodeRecord // a few nodes, with their addresses
	// The rest is empty without accounting.
	DefaultAccount string
	Associations   []slurm.Association // of the user
	QOS            []slurm.QOS
}

// CollectFacts returns the facts for a user, by seven calls. If accounting fails, the
// limits of the user are unknown. It assumes that nodes reserve nothing if that cannot be
// found out.
func CollectFacts(ctx context.Context, client *slurm.Client, user string) (Facts, error) {
	var f Facts
	var err error
	if f.Config, err = client.Config(ctx); err != nil {
		return f, fmt.Errorf("query the configuration of the cluster: %w", err)
	}
	if f.Partitions, err = client.Partitions(ctx); err != nil {
		return f, fmt.Errorf("query the partitions of the cluster: %w", err)
	}
	if f.Nodes, err = client.Nodes(ctx); err != nil {
		return f, fmt.Errorf("query the nodes of the cluster: %w", err)
	}
	if records, err := client.NodeRecords(ctx); err == nil {
		f.addRecords(records)
	} else if ctx.Err() != nil {
		return f, fmt.Errorf("query the individual nodes of the cluster: %w", err)
	}
	if f.Config.Accounted() {
		if err := f.askAccounting(ctx, client, user); err != nil && ctx.Err() != nil {
			return f, err
		}
	}
	return f, nil
}

// addRecords keeps the useful part of node records, of which there may be thousands.
func (f *Facts) addRecords(records []slurm.NodeRecord) {
	f.Reserved = slices.DeleteFunc(slices.Clone(records), func(n slurm.NodeRecord) bool { return !n.Reserves() })
	for _, name := range SomeNodes(f.Nodes) {
		if i := slices.IndexFunc(records, func(n slurm.NodeRecord) bool { return n.Name == name && n.Address != "" }); i >= 0 {
			f.Reachable = append(f.Reachable, records[i])
		}
	}
}

func (f *Facts) askAccounting(ctx context.Context, client *slurm.Client, user string) (err error) {
	if f.DefaultAccount, err = client.DefaultAccount(ctx, user); err != nil {
		return fmt.Errorf("query the account of %s: %w", user, err)
	}
	if f.Associations, err = client.Associations(ctx, user); err != nil {
		return fmt.Errorf("query the limits of %s: %w", user, err)
	}
	if f.QOS, err = client.QOS(ctx); err != nil {
		return fmt.Errorf("query the qualities of service: %w", err)
	}
	return nil
}

// Detect returns what a cluster offers according to Slurm.
func Detect(ctx context.Context, client *slurm.Client, user string) (*Site, error) {
	f, err := CollectFacts(ctx, client, user)
	if err != nil {
		return nil, err
	}
	return FromFacts(f), nil
}

// FromFacts returns the site for facts. It omits partitions without nodes.
func FromFacts(f Facts) *Site {
	name := cmp.Or(f.Config.Cluster, "slurm")
	s := &Site{
		Name: name, DisplayName: name, Description: "as Slurm describes it",
		Detection:      []DetectionRule{{Cluster: name}},
		DefaultAccount: f.DefaultAccount, ChargeFactorCPU: 1, ChargeFactorGPU: 10,
		SlurmVersion: f.Config.Version, MinJobAge: f.Config.MinJobAge, KillWait: f.Config.KillWait, SlurmdTimeout: f.Config.SlurmdTimeout,
	}
	for _, a := range f.Associations {
		if a.Partition == "" && f.here(a) && s.Account(a.Account) == (Account{Name: a.Account}) {
			s.Accounts = append(s.Accounts, f.account(a))
		}
	}
	for i := range f.QOS {
		if size := sizeOfQOS(&f.QOS[i]); size != (Size{}) {
			s.QOS = append(s.QOS, QOS{Name: f.QOS[i].Name, MaxJob: size})
		}
	}
	if nodes, err := slurm.WithoutReserved(f.Nodes, f.Reserved); err == nil {
		f.Nodes = nodes
	}
	hosts := f.hosts()
	for i := range f.Partitions {
		if p := f.partition(i, hosts); p.CPUsPerNode > 0 {
			s.Partitions = append(s.Partitions, p)
		}
	}
	return s
}

// here reports whether an association is of this cluster. Several clusters may share an
// accounting database, which has their names in lower case.
func (f *Facts) here(a slurm.Association) bool {
	return a.Cluster == "" || f.Config.Cluster == "" || strings.EqualFold(a.Cluster, f.Config.Cluster)
}

// account returns the limits of an association and its QOS.
func (f *Facts) account(a slurm.Association) Account {
	account := Account{Name: a.Account, MaxJobs: int64(a.MaxJobs), MaxSubmitJobs: int64(a.MaxSubmit), MaxWalltime: shortest(a.MaxWall)}
	name := a.DefaultQOS
	switch {
	case name != "":
	case len(a.QOS) == 1:
		name = a.QOS[0]
	default:
		name = "normal" // Slurm's own default
	}
	account.DefaultQOS, account.MaxJob = a.DefaultQOS, sizeOf(a.MaxTRES, a.GrpTRES)
	if q := f.qos(name); q != nil {
		account.DefaultQOS = name
		account.MaxJobs = least(account.MaxJobs, int64(q.MaxJobsPerUser))
		account.MaxSubmitJobs = least(account.MaxSubmitJobs, int64(q.MaxSubmitPerUser))
		account.MaxWalltime = shortest(a.MaxWall, q.MaxWall)
	}
	return account
}

func (f *Facts) qos(name string) *slurm.QOS {
	for i := range f.QOS {
		if f.QOS[i].Name == name {
			return &f.QOS[i]
		}
	}
	return nil
}

// partition returns the i-th partition.
func (f *Facts) partition(i int, hosts []map[string]bool) Partition {
	from := &f.Partitions[i]
	p := Partition{
		Name: from.Name, Default: from.Default, MinNodes: int64(from.MinNodes), MaxNodes: int64(from.MaxNodes), TotalNodes: int64(from.TotalNodes), NodeList: from.Nodes,
		MaxWalltime: f.maxWalltime(from), Shared: f.shared(from), Preemptible: f.preemptible(i, hosts),
		AllowAccounts: from.AllowAccounts, DenyAccounts: from.DenyAccounts,
		AllowQOS: from.AllowQOS, DenyQOS: from.DenyQOS, RequiresReservation: from.ReqResv, MaxJob: sizeOfQOS(f.qos(from.QOS)),
		MaxMemPerNodeMB: memoryRule(slurm.PerNode, from.MaxMemory, f.Config.MaxMemory),
		MaxMemPerCPUMB:  memoryRule(slurm.PerCPU, from.MaxMemory, f.Config.MaxMemory),
		DefMemPerCPUMB:  memoryRule(slurm.PerCPU, from.DefMemory, f.Config.DefMemory),
	}
	if p.MinNodes == 1 {
		p.MinNodes = 0 // no limit
	}
	usable := p.addNodes(f.Nodes, int64(from.MaxCPUsPerNode))
	switch {
	case from.State != "UP":
		p.Closed = "its state is " + from.State
	case from.RootOnly:
		p.Closed = "only root may use it"
	case !usable:
		p.Closed = "none of its nodes is up"
	}
	return p
}

// addNodes adds the nodes of a partition and reports whether any is usable.
func (p *Partition) addNodes(groups []slurm.NodeGroup, maxCPUs int64) (usable bool) {
	var types []NodeType
	for _, g := range groups {
		if g.Partition != p.Name {
			continue
		}
		usable = usable || g.Usable()
		t := NodeType{CPUs: least(int64(g.CPUs), maxCPUs), MemoryMB: g.Memory / slurm.MiB}
		for _, r := range g.GRES {
			if r.Name == "gpu" {
				t.GPUs += r.Count
				t.GPUType = cmp.Or(t.GPUType, r.Type)
			}
		}
		if j := slices.Index(uncounted(types), t); j >= 0 {
			types[j].Count += int64(g.Count)
			continue
		}
		t.Count = int64(g.Count)
		types = append(types, t)
		for _, feature := range g.Features {
			if !slices.Contains(p.Features, feature) {
				p.Features = append(p.Features, feature)
			}
		}
	}
	for i, t := range types {
		if i == 0 {
			p.CPUsPerNode, p.MemoryMB, p.GPUsPerNode, p.GPUType = t.CPUs, t.MemoryMB, t.GPUs, t.GPUType
			continue
		}
		p.CPUsPerNode, p.MemoryMB, p.GPUsPerNode = min(p.CPUsPerNode, t.CPUs), min(p.MemoryMB, t.MemoryMB), min(p.GPUsPerNode, t.GPUs)
		p.GPUType = cmp.Or(p.GPUType, t.GPUType)
	}
	if len(types) > 1 {
		p.NodeTypes = types
	}
	return usable
}

// uncounted returns kinds of nodes without their counts.
func uncounted(types []NodeType) []NodeType {
	all := slices.Clone(types)
	for i := range all {
		all[i].Count = 0
	}
	return all
}

// maxWalltime returns the limit for jobs in a partition.
func (f *Facts) maxWalltime(p *slurm.Partition) time.Duration {
	if q := f.qos(p.QOS); q != nil {
		return shortest(p.MaxTime, q.MaxWall)
	}
	return shortest(p.MaxTime)
}

// shortest returns the shortest of limits from Slurm, 0 if there is none.
func shortest(limits ...time.Duration) time.Duration {
	least := slurm.Unlimited
	for _, l := range limits {
		if l > 0 { // NoDuration is negative
			least = min(least, l)
		}
	}
	if least == slurm.Unlimited {
		return 0
	}
	return least
}

// shared reports whether jobs may use parts of nodes.
func (f *Facts) shared(p *slurm.Partition) bool {
	switch how, _, _ := strings.Cut(p.OverSubscribe, ":"); how {
	case "EXCLUSIVE":
		return false
	case "YES", "FORCE":
		return true
	}
	return strings.Contains(f.Config.SelectType, "cons_")
}

// preemptible reports whether jobs of a partition with a higher priority and some of the
// same nodes may preempt those of the i-th.
func (f *Facts) preemptible(i int, hosts []map[string]bool) bool {
	p := &f.Partitions[i]
	if len(f.Config.PreemptMode) == 0 || !strings.Contains(f.Config.PreemptType, "partition_prio") || p.PreemptMode == "OFF" {
		return false
	}
	for j := range f.Partitions {
		if f.Partitions[j].PriorityTier <= p.PriorityTier {
			continue
		}
		for host := range hosts[i] {
			if hosts[j][host] {
				return true
			}
		}
	}
	return false
}

// hosts returns the nodes of each partition, none for an invalid list: it only matters for
// preemptible.
func (f *Facts) hosts() []map[string]bool {
	all := make([]map[string]bool, len(f.Partitions))
	for i, p := range f.Partitions {
		all[i] = make(map[string]bool)
		names, _ := slurm.ExpandNodes(p.Nodes)
		for _, name := range names {
			all[i][name] = true
		}
	}
	return all
}

// memoryRule returns the memory limit of a partition, or else of the cluster, in MiB per
// unit; 0 if there is none.
func memoryRule(per slurm.Per, partition, cluster slurm.Memory) int64 {
	for _, m := range []slurm.Memory{partition, cluster} {
		if m.Bytes > 0 {
			if m.Per == per {
				return m.Bytes / slurm.MiB
			}
			return 0
		}
	}
	return 0
}

// least returns the smaller of two limits, where 0 means none.
func least(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
