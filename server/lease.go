package server

import (
	"math"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// DefaultLease is how long a runner's leases last after its latest turn, unless
// the daemon is told otherwise; leastLease is the shortest that it may be told.
const (
	DefaultLease = 60 * time.Second
	leastLease   = 4 * time.Second
)

// turnsPerLease is how many turns a runner makes during a lease at least.
const turnsPerLease = 4

// leases knows when each runner of ours made its latest turn. It lives in
// memory, on the monotonic clock: a heartbeat writes nothing, and a restart of
// the daemon gives every runner a full period.
type leases struct {
	period  time.Duration
	mu      sync.Mutex
	runners map[int64]*runnerLease
}

type runnerLease struct {
	seen    time.Time // with a monotonic reading
	turn    int64
	newer   chan struct{} // closed when a newer turn arrives
	suspect bool          // its connection broke during a turn
	stop    bool          // it is to end what it runs and leave
	paused  *workflow.LaunchPause
	asked   int // since it fell silent, Slurm was asked so often what became of it
}

func newLeases(period time.Duration) *leases {
	return &leases{period: period, runners: map[int64]*runnerLease{}}
}

// order has a runner stop; false if it is not known or has been told.
func (l *leases) order(runner int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runners[runner]
	if r == nil || r.stop {
		return false
	}
	r.stop = true
	return true
}

// ordered reports whether a runner is to stop.
func (l *leases) ordered(runner int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runners[runner]
	return r != nil && r.stop
}

// silence is for how long a runner has made no turn. One that nobody knows has
// been silent for ever.
func (l *leases) silence(runner int64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runners[runner]; r != nil {
		return now.Sub(r.seen)
	}
	return math.MaxInt64
}

// renew notes that a runner is alive. The channel is closed when the runner
// makes a newer turn than this one.
func (l *leases) renew(runner, turn int64, now time.Time) (newer <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runners[runner]
	if r == nil {
		r = &runnerLease{newer: make(chan struct{}), turn: turn}
		l.runners[runner] = r
	}
	if turn > r.turn {
		close(r.newer)
		r.newer, r.turn = make(chan struct{}), turn
	}
	r.seen, r.suspect, r.asked = now, false, 0
	return r.newer
}

// adopt gives a runner that a former daemon knew a full period.
func (l *leases) adopt(runner int64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runners[runner] == nil {
		l.runners[runner] = &runnerLease{seen: now, newer: make(chan struct{})}
	}
}

// ask reports whether Slurm is to be asked now about a runner that has been
// silent for so long.
func (l *leases) ask(runner int64, silence time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runners[runner]
	if r == nil {
		return false
	}
	due := 0
	for due < len(askAfter) && silence >= askAfter[due] {
		due++
	}
	if r.asked >= due {
		return false
	}
	r.asked = due
	return true
}

// forget ends the account of a runner that has left.
func (l *leases) forget(runner int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runners, runner)
}

// doubt notes that a runner's connection broke during a turn.
func (l *leases) doubt(runner int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runners[runner]; r != nil {
		r.suspect = true
	}
}

// silent returns the runners that are to be looked at, with how long they have
// been silent: those whose leases are over and those whose connection broke.
func (l *leases) silent(now time.Time) map[int64]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[int64]time.Duration{}
	for id, r := range l.runners {
		if silence, isSilent := r.silent(l.period, now); isSilent {
			all[id] = silence
		}
	}
	return all
}

// silentFor is silent for one runner.
func (l *leases) silentFor(runner int64, now time.Time) (silence time.Duration, isSilent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runners[runner]; r != nil {
		return r.silent(l.period, now)
	}
	return 0, false
}

func (r *runnerLease) silent(period time.Duration, now time.Time) (silence time.Duration, isSilent bool) {
	silence = now.Sub(r.seen)
	return silence, r.suspect || silence > period
}

// any reports whether there are live runners.
func (l *leases) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runners) > 0
}

// pause notes whether a runner starts jobs, as its newest turn says. It reports
// whether it has just begun to start none.
func (l *leases) pause(runner, turn int64, why *workflow.LaunchPause) (begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runners[runner]
	if r == nil || turn < r.turn {
		return false
	}
	begun = why != nil && (r.paused == nil || r.paused.SinceMS != why.SinceMS)
	r.paused = why
	return begun
}

// overdue is the part of its period after which a runner that has made no turn is
// called silent: it makes several in that time.
const overdue = 2

// states are what is the matter with runners, of those with which something is.
func (l *leases) states(now time.Time) map[int64]workflow.RunnerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[int64]workflow.RunnerState{}
	for id, r := range l.runners {
		state := workflow.RunnerState{Paused: r.paused}
		if silence, _ := r.silent(l.period, now); silence > l.period/overdue {
			state.SilentMS = silence.Milliseconds()
		}
		if state != (workflow.RunnerState{}) {
			all[id] = state
		}
	}
	return all
}
