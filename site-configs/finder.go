package siteconfigs

import (
	"cmp"
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// How long cached facts are valid: without a check, and if sinfo, one call, still shows
// the same partitions and nodes.
const (
	DefaultTTL = time.Hour
	factsFor   = 12 * time.Hour
)

// Finder finds the site of this machine. Without Slurm it uses only files.
type Finder struct {
	Known []*Site // from Known, and others that the user describes
	Dir   string  // of the user's files
	Host  Host
	User  string // whose limits count

	Client *slurm.Client // nil without Slurm
	// Cluster is the name of the client's cluster, if it is known.
	Cluster string
	// CacheDir has the cached facts in a file for each cluster and host, since clusters
	// may share a home directory and host names; empty for no cache.
	CacheDir string
	TTL      time.Duration // DefaultTTL if 0
	// ForceRefresh ignores the cache, for example after Slurm has rejected something that
	// should be possible.
	ForceRefresh bool
	Now          func() time.Time
}

// Find returns the site: the described one whose detection rules match, updated from
// Slurm, or else what Slurm reports, with the user's file for that cluster. It returns
// CodeNotFound if there is none.
func (f *Finder) Find(ctx context.Context) (*Site, error) {
	if site := Recognize(f.Known, f.Host); site != nil {
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
	if site := Recognize(f.Known, host); site != nil {
		return Refresh(site, live), nil
	}
	return Override(live, f.Dir)
}

// WithoutAsking returns the site according to files and the cache, nil if they have none.
// It does not call Slurm.
func (f *Finder) WithoutAsking() *Site {
	host := f.Host
	host.Cluster = f.Cluster
	var live *Site
	if m := f.load(); m != nil {
		live = m.site()
		host.Cluster = live.Name
	}
	if site := Recognize(f.Known, host); site != nil || live == nil {
		return site
	}
	if site, err := Override(live, f.Dir); err == nil {
		return site
	}
	return live
}

// fromSlurm returns what Slurm reports. Facts are cached; sinfo shows whether they are
// still valid, and which nodes are up. If it fails, the cached facts are used.
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

// check reports whether sinfo shows the same cluster as the cached facts, and updates its
// state.
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
		Hint: "choose one of `torc-slurm hpc list`, or run it on a host with Slurm", Err: cause}
}

func (f *Finder) ttl() time.Duration { return cmp.Or(f.TTL, DefaultTTL) }
