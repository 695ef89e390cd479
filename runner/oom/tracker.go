// Package oom attributes OOM kills to jobs. The kernel counts them per cgroup, which many
// jobs may share, and a shell may hide that its child was killed. So a Tracker watches the
// larger processes of each job, and reads the counter when one of them ends. Attribute,
// which decides, is pure.
package oom

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Tracker watches the cgroup of this process and the processes of its jobs. It does
// nothing if no memory cgroup can be read.
type Tracker struct {
	counter counter
	watcher *watcher // nil if processes cannot be watched

	mu     sync.Mutex
	ledger *ledger
	more   sync.Cond // signaled when more is known
	check  struct {  // of the use of memory
		scanned time.Time // when processes were last scanned
		used    int64     // at that time
		cost    time.Duration
	}
}

// New returns a tracker for the first of the cgroups that can be read. foreign says that
// it may have processes other than the jobs.
func New(groups []string, foreign bool, log *slog.Logger) *Tracker {
	t := &Tracker{counter: openCounter(groups)}
	t.more.L = &t.mu
	c := &t.counter
	t.ledger = newLedger(time.Now(), c.kills(), Cgroup{Foreign: foreign, Limit: c.limit})
	if c.file == nil {
		log.Debug("no memory cgroup can be read here: OOM kills are not attributed to jobs")
		return t
	}
	var err error
	if t.watcher, err = newWatcher(t.onEnds); err != nil {
		log.Debug("OOM kills are attributed without watching processes", "error", err)
	}
	return t
}

// Close stops watching.
func (t *Tracker) Close() error {
	if t.watcher != nil {
		t.watcher.close()
	}
	t.counter.close()
	return nil
}

// active reports whether there is a counter.
func (t *Tracker) active() bool { return t.counter.file != nil }

// Start adds a job that begins, by its unique key.
func (t *Tracker) Start(key, name string) {
	if !t.active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.start(time.Now(), t.counter.kills(), key, name)
}

// Remove drops a job that has ended or was not started.
func (t *Tracker) Remove(key string) {
	if !t.active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.remove(key)
}

// MarkKilledByUs records that the runner kills the processes of a job itself.
func (t *Tracker) MarkKilledByUs(key string) {
	if !t.active() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if j := t.ledger.jobs[key]; j != nil {
		j.ours = true
	}
}

// TrackProcesses updates the processes of a job. It watches the large ones, except for the
// leader, which is our own child.
func (t *Tracker) TrackProcesses(key string, leader int, tree []Process) {
	if t.watcher == nil || len(tree) == 0 {
		return
	}
	var largest int64
	for _, p := range tree {
		largest = max(largest, p.Size)
	}
	t.mu.Lock()
	t.ledger.setSize(key, largest)
	t.mu.Unlock()
	t.watcher.follow(key, leader, tree)
}

// onEnds adds the ends that the watcher has seen.
func (t *Tracker) onEnds(batch []processEnd) {
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
	Size   int64 // bytes of its largest process; 0 if unknown
	ByUs   bool  // we have killed it
}

// killedChild is the exit code of a shell whose child was ended by SIGKILL.
const killedChild = 128 + int(unix.SIGKILL)

// Killed reports whether a SIGKILL that we did not send ended the job, or a child of its
// shell.
func (e *Exit) Killed() bool {
	return !e.ByUs && (e.Signal == int(unix.SIGKILL) || e.Signal == 0 && e.Code == killedChild)
}

// Finding is what is known about a job at its end.
type Finding struct {
	Grown  int64 // kills that the kernel counted since the job's start
	Share  Share // the job's part of them
	OnlyUs bool  // no other process is left in the cgroup
}

// Finish returns what is known about a job whose processes have ended. If there are kills
// without a victim, it waits a moment for the end of one.
func (t *Tracker) Finish(key string, e Exit) Finding {
	if !t.active() {
		return Finding{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.setSize(key, e.Size)
	if e.Killed() {
		how := Killed
		if e.Signal == 0 {
			how = ReportedByShell
		}
		t.ledger.ended(key, End{At: e.At, How: how, Size: e.Size})
		t.more.Broadcast()
	}
	t.ledger.reading(time.Now(), t.counter.kills())
	f := Finding{Grown: t.ledger.grown(key)}
	if f.Grown <= 0 {
		return Finding{}
	}
	f.Share = t.waitForShare(key)
	f.OnlyUs = t.counter.onlyUs()
	return f
}

// waitForShare returns the share of a job once nothing more is expected.
func (t *Tracker) waitForShare(key string) Share {
	for {
		share, until := t.ledger.shareOf(key)
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

// Limited reports whether there is a memory limit to Check.
func (t *Tracker) Limited() bool { return t.counter.usage != nil && t.watcher != nil }

// Check reads the use of memory. It reports whether to scan the processes, because the use
// is near the limit or has grown by much, and when to call it again. It is not safe for
// concurrent use.
func (t *Tracker) Check(now time.Time) (scan bool, next time.Time) {
	used, limit := t.counter.used(), t.counter.limit
	c := &t.check
	c.used = min(c.used, used)
	return shouldScan(used, c.used, limit, now.Sub(c.scanned), c.cost), now.Add(nextCheck(used, limit))
}

// Scanned records when the processes were scanned, and how long it took.
func (t *Tracker) Scanned(now time.Time, cost time.Duration) {
	if t.Limited() {
		t.check.scanned, t.check.cost, t.check.used = now, cost, t.counter.used()
	}
}
