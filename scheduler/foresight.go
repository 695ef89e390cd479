package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Outlook has the facts of a forecast, which are the same for all workflows.
type Outlook interface {
	// Cluster returns what the cluster is like now. It may call Slurm. The error says why that is
	// not known.
	Cluster(ctx context.Context) (*forecast.Cluster, error)
	// Probe asks Slurm when it would start some allocations, as far as the budget of calls allows.
	Probe(ctx context.Context, questions []Question)
	// Probes returns the recent answers of sbatch --test-only.
	Probes() []forecast.Probe
	// Waits returns how long earlier allocations were pending.
	Waits(now time.Time) []forecast.Past
	// Waited records how long an allocation was pending.
	Waited(a *compute.Allocation, p forecast.Past)
}

// Question is an allocation, and the arguments of sbatch for it.
type Question struct {
	Request forecast.Request
	Args    []string
}

// facts are what a workflow's plans know of the cluster and of its jobs.
type facts struct {
	cluster  *forecast.Cluster // nil: not known
	asked    time.Time         // when the cluster was asked for last
	reason   string            // why it is not known
	ahead    []Ahead
	runtimes map[int64]forecast.Runtimes
	jobsAt   time.Time // when ahead and runtimes were read
}

// foresight adds a forecast to the snapshots of a pass, and records what became of earlier
// ones.
type foresight struct {
	outlook  Outlook // nil: there is none
	store    *store.Store
	workflow int64
	known    *facts
	now      time.Time
	silent   bool // nothing is asked and nothing recorded
}

func foresightOf(l *pass) *foresight {
	return &foresight{outlook: l.Outlook, store: l.Store, workflow: l.id, known: &l.memory.facts, now: l.now, silent: l.seen}
}

// add adds to a snapshot what the cluster and the jobs are like. Plain is the plan without it:
// as long as no job is ready that fits an allocation, nothing is asked.
func (l *foresight) add(ctx context.Context, s *Snapshot, plain *Decision) error {
	if l.outlook == nil || s.Ended || s.Held != nil {
		return nil
	}
	f := l.known
	if !l.silent && plain.FactsDue(l.now.Sub(f.asked)) {
		l.askCluster(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if f.cluster != nil && l.now.Sub(f.cluster.At) > FactsLast {
		f.cluster = nil
	}
	if s.NoForecast = f.reason; f.cluster == nil {
		return nil
	}
	s.Forecast = &forecast.Forecast{Cluster: f.cluster, Past: l.outlook.Waits(l.now), Probes: l.outlook.Probes()}
	if err := l.readJobs(ctx, s); err != nil {
		return err
	}
	s.Foresee(f.ahead, f.runtimes)
	return nil
}

// renew reads the facts again before a plan is carried out that requests allocations, unless they
// are new, and reports whether it did.
func (l *foresight) renew(ctx context.Context, s *Snapshot, d *Decision) bool {
	if l.silent || !d.FactsOld(l.now.Sub(l.known.asked)) {
		return false
	}
	l.askCluster(ctx)
	s.Forecast.Cluster = l.known.cluster
	return true
}

// resolve asks Slurm about what a plan is in doubt, and reports whether there are new answers.
func (l *foresight) resolve(ctx context.Context, s *Snapshot, doubts []Doubt, targets map[string]*target) bool {
	if l.silent || len(doubts) == 0 {
		return false
	}
	var questions []Question
	for i := range doubts {
		d := &doubts[i]
		request := targets[d.Pool].request(&d.Shape)
		questions = append(questions, Question{Request: d.Request, Args: probeArgs(&request)})
	}
	known := len(s.Forecast.Probes)
	l.outlook.Probe(ctx, questions)
	s.Forecast.Probes = l.outlook.Probes()
	return len(s.Forecast.Probes) > known
}

// probeArgs returns the arguments of sbatch for a request, as far as they determine when
// it starts.
func probeArgs(r *compute.AllocationRequest) []string {
	args := []string{fmt.Sprintf("--nodes=%d", max(r.Nodes, 1)), "--time=" + slurm.FormatDuration(time.Duration(r.WalltimeS)*time.Second)}
	add := func(option, value string) {
		if value != "" {
			args = append(args, option+value)
		}
	}
	add("--account=", r.Account)
	add("--partition=", r.Partition)
	add("--qos=", r.QOS)
	add("--mem=", r.Mem)
	add("--gres=", r.Gres)
	add("--tmp=", r.Tmp)
	add("--exclude=", strings.Join(r.Exclude, ","))
	if r.CPUsPerNode > 0 {
		args = append(args, fmt.Sprintf("--ntasks-per-node=%d", max(r.NtasksPerNode, 1)), fmt.Sprintf("--cpus-per-task=%d", r.CPUsPerNode))
	} else if r.NtasksPerNode > 0 {
		args = append(args, fmt.Sprintf("--ntasks-per-node=%d", r.NtasksPerNode))
	}
	for line := range strings.Lines(r.Extra) {
		options, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "#SBATCH"), " #")
		args = append(args, strings.Fields(options)...)
	}
	return args
}

// askCluster reads what the cluster is like; what was known before stays if that fails.
func (l *foresight) askCluster(ctx context.Context) {
	f := l.known
	cluster, err := l.outlook.Cluster(ctx)
	f.asked, f.reason = l.now, ""
	if err != nil {
		f.reason = err.Error()
		return
	}
	f.cluster = cluster
}

// readJobs reads which jobs are blocked, and how long finished jobs like these and the ready
// ones ran.
func (l *foresight) readJobs(ctx context.Context, s *Snapshot) (err error) {
	f := l.known
	if l.silent || f.runtimes != nil && l.now.Sub(f.jobsAt) < JobsEvery {
		return nil
	}
	blocked, err := l.store.Scheduling.Ahead(ctx, l.workflow)
	if err != nil {
		return err
	}
	f.ahead = nil
	var classes []int64
	for i := range blocked {
		f.ahead = append(f.ahead, Ahead{Class: blocked[i].Class, Steps: blocked[i].Steps, Count: blocked[i].Count})
		classes = append(classes, blocked[i].Class.ID)
	}
	for i := range s.Demand {
		classes = append(classes, s.Demand[i].ID)
	}
	slices.Sort(classes)
	all, err := l.store.Scheduling.Runtimes(ctx, slices.Compact(classes))
	if err != nil {
		return err
	}
	f.runtimes, f.jobsAt = map[int64]forecast.Runtimes{}, l.now
	for class, list := range all {
		f.runtimes[class] = forecast.RuntimesOf(list)
	}
	return nil
}

// recordStarted records how long allocations were pending that have started.
func (l *foresight) recordStarted(live []compute.Allocation) {
	for i := range live {
		if a := &live[i]; a.StartMS > 0 && a.SlurmJobID != 0 && l.outlook != nil {
			l.outlook.Waited(a, pastOf(a, time.UnixMilli(a.StartMS), false))
		}
	}
}

// recordCanceled records that an allocation has not started until now.
func (l *foresight) recordCanceled(live []compute.Allocation, id int64) {
	i := slices.IndexFunc(live, func(a compute.Allocation) bool { return a.ID == id && a.SlurmJobID != 0 })
	if i >= 0 && l.outlook != nil {
		l.outlook.Waited(&live[i], pastOf(&live[i], l.now, true))
	}
}

// pastOf returns how long an allocation was pending until it started, or was canceled.
func pastOf(a *compute.Allocation, until time.Time, canceled bool) forecast.Past {
	q := &a.Request
	nodes := max(q.Nodes, 1)
	p := forecast.Past{
		QOS: q.QOS, Account: q.Account, Nodes: nodes, CPUs: nodes * max(q.Offer.CPUs, 1), GPUs: nodes * q.Offer.GPUs,
		Walltime: time.Duration(q.WalltimeS) * time.Second, Asked: time.UnixMilli(a.AskedMS), NotStarted: canceled,
	}
	p.Waited = max(until.Sub(p.Asked), 0)
	p.Partition, _, _ = strings.Cut(q.Partition, ",")
	if e := q.Expected; e != nil {
		p.Free = e.Free
		if p.Partition == "" {
			p.Partition = e.Partition
		}
	}
	return p
}

// expectation returns what a plan expects of an allocation, to be stored with its request.
func (a *Action) expectation(t *target) *compute.AllocationExpectation {
	if a.Expect == nil {
		return nil
	}
	e := *a.Expect
	if len(t.Place.Partitions) > 0 {
		e.Partition = t.Place.Partitions[0]
	}
	return &e
}
