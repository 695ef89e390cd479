package server

import (
	"context"
	"errors"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
)

// The site that was last found counts, or else what files say; Slurm is not called.
func TestHoldLimitOfTheSite(t *testing.T) {
	held := func(name, onTimeout string) *siteconfigs.Site {
		return &siteconfigs.Site{Name: name, ClassifyTimeout: siteconfigs.ClassifyTimeout{After: 48 * time.Hour, OnTimeout: onTimeout}}
	}
	d := &Daemon{}
	want := func(of, limit string) {
		t.Helper()
		got := d.holdLimit()
		if got.Of != of || (got.Limit == nil) != (limit == "") || got.Limit != nil && got.Limit.After+string(got.Limit.OnTimeout) != limit {
			t.Errorf("limit %+v of %q, want %q of %q", got.Limit, got.Of, limit, of)
		}
	}
	want("", "")
	d.o.Site = held("files", "retry")
	want("site files", "P2Dretry")
	d.cluster = &cluster{}
	want("site files", "P2Dretry")
	d.cluster.site.last.Store(held("slurm", ""))
	want("site slurm", "P2D")
	d.cluster.site.last.Store(&siteconfigs.Site{Name: "slurm"})
	want("", "")
}

func TestTheSiteIsRemembered(t *testing.T) {
	now := time.UnixMilli(1_795_255_200_000)
	finds, news := 0, 0
	fail := errors.New("no answer")
	k := &knownSite{now: func() time.Time { return now }, find: func(_ context.Context, anew bool) (*siteconfigs.Site, error) {
		finds++
		if anew {
			news++
		}
		return &siteconfigs.Site{Name: "here"}, fail
	}}
	for _, step := range []struct {
		after     time.Duration
		inUse     bool
		fail      error
		wantFinds int
		wantSite  bool
	}{
		{0, true, fail, 1, false},
		{siteUnseenFor / 2, true, nil, 1, false}, // the failure is cached for a while
		{siteUnseenFor, false, nil, 2, true},
		{siteInUseFor / 2, true, nil, 2, true},
		{siteInUseFor, false, nil, 3, true}, // it was in use, and no longer is
		{siteInUseFor * 2, false, nil, 3, true},
		{0, true, nil, 4, true},
		{siteFor / 2, false, nil, 4, true},
		{siteFor, false, errors.New("no answer"), 5, true}, // the old facts still count
	} {
		now, fail = now.Add(step.after), step.fail
		if step.inUse {
			k.use()
		}
		site, err := k.Site(t.Context())
		if finds != step.wantFinds || (site != nil) != step.wantSite || (err == nil) != step.wantSite {
			t.Errorf("after %s: %d searches, site %v, error %v", step.after, finds, site, err)
		}
	}
	// Slurm has rejected something: everything is queried until there is an answer.
	fail = errors.New("no answer")
	for _, want := range []int{1, 2, 2} {
		if want == 1 {
			k.invalidate()
		}
		now = now.Add(siteFor)
		_, _ = k.Site(t.Context())
		if news != want {
			t.Errorf("queried everything %d times, want %d", news, want)
		}
		if want == 1 {
			fail = nil
		}
	}
}
