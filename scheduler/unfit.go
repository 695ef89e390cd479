package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// Unfit are open jobs with equal needs that can never run in the present configuration.
type Unfit struct {
	First  string // the name of one of them
	Jobs   int64
	Reason string // what they need, and the largest available value
}

// String returns the jobs and the reason in one line.
func (u Unfit) String() string {
	if u.Jobs > 1 {
		return fmt.Sprintf("%s (and %d more): %s", u.First, u.Jobs-1, u.Reason)
	}
	return u.First + ": " + u.Reason
}

// Fitness says which open jobs of a workflow can never run.
type Fitness struct {
	Unfit     []Unfit
	Unchecked string // why this is not known; empty if it is
}

// Fitness checks whether each open job of a workflow fits an allocation that the
// workflow can get, or a runner that it has. Options and limits are those of a planned
// submission; nil options: those of the actual one, if any. Only certain cases count:
// unknown limits and temporary states, such as a closed partition, reject no job.
func (s *Scheduler) Fitness(ctx context.Context, workflowID int64, o *compute.SubmitOptions, limits *workflow.AutoSchedule) (Fitness, error) {
	if err := s.take(ctx); err != nil {
		return Fitness{}, err
	}
	defer s.giveBack()
	l := &pass{Scheduler: s, memory: &memory{}, id: workflowID, now: s.Now(), dry: true, limits: limits}
	if o != nil {
		l.submission = &compute.Submission{WorkflowID: workflowID, Options: *o, SubmittedMS: s.Now().UnixMilli()}
	}
	f, err := l.fitness(ctx)
	if err != nil {
		return f, fmt.Errorf("check the jobs of workflow %d: %w", workflowID, err)
	}
	return f, nil
}

// Unfit returns why no allocation that a workflow can get could ever take a job of a
// class, according to the latest pass; empty if one could, or if it is not known. It makes
// no calls.
func (s *Scheduler) Unfit(workflowID int64, c placement.Class) string {
	s.mu.Lock()
	known := s.views[workflowID].places()
	s.mu.Unlock()
	if known == nil || known.site == nil {
		return ""
	}
	return unfit(&c, known.own().places(nil))
}

func (l *pass) fitness(ctx context.Context) (f Fitness, err error) {
	if err := l.read(ctx); err != nil {
		return f, err
	}
	if l.ended() {
		return f, nil
	}
	if l.site.site == nil && l.site.reason == "" {
		l.site = l.findSite(ctx)
		l.pools.site = l.site.site
	}
	if l.site.site == nil || l.site.reason != "" {
		f.Unchecked = cmp.Or(l.site.reason, "nothing is known about the site")
		return f, ctx.Err()
	}
	runners, err := l.Store.Scheduling.RunnerFacts(ctx, l.id)
	if err != nil {
		return f, err
	}
	live := slices.DeleteFunc(slices.Clone(l.supply.Live), func(a compute.Allocation) bool {
		return a.WorkflowID != l.id || a.IsDuplicate || a.CancelMS != 0
	})
	places := l.pools.places(live)
	reasons := map[int64]string{}
	open, err := l.Store.Scheduling.OpenClasses(ctx, l.id, func(c placement.Class) bool {
		if c.Login || placement.Unplaced(c, runners) == "" {
			return false
		}
		reasons[c.ID] = unfit(&c, places)
		return reasons[c.ID] != ""
	})
	if err != nil {
		return f, err
	}
	for _, c := range open {
		f.Unfit = addUnfit(f.Unfit, Unfit{First: c.First, Jobs: c.Jobs, Reason: reasons[c.Class.ID]})
	}
	return f, nil
}

// UnfitWork returns the jobs that fit no allocation that a generated scheduler can request
// on a site.
func UnfitWork(work []Work, site *siteconfigs.Site, o GenerateOptions) (all []Unfit, err error) {
	p := pools{site: site}
	places := p.placesOf("", &compute.AllocationRequest{Account: o.Account, Partition: o.Partition}, true)
	reasons := map[workflow.ResourceRequirements]string{}
	for i := range work {
		w := &work[i]
		if w.Labeled || w.Login { // no scheduler is generated for these
			continue
		}
		reason, known := reasons[w.Requirements]
		if !known {
			c, err := classOf(&w.Requirements)
			if err != nil {
				return nil, err
			}
			reason = unfit(&c, places)
			reasons[w.Requirements] = reason
		}
		if reason != "" {
			all = addUnfit(all, Unfit{First: w.Name, Jobs: 1, Reason: reason})
		}
	}
	return all, nil
}

// classOf returns the class of jobs with some requirements.
func classOf(r *workflow.ResourceRequirements) (c placement.Class, err error) {
	c = placement.Class{CPUs: r.NumCPUs, GPUs: r.NumGPUs, Nodes: r.NumNodes}
	if c.MemoryBytes, err = workflow.ParseMemory(r.Memory); err == nil {
		c.RuntimeSeconds, err = workflow.ParseRuntime(r.Runtime)
	}
	if err != nil {
		return c, fmt.Errorf("resource requirements %s: %w", r.Name, err)
	}
	return c, nil
}

// addUnfit adds jobs to those with the same reason; other differences do not matter to
// the reader.
func addUnfit(all []Unfit, u Unfit) []Unfit {
	if i := slices.IndexFunc(all, func(x Unfit) bool { return x.Reason == u.Reason }); i >= 0 {
		all[i].Jobs += u.Jobs
		return all
	}
	return append(all, u)
}

// place is where an allocation of a workflow can run, with the most that it can have.
type place struct {
	scheduler string    // of the workflow; empty: the daemon chooses the partition
	partition string    // empty: partition and size of its nodes are not known
	whole     Resources // what its largest node has for jobs
	node      Resources // the part of it that an allocation gets
	most      Resources // what an allocation may have in total, where not 0
	shared    bool
	nodes     int64         // 0: no limit
	walltime  time.Duration // 0: no limit
}

// places returns where allocations of the workflow can run: those of its schedulers,
// whether or not an action requests them yet, existing ones, and any of the
// site if the daemon may choose.
func (p *pools) places(live []compute.Allocation) (all []place) {
	for i := range p.schedulers {
		c := &p.schedulers[i]
		request, err := allocation.RequestOf(c)
		if err != nil {
			return []place{{}} // Slurm will report it
		}
		grows := slices.ContainsFunc(p.actions, func(a autoAction) bool {
			return a.config.SchedulerID == nil || *a.config.SchedulerID == c.ID
		})
		all = append(all, p.placesOf(c.Name, &request, grows)...)
	}
	for i := range live {
		all = append(all, p.placesOf("", &live[i].Request, false)...)
	}
	if slices.ContainsFunc(p.actions, func(a autoAction) bool { return a.config.SchedulerID == nil }) {
		request := compute.AllocationRequest{Account: p.options.Account, QOS: p.options.QOS, Partition: p.options.Partition}
		all = append(all, p.placesOf("", &request, true)...)
	}
	return all
}

// placesOf returns where an allocation of a request can run. Requests of the daemon
// itself grow to what a job needs, as far as the partition allows.
func (p *pools) placesOf(scheduler string, r *compute.AllocationRequest, grows bool) (all []place) {
	for _, part := range p.partitionsOf(r) {
		known := false
		if part != nil {
			for _, node := range part.Types() {
				if x := p.placeOn(part, node, r, grows); x.whole.CPUs > 0 && !x.exceeded(r) {
					x.scheduler, known = scheduler, true
					all = append(all, x)
				}
			}
		}
		// If a request exceeds the known limits, the user may know more, for example about a
		// quality of service without limits.
		if !known {
			x := place{scheduler: scheduler}
			if !grows {
				x.bound(r)
			}
			all = append(all, x)
		}
	}
	return all
}

// placeOn returns a place on one kind of nodes of a partition.
func (p *pools) placeOn(part *siteconfigs.Partition, node siteconfigs.NodeType, r *compute.AllocationRequest, grows bool) place {
	t := p.ofPartition(part, node)
	t.base = *r
	p.limit(t)
	x := place{partition: part.Name, whole: t.Node, node: t.Node, most: t.Most, shared: t.Shared, nodes: t.MaxNodes, walltime: t.MaxWalltime}
	if !grows { // only the daemon leaves room for our own processes
		x.whole.MemoryBytes = node.MemoryMB * slurm.MiB
		x.node = x.whole
	}
	if !grows && !x.exceeded(r) {
		x.bound(r)
	}
	return x
}

// exceeded reports whether a request asks for more than a place has.
func (x *place) exceeded(r *compute.AllocationRequest) bool {
	asks, err := asksOf(r)
	if err != nil || x.walltime > 0 && time.Duration(r.WalltimeS)*time.Second > x.walltime || x.nodes > 0 && r.Nodes > x.nodes {
		return true
	}
	return asks.CPUs > x.whole.CPUs || asks.MemoryBytes > x.whole.MemoryBytes || asks.GPUs > x.whole.GPUs
}

// partitionsOf returns the partitions that Slurm may use for a request; nil for an
// unknown one. Without a name it may be any, as sites route jobs in unknown ways.
func (p *pools) partitionsOf(r *compute.AllocationRequest) (all []*siteconfigs.Partition) {
	if r.Partition != "" && !chooses(r.Extra, "-p", "--partition") {
		for name := range strings.SplitSeq(r.Partition, ",") {
			all = append(all, p.site.Partition(name))
		}
		return all
	}
	for i := range p.site.Partitions {
		all = append(all, &p.site.Partitions[i])
	}
	return all
}

// chooses reports whether the user's own options of sbatch include one of some options.
func chooses(extra string, options ...string) bool {
	return slices.ContainsFunc(strings.Fields(extra), func(word string) bool {
		return slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(word, o) })
	})
}

// bound limits a place to a request that is made unchanged. CPUs are
// ignored: Slurm allocates whole cores, or nodes.
func (x *place) bound(r *compute.AllocationRequest) {
	if r.WalltimeS > 0 {
		walltime := time.Duration(r.WalltimeS) * time.Second
		if x.walltime == 0 || walltime < x.walltime {
			x.walltime = walltime
		}
	}
	if n := max(r.Nodes, 1); x.nodes == 0 || n < x.nodes {
		x.nodes = n
	}
	asks, err := asksOf(r)
	if err != nil || x.partition == "" {
		return
	}
	if asks.MemoryBytes > 0 && !chooses(r.Extra, "--mem") {
		x.node.MemoryBytes = min(x.node.MemoryBytes, asks.MemoryBytes)
	}
	if asks.GPUs > 0 && !chooses(r.Extra, "--g", "-G", "--exclusive") {
		x.node.GPUs = min(x.node.GPUs, asks.GPUs)
	}
}

// The needs of a job that limit where it can run, in the order of their names.
const (
	needCPUs = iota
	needMemory
	needGPUs
	needNodes
	needRuntime
	needs
)

// offers returns the most of each need that a job with some nodes can have there.
func (x *place) offers(nodes int64) (most [needs]int64) {
	for i := range most {
		most[i] = math.MaxInt64
	}
	if x.partition != "" {
		most[needCPUs], most[needMemory], most[needGPUs] = x.node.CPUs, x.node.MemoryBytes, x.node.GPUs
		for need, limit := range map[int]int64{needCPUs: x.most.CPUs, needMemory: x.most.MemoryBytes, needGPUs: x.most.GPUs} {
			if limit > 0 && x.shared {
				most[need] = min(most[need], limit/nodes)
			}
		}
	}
	if x.nodes > 0 {
		most[needNodes] = x.nodes
	}
	if x.walltime > 0 { // the job may use all of it: the margins are reduced
		most[needRuntime] = int64(x.walltime / time.Second)
	}
	return most
}

// unfit returns why none of some places can ever take a job of a class: what it needs,
// and the largest available value. Empty if one can.
func unfit(c *placement.Class, places []place) string {
	need := [needs]int64{needCPUs: c.CPUs, needMemory: c.MemoryBytes, needGPUs: c.GPUs, needNodes: max(c.Nodes, 1), needRuntime: c.RuntimeSeconds}
	var best [needs]*place
	var most [needs]int64
	for i := range places {
		x := &places[i]
		offers, fits := x.offers(need[needNodes]), true
		for k := range need {
			fits = fits && need[k] <= offers[k]
			if best[k] == nil || offers[k] > most[k] {
				best[k], most[k] = x, offers[k]
			}
		}
		if fits {
			return ""
		}
	}
	if len(places) == 0 {
		return ""
	}
	var reasons []string
	for k := range need {
		if need[k] > most[k] {
			reasons = append(reasons, best[k].lacks(k, need[k], most[k]))
		}
	}
	if len(reasons) == 0 {
		return "no place has all of it: " + lackings(&need, places)
	}
	return strings.Join(reasons, "; ")
}

// lackings returns what is missing in each place, if no place is the best in all needs.
func lackings(need *[needs]int64, places []place) string {
	const shown = 4
	var all []string
	for i := range places {
		offers := places[i].offers(need[needNodes])
		for k := range need {
			if need[k] > offers[k] {
				if text := places[i].lacks(k, need[k], offers[k]); !slices.Contains(all, text) {
					all = append(all, text)
				}
				break
			}
		}
	}
	if more := len(all) - shown; more > 0 {
		all = append(all[:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// lacks returns the text that a place has less of something than a job needs.
func (x *place) lacks(kind int, need, has int64) string {
	of := "partition " + x.partition
	if x.scheduler != "" {
		of = "scheduler " + x.scheduler
	}
	switch kind {
	case needCPUs:
		return "needs " + countOf(need, "CPU") + x.onNode(has, x.whole.CPUs, fmt.Sprint(has))
	case needMemory:
		return "needs " + workflow.FormatBytes(need) + " of memory" + x.onNode(has, x.whole.MemoryBytes, workflow.FormatBytes(has))
	case needGPUs:
		return "needs " + countOf(need, "GPU") + x.onNode(has, x.whole.GPUs, fmt.Sprint(has))
	case needNodes:
		return fmt.Sprintf("needs %s, the largest allocation of %s has %d", countOf(need, "node"), of, has)
	}
	return fmt.Sprintf("needs %s, the longest allocation of %s is %s", workflow.FormatSeconds(need), of, workflow.FormatSeconds(has))
}

// onNode returns what a job can have on a node, and whether that is the node's own
// limit.
func (x *place) onNode(has, whole int64, text string) string {
	switch {
	case has >= whole:
		return fmt.Sprintf(", the largest node of partition %s has %s", x.partition, text)
	case x.scheduler != "":
		return fmt.Sprintf(", an allocation of scheduler %s has at most %s on a node", x.scheduler, text)
	}
	return fmt.Sprintf(", the account or QOS allows %s on a node of partition %s", text, x.partition)
}
