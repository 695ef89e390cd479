package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/torc-slurm/torc-slurm/store"
)

// idle detects when the daemon is no longer needed.
type idle struct {
	store   *store.Store
	leases  *leases
	timeout time.Duration
	log     *slog.Logger

	open atomic.Int64 // admitted requests in progress
	last atomic.Int64 // when the latest one ended, in ns since the epoch

	mu   sync.Mutex // held to start a request, and to decide to stop
	left bool       // the daemon is stopping: it answers no more requests
}

// newIdle returns an idle whose timeout starts now.
func newIdle(st *store.Store, l *leases, timeout time.Duration, log *slog.Logger) *idle {
	i := &idle{store: st, leases: l, timeout: timeout, log: log}
	i.last.Store(time.Now().UnixNano())
	return i
}

// begin counts an authorized request until end; others do not keep the daemon running. It
// returns false if the daemon has decided to stop: then the request gets no answer, as if
// it came after that, and its client starts another daemon.
func (i *idle) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.left {
		i.open.Add(1)
	}
	return !i.left
}

func (i *idle) end() {
	i.last.Store(time.Now().UnixNano())
	i.open.Add(-1)
}

// leave decides whether to stop: not while a request is in progress, or if one has ended
// within the timeout.
func (i *idle) leave(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.left = i.open.Load() == 0 && now.Sub(time.Unix(0, i.last.Load())) >= i.timeout
	return i.left
}

// wait returns true when the daemon was not needed for the timeout, and false when ctx
// ends.
func (i *idle) wait(ctx context.Context) bool {
	tick := time.NewTicker(max(i.timeout/10, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case now := <-tick.C:
			if i.needed(ctx) {
				i.last.Store(now.UnixNano())
			} else if i.leave(now) {
				return true
			}
		}
	}
}

func (i *idle) needed(ctx context.Context) bool {
	if i.open.Load() > 0 || i.leases.any() {
		return true
	}
	open, err := i.store.Workflows.HaveOpenWork(ctx)
	if err != nil && ctx.Err() == nil {
		i.log.Error("cannot tell whether the daemon is needed", "error", err)
	}
	return err != nil || open
}

// A daemon releases unneeded memory when no request has ended for quietTime. The requests
// of busy runners never cease: then it does so every busyTime.
const (
	quietTime = 3 * time.Second
	busyTime  = time.Minute
)

// giveBackMemory returns memory to the system after each burst of requests, and regularly
// during a long one: a daemon on a login node is a guest there.
func (i *idle) giveBackMemory(ctx context.Context) {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	bursts := bursts{since: time.Now()}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if !bursts.end(i.last.Load(), now) {
				continue
			}
			if err := i.store.GiveBackMemory(ctx); err != nil && ctx.Err() == nil {
				i.log.Warn("cannot release memory", "error", err)
			}
			debug.FreeOSMemory()
		}
	}
}

// bursts detects the ends of bursts of requests.
type bursts struct {
	last  int64     // when a request ended, at the previous call of end
	ended int64     // the last of the burst that has ended
	since time.Time // since when there is another
}

// end reports whether a burst has ended, or has lasted long enough. last is when the
// latest request ended.
func (b *bursts) end(last int64, now time.Time) bool {
	quiet := last == b.last
	b.last = last
	switch {
	case last == b.ended:
		b.since = now
		return false
	case !quiet && now.Sub(b.since) < busyTime:
		return false
	}
	b.ended, b.since = last, now
	return true
}
