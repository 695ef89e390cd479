package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// How long the site is cached, and the result that there is none: finding it takes calls
// of Slurm. While the daemon only tracks existing allocations, it hardly matters what
// else the cluster offers.
const (
	siteFor       = time.Hour
	siteInUseFor  = 5 * time.Minute
	siteUnseenFor = time.Minute
)

// knownSite caches what the cluster offers.
type knownSite struct {
	find        func(ctx context.Context, anew bool) (*siteconfigs.Site, error)
	now         func() time.Time
	used        atomic.Bool                      // since the latest search
	invalidated atomic.Bool                      // since the latest search without the cache
	last        atomic.Pointer[siteconfigs.Site] // the result of that; nil for none

	mu     sync.Mutex
	found  time.Time // time of the latest search; zero for never
	failed bool      // the latest search
	site   *siteconfigs.Site
	err    error
}

// use records that a request needs the cluster: from now on the cache is valid for a
// shorter time. k may be nil.
func (k *knownSite) use() {
	if k != nil {
		k.used.Store(true)
	}
}

// invalidate records that Slurm has rejected something that the site should allow: the next
// search does not use the cache.
func (k *knownSite) invalidate() {
	k.invalidated.Store(true)
	k.use()
}

// Site returns what the cluster offers, or why that is unknown.
func (k *knownSite) Site(ctx context.Context) (*siteconfigs.Site, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.found.IsZero() && k.now().Sub(k.found) < k.lasts() {
		return k.site, k.err
	}
	k.used.Store(false)
	anew := k.invalidated.Swap(false)
	site, err := k.find(ctx, anew)
	if err != nil {
		k.invalidated.Store(anew)
		if ctx.Err() != nil {
			return nil, err
		}
	}
	k.found, k.failed = k.now(), err != nil
	if err == nil {
		k.site = site
		k.last.Store(site)
	}
	if k.err = err; k.site != nil { // old facts are better than none
		k.err = nil
	}
	return k.site, k.err
}

// holdLimit returns how long the site lets held jobs wait. The store calls it, so it uses
// only cached facts.
func (d *Daemon) holdLimit() (limit workflow.HoldLimitSource) {
	site := d.o.Site
	if d.cluster != nil && d.cluster.site.last.Load() != nil {
		site = d.cluster.site.last.Load()
	}
	if site == nil || site.ClassifyTimeout.After == 0 {
		return limit
	}
	t := site.ClassifyTimeout
	limit.Limit = &workflow.HoldLimit{After: workflow.FormatRuntime(int64(t.After.Seconds())), OnTimeout: workflow.Action(t.OnTimeout)}
	limit.Of = "site " + site.Name
	return limit
}

// lasts returns how long the result of the latest search is used.
func (k *knownSite) lasts() time.Duration {
	switch {
	case k.failed:
		return siteUnseenFor
	case k.used.Load():
		return siteInUseFor
	}
	return siteFor
}
