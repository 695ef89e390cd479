package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// How long the site is remembered, and that it was not found: to look for it
// takes calls to Slurm. While allocations that are there are only watched, it
// hardly matters what else the cluster offers.
const (
	siteFor       = time.Hour
	siteInUseFor  = 5 * time.Minute
	siteUnseenFor = time.Minute
)

// knownSite remembers what the cluster offers.
type knownSite struct {
	find    func(ctx context.Context, anew bool) (*siteconfigs.Site, error)
	now     func() time.Time
	used    atomic.Bool                      // since the last look
	doubted atomic.Bool                      // since the last look for which all was asked
	last    atomic.Pointer[siteconfigs.Site] // that was found; nil: none

	mu     sync.Mutex
	looked time.Time // zero: never
	failed bool      // the last look
	site   *siteconfigs.Site
	err    error
}

// use says that something is wanted of the cluster: from now on what is known of
// it must be younger. It may be nil.
func (k *knownSite) use() {
	if k != nil {
		k.used.Store(true)
	}
}

// doubt says that Slurm has refused what, by the site, should have been possible:
// it is soon looked at as if nothing were remembered.
func (k *knownSite) doubt() {
	k.doubted.Store(true)
	k.use()
}

// Site returns what the cluster offers, or why that is not known.
func (k *knownSite) Site(ctx context.Context) (*siteconfigs.Site, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.looked.IsZero() && k.now().Sub(k.looked) < k.lasts() {
		return k.site, k.err
	}
	k.used.Store(false)
	anew := k.doubted.Swap(false)
	site, err := k.find(ctx, anew)
	if err != nil {
		k.doubted.Store(anew)
		if ctx.Err() != nil {
			return nil, err
		}
	}
	k.looked, k.failed = k.now(), err != nil
	if err == nil {
		k.site = site
		k.last.Store(site)
	}
	if k.err = err; k.site != nil { // what was known is better than nothing
		k.err = nil
	}
	return k.site, k.err
}

// holdLimit is how long the site lets held jobs wait. The store asks, so it asks
// nobody.
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

// lasts is how long what the last look found is to be believed.
func (k *knownSite) lasts() time.Duration {
	switch {
	case k.failed:
		return siteUnseenFor
	case k.used.Load():
		return siteInUseFor
	}
	return siteFor
}
