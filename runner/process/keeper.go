package process

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
	sampleGap     = 250 * time.Millisecond // between two scans that only measure
	KillPatience  = 10 * time.Second       // after SIGKILL; a process in a system call may not end
)

// Watch is what the keeper knows of the processes of one attempt. The caller sets the
// exported fields.
type Watch struct {
	Key     string
	PID     int
	Started time.Time
	Limit   int64 // of memory, in bytes; 0 for none
	// Unmeasured says that the processes are only ended, since the work is elsewhere.
	Unmeasured bool
	// Gone is called when no process is left, or left processes could not be ended.
	Gone func(left int)
	// AboveLimit is called once, when the memory is above the limit.
	AboveLimit func(memory int64)
	// Record, if not nil, is called with each sample that was due.
	Record func(time.Time, Sample)

	overLimit bool // AboveLimit was called; owned by Keeper.Run

	// The rest is guarded by Keeper.mu.
	usage      Usage
	leaderGone bool
	goneAt     uint64 // when its end was known, in ticks after boot
	end        *endOrder
}

// endOrder says how a tree is to be ended.
type endOrder struct {
	signal   unix.Signal
	signaled bool
	killAt   time.Time
}

// Keeper watches the process trees of all live attempts: it measures them, reports those
// above their memory limit, and ends those that must end. One goroutine reads the
// process table for all of them.
type Keeper struct {
	log      *slog.Logger
	oom      *oom.Tracker
	interval time.Duration // between samples; 0 for none
	wake     chan struct{}

	mu      sync.Mutex
	watches map[*Watch]bool
	wakeAt  time.Time // when Run wakes up by itself
	guardAt time.Time // when the memory of all is checked next

	// Owned by Run.
	seen     map[processID]*Watch
	keys     keyCache
	lastScan time.Time
}

// NewKeeper returns a Keeper that measures attempts at each interval, never if it is 0.
func NewKeeper(log *slog.Logger, interval time.Duration, tracker *oom.Tracker) *Keeper {
	return &Keeper{
		log: log, interval: interval, oom: tracker,
		wake:    make(chan struct{}, 1),
		watches: make(map[*Watch]bool),
		seen:    make(map[processID]*Watch),
		keys:    make(keyCache),
	}
}

// Add starts watching. It is cheap, since most attempts end before the first scan.
func (k *Keeper) Add(w *Watch) {
	now := time.Now()
	k.mu.Lock()
	k.watches[w] = true
	late := k.every(w) > 0 && now.Add(k.untilSample(w, now)).Before(k.wakeAt) ||
		k.guardsMemory(w) && k.guardAt.Before(k.wakeAt)
	k.mu.Unlock()
	if late {
		k.wakeUp()
	}
}

// Remove stops watching and returns what was measured.
func (k *Keeper) Remove(w *Watch) Usage {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.watches, w)
	return w.usage
}

// EndTree signals the attempt's processes and kills what is left after lead. Gone is
// called when the leader has exited and nothing is left. A second call can only shorten
// the lead.
func (k *Keeper) EndTree(w *Watch, sig unix.Signal, lead time.Duration) {
	killAt := time.Now().Add(lead)
	k.mu.Lock()
	if w.end == nil {
		w.end = &endOrder{signal: sig, killAt: killAt}
	} else if killAt.Before(w.end.killAt) {
		w.end.killAt = killAt
	}
	k.watches[w] = true
	k.mu.Unlock()
	k.oom.MarkKilledByUs(w.Key)
	k.wakeUp()
}

// LeaderExited tells the keeper that the leader has been reaped.
func (k *Keeper) LeaderExited(w *Watch) {
	k.mu.Lock()
	w.leaderGone, w.goneAt = true, bootTicks()+1
	ending := w.end != nil
	k.mu.Unlock()
	if ending {
		k.wakeUp()
	}
}

func (k *Keeper) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run measures and ends until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
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
		if near := k.memoryNearLimit(now); near || k.needed(now) {
			k.scan(now, near)
			k.oom.Scanned(now, time.Since(now))
		}
	}
}

// needed reports whether a scan is needed: the attempts for which it was planned may
// have ended.
func (k *Keeper) needed(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for w := range k.watches {
		if w.end != nil || k.untilSample(w, now) <= 0 && now.Sub(k.lastScan) >= sampleGap {
			return true
		}
	}
	return false
}

// next returns when to scan the process table again.
func (k *Keeper) next(pause time.Duration) (wait time.Duration, ending bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	wait = time.Hour
	soonest := k.lastScan.Add(sampleGap).Sub(now)
	for w := range k.watches {
		if w.end != nil {
			ending = true
			wait = min(wait, pause, max(endingTick/4, w.end.killAt.Sub(now)))
			continue
		}
		wait = min(wait, max(k.untilSample(w, now), soonest))
		if k.guardsMemory(w) {
			wait = min(wait, k.guardAt.Sub(now))
		}
	}
	wait = max(0, wait)
	k.wakeAt = now.Add(wait)
	return wait, ending
}

// guardsMemory reports whether w counts towards the memory limit of all.
func (k *Keeper) guardsMemory(w *Watch) bool { return !w.Unmeasured && k.oom.Limited() }

// memoryNearLimit checks, when that is due, how much memory all attempts use. It reports
// whether the kernel may soon kill one of their processes.
func (k *Keeper) memoryNearLimit(now time.Time) (near bool) {
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

// every returns the time between samples of w, 0 for no samples.
func (k *Keeper) every(w *Watch) time.Duration {
	if w.Unmeasured {
		return 0
	}
	if w.Limit > 0 && (k.interval == 0 || k.interval > limitInterval) {
		return limitInterval
	}
	return k.interval
}

// untilSample returns the time until the next sample of w.
func (k *Keeper) untilSample(w *Watch, now time.Time) time.Duration {
	every := k.every(w)
	if every == 0 {
		return time.Hour
	}
	due := w.Started.Add(min(firstSample, every))
	if w.usage.samples > 0 {
		due = w.usage.last.Add(every)
	}
	return due.Sub(now)
}

// scan reads the process table once, and measures and ends attempts. near says that
// memory is near its limit. The lock is not held while /proc is read, which may block.
func (k *Keeper) scan(now time.Time, near bool) {
	k.lastScan = now
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

func (k *Keeper) visit(now time.Time, w *Watch, tree []*process, near bool) {
	k.mu.Lock()
	// Samples that are due soon are taken now, so that one scan serves many.
	due := !w.leaderGone && k.untilSample(w, now) <= k.every(w)/4
	k.mu.Unlock()
	if (due || near && !w.Unmeasured) && len(tree) > 0 {
		k.measure(now, w, tree, due)
	}
	k.trackForOOM(w, tree)
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.end != nil {
		k.advance(now, w, tree)
	}
}

// trackForOOM passes the processes to the tracker of OOM kills.
func (k *Keeper) trackForOOM(w *Watch, tree []*process) {
	if w.Unmeasured || len(tree) == 0 {
		return
	}
	list := make([]oom.Process, len(tree))
	for i, p := range tree {
		list[i] = oom.Process{PID: p.pid, Start: p.start, Size: p.rss}
	}
	k.oom.TrackProcesses(w.Key, w.PID, list)
}

func (k *Keeper) forest(watches []*Watch) *forest {
	f := &forest{
		self:   os.Getpid(),
		leader: make(map[int]*Watch, len(watches)),
		byKey:  make(map[string]*Watch, len(watches)),
		gone:   make(map[*Watch]uint64, len(watches)),
		seen:   k.seen,
		keyOf:  k.keys.of,
		known:  children.isKnown,
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range watches {
		f.byKey[w.Key] = w
		if other := f.leader[w.PID]; other == nil || other.leaderGone {
			f.leader[w.PID] = w
		}
		f.gone[w] = math.MaxUint64
		if w.leaderGone {
			f.gone[w] = w.goneAt
		}
	}
	return f
}

// remember stores which attempt the processes belong to, for when their parents have
// ended.
func (k *Keeper) remember(trees map[*Watch][]*process) {
	seen := make(map[processID]*Watch, len(k.seen))
	for w, tree := range trees {
		for _, p := range tree {
			seen[p.id()] = w
		}
	}
	k.seen = seen
}

// advance takes the next step of ending a tree.
func (k *Keeper) advance(now time.Time, w *Watch, tree []*process) {
	e := w.end
	switch {
	case w.leaderGone && len(tree) == 0:
		k.finish(w, 0)
	case now.Before(e.killAt):
		if !e.signaled {
			e.signaled = true
			signalTree(w.PID, tree, e.signal)
		}
	case now.Before(e.killAt.Add(KillPatience)):
		e.signaled = true
		signalTree(w.PID, tree, unix.SIGKILL)
	default:
		k.finish(w, len(tree))
	}
}

func (k *Keeper) finish(w *Watch, left int) {
	w.end = nil
	delete(k.watches, w)
	w.Gone(left)
}
