package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/scheduler/clusterfacts"
	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/scheduler/waits"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// outlook has the facts from which the scheduler estimates when allocations start: what Slurm
// says of its nodes, and how long earlier allocations were pending.
type outlook struct {
	source *clusterfacts.Source
	facts  func(ctx context.Context) (siteconfigs.Facts, error) // nil: no cache
	dir    string                                               // of the history; empty: in memory
	now    func() time.Time
	log    *slog.Logger

	mu       sync.Mutex
	opened   bool
	cluster  string
	reserved []slurm.NodeRecord
	history  *waits.History // nil: none yet
}

func newOutlook(c *cluster) *outlook {
	o := &outlook{facts: c.o.Facts, dir: c.o.StateDir, now: c.daemon.o.Now, log: c.daemon.o.Log}
	if o.now == nil {
		o.now = time.Now
	}
	o.source = clusterfacts.NewSource(clusterfacts.Options{Slurm: c.o.Slurm, Now: o.now, Reserved: o.reservedNodes})
	return o
}

// Cluster returns what the cluster is like. The history of the cluster is opened before.
func (o *outlook) Cluster(ctx context.Context) (*forecast.Cluster, error) {
	o.open(ctx)
	return o.source.Cluster(ctx)
}

// open opens the history when the cluster is known. Without a cache of facts there is none.
func (o *outlook) open(ctx context.Context) {
	o.mu.Lock()
	done := o.opened
	o.mu.Unlock()
	if done || o.facts == nil || o.dir == "" {
		return
	}
	facts, err := o.facts(ctx)
	if err != nil || facts.Config.Cluster == "" {
		return // tried again with the next plan
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opened, o.cluster, o.reserved = true, facts.Config.Cluster, facts.Reserved
	o.history = waits.Open(waits.Path(o.dir, facts.Config.Cluster), waits.Fingerprint(&facts), waits.Options{Log: o.log, Now: o.now})
	if why := o.history.Reason(); why != "" {
		o.log.Warn("the history of waits is not used", "reason", why)
	}
}

func (o *outlook) reservedNodes() []slurm.NodeRecord {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reserved
}

// Probe asks Slurm when it would start some allocations. What it does not answer stays unknown.
func (o *outlook) Probe(ctx context.Context, questions []scheduler.Question) {
	prober := o.source.Prober()
	for i := range questions {
		q := &questions[i]
		if _, err := prober.Probe(ctx, q.Request, q.Args); err != nil {
			o.log.Debug("Slurm does not say when it would start an allocation", "error", err)
		}
	}
}

// Probes returns the recent answers of sbatch --test-only.
func (o *outlook) Probes() []forecast.Probe { return o.source.Probes() }

// Waits returns how long earlier allocations were pending.
func (o *outlook) Waits(now time.Time) []forecast.Past {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.history == nil {
		return nil
	}
	return o.history.List(now)
}

// Waited records how long an allocation was pending.
func (o *outlook) Waited(a *compute.Allocation, p forecast.Past) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.history != nil {
		o.history.Add(waits.Key{Cluster: o.cluster, JobID: a.SlurmJobID, Restart: a.RestartCount}, p)
	}
}

// noOutlook has no facts, as the configuration of the daemon forbids to ask for them.
type noOutlook struct{}

var errNoForecast = errors.New("server.slurm.forecast is false in the configuration of the daemon")

func (noOutlook) Cluster(context.Context) (*forecast.Cluster, error) { return nil, errNoForecast }
func (noOutlook) Probe(context.Context, []scheduler.Question)        {}
func (noOutlook) Probes() []forecast.Probe                           { return nil }
func (noOutlook) Waits(time.Time) []forecast.Past                    { return nil }
func (noOutlook) Waited(*compute.Allocation, forecast.Past)          {}
