package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// target is a pool with the data for turning a shape into a request to Slurm.
type target struct {
	Pool
	base compute.AllocationRequest // what stays the same for all shapes
	// If no slurm_scheduler says how much to request.
	sized     bool
	partition *siteconfigs.Partition // nil if not known
	node      siteconfigs.NodeType
}

// pools finds the targets for jobs, and creates each once.
type pools struct {
	site       *siteconfigs.Site // nil: nothing is known about it
	siteReason string            // why
	set        Settings
	workflow   *workflow.Workflow
	options    compute.SubmitOptions
	actions    []autoAction
	schedulers []compute.SlurmScheduler
	targets    map[string]*target
}

// autoAction is an action auto_schedule_on_ready_jobs and its config, or the follower of
// actions of one scheduler that have requested their allocations.
type autoAction struct {
	id      int64
	config  action.NodesConfig
	follows []int64 // these actions; nil: it is an action itself
}

// followedBy returns the actions that a follower follows; nil if it is an action itself.
func (p *pools) followedBy(action int64) []int64 {
	for _, a := range p.actions {
		if a.id == action {
			return a.follows
		}
	}
	return nil
}

// find returns the names of the pools for jobs of a class, best
// first, or why there is none.
func (p *pools) find(d *Demand) (names []string, why string) {
	var refusals []string
	for _, a := range p.actions {
		var all []*target
		if a.config.SchedulerID != nil && d.SchedulerID != nil && *a.config.SchedulerID != *d.SchedulerID {
			continue
		}
		if id := cmp.Or(a.config.SchedulerID, d.SchedulerID); id != nil {
			all, why = p.scheduler(a.id, *id, d)
		} else {
			all, why = p.partitionsFor(a.id, d)
		}
		for i, t := range all {
			t = p.labelled(t, d.Labels)
			if i == 0 && len(all) > 1 {
				t.addSpare(all[1])
			}
			if misfit := t.misfit(d, &p.set); misfit == "" {
				names = append(names, t.Name)
			} else {
				why = cmp.Or(why, t.Name+": "+misfit)
			}
		}
		if len(names) > 0 {
			return names, ""
		}
		refusals = append(refusals, why)
	}
	switch {
	case len(p.actions) == 0:
		return nil, "no action asks for more allocations"
	case len(refusals) == 0:
		return nil, "no action asks for allocations of its scheduler"
	}
	return nil, strings.Join(refusals, "; ")
}

// labelled returns a target whose runners have labels. These take only jobs
// with some of the labels, so each set of labels has separate allocations.
func (p *pools) labelled(t *target, labels []string) *target {
	if len(labels) == 0 {
		return t
	}
	name := t.Name + ", labels " + workflow.JoinLabels(labels)
	if known := p.targets[name]; known != nil {
		known.Node = known.Node.most(t.Node)
		return known
	}
	own := *t
	own.Name, own.Labels = name, labels
	p.targets[name] = &own
	return &own
}

// partitionsFor returns the partition for jobs, and a spare one if there is any.
func (p *pools) partitionsFor(action int64, d *Demand) (all []*target, why string) {
	if p.site == nil {
		return nil, "nothing is known about the site: " + p.siteReason
	}
	need := siteconfigs.Need{
		CPUs: d.CPUs, MemoryMB: ceil(d.MemoryBytes+runnerMemory, slurm.MiB) / slurm.MiB, GPUs: d.GPUs, Nodes: d.nodes(),
		Account: p.options.Account, QOS: p.options.QOS, Partition: p.options.Partition,
	}
	best, refusals := bestFor(p.site, &need, d.runtime(), p.set.Margins)
	if best.Partition == nil {
		return nil, "fits no partition: " + p.refusals(d, refusals)
	}
	for _, choice := range []siteconfigs.Choice{best, siteconfigs.Spare(p.site, need)} {
		if choice.Partition == nil {
			continue
		}
		t, err := p.chosen(action, &choice)
		if err != nil {
			return nil, err.Error()
		}
		all = append(all, t)
	}
	return all, ""
}

// bestFor returns the partition for jobs of some runtime, and sets the walltime
// that they need. If the jobs only fit without the margins, the margins are reduced.
func bestFor(site *siteconfigs.Site, need *siteconfigs.Need, runtime time.Duration, m placement.Margins) (siteconfigs.Choice, []siteconfigs.Refusal) {
	need.Walltime = m.Walltime(runtime)
	best, refusals := siteconfigs.Best(site, *need)
	if best.Partition != nil {
		return best, refusals
	}
	bent := *need
	bent.Walltime = (runtime + time.Minute - 1).Truncate(time.Minute)
	if bending, others := siteconfigs.Best(site, bent); bending.Partition != nil {
		*need = bent
		return bending, others
	}
	return best, refusals
}

// chosen returns the pool of a partition, for one kind of its nodes.
func (p *pools) chosen(action int64, choice *siteconfigs.Choice) (*target, error) {
	name := "partition " + choice.Partition.Name
	if len(choice.Partition.Types()) > 1 {
		name += fmt.Sprintf(" (%s, %s)", countOf(choice.Node.CPUs, "CPU"), workflow.FormatBytes(choice.Node.MemoryMB*slurm.MiB))
	}
	if t := p.targets[name]; t != nil {
		return t, nil
	}
	t := p.ofPartition(choice.Partition, choice.Node)
	t.Name, t.ActionID, t.sized = name, action, true
	t.base = compute.AllocationRequest{Account: cmp.Or(p.options.Account, p.site.DefaultAccount), QOS: cmp.Or(p.options.QOS, choice.Partition.DefaultQOS)}
	if choice.Explicit {
		t.base.Partition = choice.Partition.Name
	}
	return t, p.add(t)
}

// add stores a target, after adding the limits of its account and the
// user's own choice of nodes.
func (p *pools) add(t *target) error {
	if err := p.chooseNodes(t); err != nil {
		return err
	}
	p.targets[t.Name] = t
	p.limit(t)
	return nil
}

// limit adds the limits of account and quality of service to a target.
func (p *pools) limit(t *target) {
	if p.site == nil {
		return
	}
	if t.partition != nil {
		most := p.site.MaxJob(t.partition, t.base.Account, t.base.QOS)
		t.Most = Resources{CPUs: most.CPUs, MemoryBytes: most.MemoryMB * slurm.MiB, GPUs: most.GPUs}
		if most.Nodes > 0 && (t.MaxNodes == 0 || most.Nodes < t.MaxNodes) {
			t.MaxNodes = most.Nodes
		}
	}
	if limit := p.site.Account(t.base.Account).MaxWalltime; limit > 0 && (t.MaxWalltime == 0 || limit < t.MaxWalltime) {
		t.MaxWalltime = limit
	}
}

// chooseNodes finds which nodes a target may use.
func (p *pools) chooseNodes(t *target) error {
	chosen, err := allocation.NodesOf(p.workflow, &t.base)
	if err != nil {
		return err
	}
	if t.partition != nil && !chosen.Restricted {
		// A list that cannot be parsed counts as unknown.
		t.Hosts, _ = slurm.ExpandNodes(t.partition.NodeList)
	}
	t.Required = chosen.Required
	t.Nodes = max(t.Nodes, int64(len(t.Required)))
	if len(t.Required) > 0 && t.Nodes == int64(len(t.Required)) {
		t.Hosts = t.Required
	}
	if t.Hosts != nil {
		t.Hosts = slices.DeleteFunc(slices.Clone(t.Hosts), func(host string) bool { return slices.Contains(chosen.Excluded, host) })
	}
	t.Place = placeOf(&t.base)
	if len(t.Place.Partitions) == 0 && t.partition != nil {
		t.Place.Partitions = []string{t.partition.Name}
	}
	t.Place.Features, t.Place.Reservation, t.Place.Unclear = chosen.Features, chosen.Reservation, chosen.Unclear
	if len(chosen.Required) > 0 || len(chosen.Excluded) > 0 {
		t.Place.Hosts = slices.Sorted(slices.Values(t.Hosts))
	}
	return nil
}

// placeOf returns where a request may start, as far as it says so.
func placeOf(r *compute.AllocationRequest) forecast.Place {
	place := forecast.Place{QOS: r.QOS, Account: r.Account}
	if r.Partition != "" {
		place.Partitions = strings.Split(r.Partition, ",")
	}
	return place
}

// refusals returns why no partition accepts a job; only of the requested partition
// if there is one.
func (p *pools) refusals(d *Demand, all []siteconfigs.Refusal) string {
	const shown = 4
	var lines []string
	for _, r := range all {
		if p.options.Partition != "" && r.Partition != p.options.Partition {
			continue
		}
		reason := r.Reason
		if part := p.site.Partition(r.Partition); part != nil && part.Closed == "" {
			types := part.Types()
			reason = cmp.Or(p.ofPartition(part, types[len(types)-1]).misfit(d, &p.set), reason)
		}
		lines = append(lines, r.Partition+": "+reason)
	}
	if more := len(lines) - shown; more > 0 {
		lines = append(lines[:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

// ofPartition returns what a partition offers, for one kind of its nodes.
func (p *pools) ofPartition(part *siteconfigs.Partition, node siteconfigs.NodeType) *target {
	t := &target{partition: part, node: node}
	// Our own processes need some memory on a node that is requested as a whole.
	t.Node = Resources{CPUs: node.CPUs, MemoryBytes: max(node.MemoryMB*slurm.MiB-runnerMemory, 0), GPUs: node.GPUs}
	t.Shared, t.Nodes = part.Shared, part.MinNodes
	if part.Shared && node.CPUs > 0 { // see size
		t.MemoryPerCPU = node.MemoryMB * slurm.MiB / node.CPUs
	}
	t.MaxWalltime = part.MaxWalltime
	for _, limit := range []int64{part.MaxNodes, part.MaxNodesPerUser, part.TotalNodes} {
		if limit > 0 && (t.MaxNodes == 0 || limit < t.MaxNodes) {
			t.MaxNodes = limit
		}
	}
	return t
}

// scheduler returns the pool of a slurm_scheduler of the workflow, or why there is none.
func (p *pools) scheduler(action, id int64, d *Demand) ([]*target, string) {
	c := p.schedulerOf(id)
	if c == nil {
		return nil, fmt.Sprintf("Slurm scheduler %d no longer exists", id)
	}
	name := "scheduler " + c.Name
	t := p.targets[name]
	if t == nil {
		var err error
		if t, err = p.ofScheduler(c); err != nil {
			return nil, err.Error()
		}
		t.Name, t.ActionID, t.SchedulerID = name, action, &c.ID
		if err := p.add(t); err != nil {
			return nil, err.Error()
		}
	}
	if t.partition == nil {
		// The size of its nodes is not known: assume what the largest job needs.
		t.Node = t.Node.most(d.each())
	}
	return []*target{t}, ""
}

// schedulerOf returns a slurm_scheduler of the workflow; nil if there is none.
func (p *pools) schedulerOf(id int64) *compute.SlurmScheduler {
	for i := range p.schedulers {
		if p.schedulers[i].ID == id {
			return &p.schedulers[i]
		}
	}
	return nil
}

// ofScheduler returns the target of a slurm_scheduler, completed by what
// is known about its partition. The error says which value is invalid.
func (p *pools) ofScheduler(c *compute.SlurmScheduler) (*target, error) {
	base, err := allocation.RequestOf(c)
	if err != nil {
		return nil, err
	}
	asks, err := asksOf(&base)
	if err != nil {
		return nil, err
	}
	t := &target{}
	if p.site != nil {
		choice, _ := siteconfigs.Best(p.site, siteconfigs.Need{
			CPUs: asks.CPUs, MemoryMB: asks.MemoryBytes / slurm.MiB, GPUs: asks.GPUs, Nodes: base.Nodes,
			Walltime: time.Duration(base.WalltimeS) * time.Second, Account: base.Account, QOS: base.QOS, Partition: base.Partition,
		})
		if choice.Partition != nil {
			t = p.ofPartition(choice.Partition, choice.Node)
		}
	}
	if t.partition == nil {
		t.Node, t.Shared = asks, true
	}
	t.Node = t.Node.most(asks)
	t.base, t.Asks, t.Nodes, t.Serialize = base, asks, max(base.Nodes, t.Nodes), c.SerializeAllocations
	t.Walltime = time.Duration(base.WalltimeS) * time.Second
	return t, nil
}

// asksOf returns what a request names for each node.
func asksOf(r *compute.AllocationRequest) (asks Resources, err error) {
	memory, err := slurm.ParseMemory(r.Mem, slurm.MiB)
	if err != nil {
		return asks, workflow.Errorf(workflow.CodeInvalid, "invalid mem %q", r.Mem)
	}
	asks.MemoryBytes = memory.Bytes
	all, err := slurm.ParseGRES(r.Gres)
	if err != nil {
		return asks, workflow.Errorf(workflow.CodeInvalid, "invalid gres %q", r.Gres)
	}
	for _, g := range all {
		if g.Name == "gpu" {
			asks.GPUs += g.Count
		}
	}
	tasks, cpus := cmp.Or(r.NtasksPerNode, extraNumber(r.Extra, "--ntasks-per-node=")), extraNumber(r.Extra, "--cpus-per-task=")
	if tasks > 0 || cpus > 0 {
		asks.CPUs = max(tasks, 1) * max(cpus, 1)
	}
	return asks, nil
}

// extraNumber returns the number of an option in a user's own text; 0 if there is
// none.
func extraNumber(extra, option string) (n int64) {
	for _, word := range strings.Fields(extra) {
		if text, ok := strings.CutPrefix(word, option); ok {
			if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
				return 0
			}
		}
	}
	return n
}
