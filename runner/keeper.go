package runner

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/oom"
)

// Times of the keeper.
const (
	endingTick    = 20 * time.Millisecond // while a tree is being ended
	endingTickMax = 250 * time.Millisecond
	firstSample   = 100 * time.Millisecond // age at which an attempt is first measured
	lookGap       = 250 * time.Millisecond // between two looks that only measure
	killPatience  = 10 * time.Second       // after SIGKILL; a process in the kernel's hands may not go
)

// watch is what the keeper knows of one attempt's processes.
type watch struct {
	attempt *attempt
	key     string
	pid     int
	started time.Time
	limit   int64 // of memory, in bytes; 0 for none
	// unmeasured says that the work is elsewhere; the processes are only ended.
	unmeasured bool

	overLimit bool // has been told; owned by keeper.run

	// The rest is guarded by keeper.mu.
	usage      usage
	leaderGone bool
	goneAt     uint64 // when its death was known, in ticks after boot
	end        *endOrder
}

// endOrder says how a tree is to be ended.
type endOrder struct {
	signal    unix.Signal
	signalled bool
	killAt    time.Time
}

// keeper watches the process trees of all live attempts: it measures them,
// notices those above their memory limit, and ends those that must end. One
// goroutine reads the process table, once for all of them.
type keeper struct {
	log      *slog.Logger
	tell     func(any)
	oom      *oom.Tracker
	interval time.Duration // between samples; 0 for none
	record   func(time.Time, *watch, sample)
	wake     chan struct{}

	mu      sync.Mutex
	watches map[*watch]bool
	wakeAt  time.Time // when run looks up by itself
	guardAt time.Time // when the memory of all is looked at again

	// Owned by run.
	seen   map[processID]*watch
	keys   keyCache
	looked time.Time
}

func newKeeper(log *slog.Logger, interval time.Duration, tracker *oom.Tracker, tell func(any)) *keeper {
	return &keeper{
		log: log, tell: tell, interval: interval, oom: tracker,
		wake:    make(chan struct{}, 1),
		watches: make(map[*watch]bool),
		seen:    make(map[processID]*watch),
		keys:    make(keyCache),
	}
}

// add starts watching. It is cheap: most attempts end before they are looked at.
func (k *keeper) add(w *watch) {
	now := time.Now()
	k.mu.Lock()
	k.watches[w] = true
	late := k.every(w) > 0 && now.Add(k.untilSample(w, now)).Before(k.wakeAt) ||
		k.guards(w) && k.guardAt.Before(k.wakeAt)
	k.mu.Unlock()
	if late {
		k.nudge()
	}
}

// remove ends watching and returns what was measured.
func (k *keeper) remove(w *watch) usage {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.watches, w)
	return w.usage
}

// endTree signals the attempt's processes and kills what is left after lead.
// When its leader has exited and nothing is left a goneMsg is told. A second
// call can only hasten.
func (k *keeper) endTree(w *watch, sig unix.Signal, lead time.Duration) {
	killAt := time.Now().Add(lead)
	k.mu.Lock()
	if w.end == nil {
		w.end = &endOrder{signal: sig, killAt: killAt}
	} else if killAt.Before(w.end.killAt) {
		w.end.killAt = killAt
	}
	k.watches[w] = true
	k.mu.Unlock()
	k.oom.Killing(w.key)
	k.nudge()
}

// leaderExited tells the keeper that the leader has been reaped.
func (k *keeper) leaderExited(w *watch) {
	k.mu.Lock()
	w.leaderGone, w.goneAt = true, bootTicks()+1
	ending := w.end != nil
	k.mu.Unlock()
	if ending {
		k.nudge()
	}
}

func (k *keeper) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run measures and ends until ctx is done.
func (k *keeper) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	pause := endingTick
	for {
		next, ending := k.next(pause)
		timer.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			pause = endingTick
		case <-timer.C:
			if ending {
				pause = min(2*pause, endingTickMax)
			}
		}
		now := time.Now()
		if near := k.guard(now); near || k.needed(now) {
			k.look(now, near)
			k.oom.Looked(now, time.Since(now))
		}
	}
}

// needed reports whether a look serves anybody: those who needed it when it was
// planned may have ended.
func (k *keeper) needed(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for w := range k.watches {
		if w.end != nil || k.untilSample(w, now) <= 0 && now.Sub(k.looked) >= lookGap {
			return true
		}
	}
	return false
}

// next returns when to look at the process table again.
func (k *keeper) next(pause time.Duration) (wait time.Duration, ending bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	wait = time.Hour
	soonest := k.looked.Add(lookGap).Sub(now)
	for w := range k.watches {
		if w.end != nil {
			ending = true
			wait = min(wait, pause, max(endingTick/4, w.end.killAt.Sub(now)))
			continue
		}
		wait = min(wait, max(k.untilSample(w, now), soonest))
		if k.guards(w) {
			wait = min(wait, k.guardAt.Sub(now))
		}
	}
	wait = max(0, wait)
	k.wakeAt = now.Add(wait)
	return wait, ending
}

// guards reports whether w's memory may bring that of all to its limit.
func (k *keeper) guards(w *watch) bool { return !w.unmeasured && k.oom.Limited() }

// guard looks, when that is due, how much memory is used by all. It reports whether the
// processes are to be looked at for it: the kernel may soon kill one of them.
func (k *keeper) guard(now time.Time) (near bool) {
	k.mu.Lock()
	due := k.guardAt.Compare(now) <= 0 && len(k.watches) > 0 && k.oom.Limited()
	k.mu.Unlock()
	if !due {
		return false
	}
	near, next := k.oom.Check(now)
	k.mu.Lock()
	k.guardAt = next
	k.mu.Unlock()
	return near
}

// every returns how often w is to be measured, 0 for never.
func (k *keeper) every(w *watch) time.Duration {
	if w.unmeasured {
		return 0
	}
	if w.limit > 0 && (k.interval == 0 || k.interval > limitInterval) {
		return limitInterval
	}
	return k.interval
}

// untilSample returns how long w needs no sample.
func (k *keeper) untilSample(w *watch, now time.Time) time.Duration {
	every := k.every(w)
	if every == 0 {
		return time.Hour
	}
	due := w.started.Add(min(firstSample, every))
	if w.usage.samples > 0 {
		due = w.usage.last.Add(every)
	}
	return due.Sub(now)
}

// look reads the process table once and acts on it; near says that memory is. The lock is not held while
// /proc is read: that may block.
func (k *keeper) look(now time.Time, near bool) {
	k.looked = now
	table, err := processes()
	if err != nil {
		k.log.Warn("cannot read the process table", "error", err)
		return
	}
	k.mu.Lock()
	watches := slices.Collect(maps.Keys(k.watches))
	k.mu.Unlock()
	trees := k.forest(watches).grow(table)
	k.remember(trees)
	for _, w := range watches {
		k.visit(now, w, trees[w], near)
	}
}

func (k *keeper) visit(now time.Time, w *watch, tree []*process, near bool) {
	k.mu.Lock()
	// What is due soon is measured now, so that one look serves many.
	due := !w.leaderGone && k.untilSample(w, now) <= k.every(w)/4
	k.mu.Unlock()
	if (due || near && !w.unmeasured) && len(tree) > 0 {
		k.measure(now, w, tree, due)
	}
	k.follow(w, tree)
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.end != nil {
		k.advance(now, w, tree)
	}
}

// follow has the processes followed of which the kernel may kill one.
func (k *keeper) follow(w *watch, tree []*process) {
	if w.unmeasured || len(tree) == 0 {
		return
	}
	list := make([]oom.Process, len(tree))
	for i, p := range tree {
		list[i] = oom.Process{PID: p.pid, Start: p.start, Size: p.rss}
	}
	k.oom.Follow(w.key, w.pid, list)
}

func (k *keeper) forest(watches []*watch) *forest {
	f := &forest{
		self:   os.Getpid(),
		leader: make(map[int]*watch, len(watches)),
		byKey:  make(map[string]*watch, len(watches)),
		gone:   make(map[*watch]uint64, len(watches)),
		seen:   k.seen,
		keyOf:  k.keys.of,
		known:  children.isKnown,
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range watches {
		f.byKey[w.key] = w
		if other := f.leader[w.pid]; other == nil || other.leaderGone {
			f.leader[w.pid] = w
		}
		f.gone[w] = math.MaxUint64
		if w.leaderGone {
			f.gone[w] = w.goneAt
		}
	}
	return f
}

// remember keeps whose the processes are, so that they are known when their
// parents have died.
func (k *keeper) remember(trees map[*watch][]*process) {
	seen := make(map[processID]*watch, len(k.seen))
	for w, tree := range trees {
		for _, p := range tree {
			seen[p.id()] = w
		}
	}
	k.seen = seen
}

// advance takes the next step of ending a tree.
func (k *keeper) advance(now time.Time, w *watch, tree []*process) {
	e := w.end
	switch {
	case w.leaderGone && len(tree) == 0:
		k.finish(w, 0)
	case now.Before(e.killAt):
		if !e.signalled {
			e.signalled = true
			signalTree(w.pid, tree, e.signal)
		}
	case now.Before(e.killAt.Add(killPatience)):
		e.signalled = true
		signalTree(w.pid, tree, unix.SIGKILL)
	default:
		k.finish(w, len(tree))
	}
}

func (k *keeper) finish(w *watch, left int) {
	w.end = nil
	delete(k.watches, w)
	k.tell(goneMsg{attempt: w.attempt, left: left})
}
