package siteconfigs

import (
	"cmp"
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// How long what a cluster said of itself is taken for true: without asking, and if
// sinfo, which is one call, still shows the same partitions and nodes.
const (
	DefaultTTL = time.Hour
	factsFor   = 12 * time.Hour
)

// Finder tells which site this machine belongs to, and what it offers. Without
// Slurm it knows only what files say.
type Finder struct {
	Known []*Site // from Known, and others that the user describes
	Dir   string  // of the user's files
	Host  Host
	User  string // whose limits count

	Client *slurm.Client // nil: nobody to ask
	// Cluster is the name of the client's cluster, if that is known without asking.
	Cluster string
	// CacheDir keeps what the cluster said, a file for each cluster and host, as a
	// home may be that of several clusters, each with a host of the same name;
	// nothing is kept if it is empty.
	CacheDir string
	TTL      time.Duration // DefaultTTL if 0
	// ForceRefresh has the cluster asked for everything, whatever is remembered: Slurm has
	// refused something that should have been possible.
	ForceRefresh bool
	Now          func() time.Time
}

// Find returns the site. It is the described one that the machine is
// recognised as, with Slurm's news, or else what Slurm says, with the user's
// file for a cluster of that name on top. That there is none is an error with
// CodeNotFound.
func (f *Finder) Find(ctx context.Context) (*Site, error) {
	if site := Recognise(f.Known, f.Host); site != nil {
		if live, err := f.fromSlurm(ctx); err == nil {
			site = Refresh(site, live)
		} else if ctx.Err() != nil {
			return nil, err
		}
		return site, nil
	}
	live, err := f.fromSlurm(ctx)
	if err != nil {
		return nil, err
	}
	host := f.Host
	host.Cluster = live.Name
	if site := Recognise(f.Known, host); site != nil {
		return Refresh(site, live), nil
	}
	return Override(live, f.Dir)
}

// WithoutAsking returns the site as far as files and the cache know it, nil if they do
// not. Nobody is asked.
func (f *Finder) WithoutAsking() *Site {
	host := f.Host
	host.Cluster = f.Cluster
	var live *Site
	if m := f.load(); m != nil {
		live = m.site()
		host.Cluster = live.Name
	}
	if site := Recognise(f.Known, host); site != nil || live == nil {
		return site
	}
	if site, err := Override(live, f.Dir); err == nil {
		return site
	}
	return live
}

// fromSlurm returns what the cluster says of itself. Facts that hardly ever change
// are remembered; sinfo tells whether they may have, and what of the cluster is up. If
// it does not answer, what it said last is better than nothing.
func (f *Finder) fromSlurm(ctx context.Context) (*Site, error) {
	if f.Client == nil {
		return nil, unknownSite(nil)
	}
	m := f.load()
	known := m != nil && !f.ForceRefresh
	if known && f.age(m.CheckedAt) < f.ttl() {
		return m.site(), nil
	}
	if known && f.age(m.AskedAt) < factsFor {
		same, err := f.check(ctx, m)
		if same || err != nil && ctx.Err() == nil {
			return m.site(), nil
		}
	}
	facts, err := f.query(ctx)
	if err != nil {
		if m != nil && ctx.Err() == nil {
			return m.site(), nil
		}
		return nil, unknownSite(err)
	}
	return FromFacts(facts), nil
}

// check asks sinfo whether the cluster is what it was, and takes from it what is up.
func (f *Finder) check(ctx context.Context, m *cachedFacts) (same bool, err error) {
	nodes, err := f.Client.Nodes(ctx)
	if err != nil || !m.Facts.sameCluster(nodes) {
		return false, err
	}
	m.Facts.update(nodes)
	m.CheckedAt = f.Now()
	f.save(m)
	return true, nil
}

func unknownSite(cause error) error {
	return &workflow.Error{Code: workflow.CodeNotFound, Message: "no HPC profile specified and no system detected",
		Hint: "name one of `torc-slurm hpc list`, or go to a host with Slurm", Err: cause}
}

func (f *Finder) ttl() time.Duration { return cmp.Or(f.TTL, DefaultTTL) }
