package server

import (
	"context"
	"errors"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
)

func TestTheSiteIsRemembered(t *testing.T) {
	now := time.UnixMilli(1_795_255_200_000)
	finds := 0
	fail := errors.New("no answer")
	k := &knownSite{now: func() time.Time { return now }, find: func(context.Context) (*siteconfigs.Site, error) {
		finds++
		return &siteconfigs.Site{Name: "here"}, fail
	}}
	for _, step := range []struct {
		after     time.Duration
		fail      error
		wantFinds int
		wantSite  bool
	}{
		{0, fail, 1, false},
		{noSiteFor / 2, nil, 1, false}, // that it failed is remembered for a while
		{noSiteFor, nil, 2, true},
		{siteFor / 2, nil, 2, true},
		{siteFor, errors.New("no answer"), 3, true}, // what was known still counts
	} {
		now, fail = now.Add(step.after), step.fail
		site, err := k.Site(t.Context())
		if finds != step.wantFinds || (site != nil) != step.wantSite || (err == nil) != step.wantSite {
			t.Errorf("after %s: %d looks, site %v, error %v", step.after, finds, site, err)
		}
	}
}
