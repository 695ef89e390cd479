package server

import (
	"context"
	"sync"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
)

// How long the site is remembered, and that it was not found: to look for it
// may take calls to Slurm.
const (
	siteFor   = 5 * time.Minute
	noSiteFor = time.Minute
)

// knownSite remembers what the cluster offers.
type knownSite struct {
	find func(ctx context.Context) (*siteconfigs.Site, error)
	now  func() time.Time

	mu    sync.Mutex
	until time.Time
	site  *siteconfigs.Site
	err   error
}

// Site returns what the cluster offers, or why that is not known.
func (k *knownSite) Site(ctx context.Context) (*siteconfigs.Site, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now().Before(k.until) {
		return k.site, k.err
	}
	site, err := k.find(ctx)
	switch {
	case err == nil:
		k.site, k.err, k.until = site, nil, k.now().Add(siteFor)
	case ctx.Err() != nil:
		return nil, err
	default: // what was known is better than nothing
		k.err, k.until = err, k.now().Add(noSiteFor)
		if k.site != nil {
			k.err = nil
		}
	}
	return k.site, k.err
}
