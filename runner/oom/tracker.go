// Package oom finds out whose processes the kernel kills for lack of memory. The kernel
// counts them for a cgroup, in which many jobs may live, and a shell may hide that its
// child was killed. So the larger processes of each job are followed, the counter is
// read at each of their ends, and a counter that has grown has a victim.
//
// What decides, Attribute, is pure. Tracker is what watches.
package oom

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Tracker watches the cgroup that this process lives in, and the processes of its jobs.
// Where there is no memory cgroup that can be read it does nothing.
type Tracker struct {
	counter counter
	watcher *watcher // nil if processes cannot be followed

	mu     sync.Mutex
	ledger *ledger
	more   sync.Cond // more is known
	check  struct {  // of how much memory is used
		looked time.Time // at the processes
		used   int64     // then
		cost   time.Duration
	}
}

// New makes a tracker for the first of the cgroups that can be read. foreign says that
// more may live in it than the jobs.
func New(groups []string, foreign bool, log *slog.Logger) *Tracker {
	t := &Tracker{counter: openCounter(groups)}
	t.more.L = &t.mu
	c := &t.counter
	t.ledger = newLedger(time.Now(), c.kills(), Cgroup{Foreign: foreign, Limit: c.limit})
	if c.file == nil {
		log.Debug("no memory cgroup can be read here: kills for lack of memory are not attributed")
		return t
	}
	var err error
	if t.watcher, err = newWatcher(t.ended); err != nil {
		log.Debug("kills for lack of memory are attributed without following processes", "error", err)
	}
	return t
}

// Close ends the watching.
func (t *Tracker) Close() error {
	if t.watcher != nil {
		t.watcher.close()
	}
	t.counter.close()
	return nil
}

// active reports whether there is anything to read.
func (t *Tracker) active() bool { return t.counter.file != nil }

// Start takes in that a job begins. The key tells it from all others.
func (t *Tracker) Start(key, name string) {
	if !t.active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.start(time.Now(), t.counter.kills(), key, name)
}

// Remove takes in that nothing is left of a job, or that it was not begun.
func (t *Tracker) Remove(key string) {
	if !t.active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.remove(key)
}

// Killing takes in that we kill the processes of a job ourselves.
func (t *Tracker) Killing(key string) {
	if !t.active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.ledger.jobs[key]; j != nil {
		j.ours = true
	}
}

// Follow takes in the processes of a job as they are now. Those that are large are
// followed, without the leader, which is our own child.
func (t *Tracker) Follow(key string, leader int, tree []Process) {
	if t.watcher == nil || len(tree) == 0 {
		return
	}
	var largest int64
	for _, p := range tree {
		largest = max(largest, p.Size)
	}
	t.mu.Lock()
	t.ledger.sized(key, largest)
	t.mu.Unlock()
	t.watcher.follow(key, leader, tree)
}

// ended takes in ends that the watcher saw.
func (t *Tracker) ended(batch []ended) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for i := range batch {
		if e := &batch[i]; !e.nothing {
			t.ledger.ended(e.key, End{At: now, How: e.how, Size: e.Size, Process: fmt.Sprintf("%s (pid %d)", e.name, e.PID)})
		}
	}
	t.ledger.reading(time.Now(), t.counter.kills())
	t.more.Broadcast()
}

// Exit is how the leader of a job ended, which is our own child.
type Exit struct {
	At     time.Time
	Signal int
	Code   int
	Size   int64 // bytes that its largest process had; 0 if unknown
	ByUs   bool  // we have killed it
}

// killedChild is the exit code by which a shell says that SIGKILL ended its child.
const killedChild = 128 + int(unix.SIGKILL)

// Killed reports whether a SIGKILL ended the job, or a child that its shell waited for,
// and it was not ours.
func (e *Exit) Killed() bool {
	return !e.ByUs && (e.Signal == int(unix.SIGKILL) || e.Signal == 0 && e.Code == killedChild)
}

// Finding is what is known about a job at its end.
type Finding struct {
	Grown  int64 // kills that the kernel counted in the job's life
	Share  Share // what of them is the job's
	OnlyUs bool  // nothing else is left in the cgroup
}

// Finish says what is known about a job whose processes have ended. If the counter has
// grown and nobody is known whose kill it was, it waits a moment for that.
func (t *Tracker) Finish(key string, e Exit) Finding {
	if !t.active() {
		return Finding{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.sized(key, e.Size)
	if e.Killed() {
		how := Killed
		if e.Signal == 0 {
			how = Said
		}
		t.ledger.ended(key, End{At: e.At, How: how, Size: e.Size})
		t.more.Broadcast()
	}
	t.ledger.reading(time.Now(), t.counter.kills())
	f := Finding{Grown: t.ledger.grown(key)}
	if f.Grown <= 0 {
		return Finding{}
	}
	f.Share = t.settled(key)
	f.OnlyUs = t.counter.onlyUs()
	return f
}

// settled returns the share of a job when nothing more is to be expected.
func (t *Tracker) settled(key string) Share {
	for {
		share, until := t.ledger.share(key)
		left := time.Until(until)
		if left <= 0 {
			return share
		}
		timer := time.AfterFunc(left, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.more.Broadcast()
		})
		t.more.Wait()
		timer.Stop()
	}
}

// Limited reports whether Check is of use: there is a limit that memory may
// come near to.
func (t *Tracker) Limited() bool { return t.counter.usage != nil && t.watcher != nil }

// Check reads how much memory is used. It reports whether the processes are to be
// looked at, since it is near the limit or has grown by much, and when to call it again.
// One goroutine may call it.
func (t *Tracker) Check(now time.Time) (look bool, next time.Time) {
	used, limit := t.counter.used(), t.counter.limit
	c := &t.check
	c.used = min(c.used, used)
	return worthALook(used, c.used, limit, now.Sub(c.looked), c.cost), now.Add(gap(used, limit))
}

// Scanned takes in that the processes have been looked at, and what time that took.
func (t *Tracker) Scanned(now time.Time, cost time.Duration) {
	if t.Limited() {
		t.check.looked, t.check.cost, t.check.used = now, cost, t.counter.used()
	}
}
