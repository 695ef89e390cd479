package server

import (
	"math"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// DefaultLease is how long a runner's leases last after its latest turn, unless the
// daemon is configured otherwise; leastLease is the shortest possible setting.
const (
	DefaultLease = 60 * time.Second
	leastLease   = 4 * time.Second
)

// leases records when each of our runners sent its latest turn. It is in memory, on the
// monotonic clock: a heartbeat writes nothing, and a restart of the daemon gives every
// runner a full period.
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
	stop    bool          // it is ordered to end its jobs and deregister
	paused  *workflow.LaunchPause
	asked   int // how often Slurm was polled since it fell silent
}

func newLeases(period time.Duration) *leases {
	return &leases{period: period, runners: map[int64]*runnerLease{}}
}

// order orders a runner to stop. It returns false if the runner is unknown or was already
// ordered.
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

// Ordered reports whether a runner must stop.
func (l *leases) Ordered(runner int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runners[runner]
	return r != nil && r.stop
}

// silence returns for how long a runner has sent no turn, without limit for an unknown
// one.
func (l *leases) silence(runner int64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runners[runner]; r != nil {
		return now.Sub(r.seen)
	}
	return math.MaxInt64
}

// activeSilence is silence for a runner that is active in the database. If it is unknown,
// it has just registered: all others were adopted at the start, or have sent a turn.
func (l *leases) activeSilence(runner int64, now time.Time) time.Duration {
	silence, _ := l.silentFor(runner, now)
	return silence
}

// Renew records that a runner is alive. The channel is closed when the runner sends a
// newer turn than this one.
func (l *leases) Renew(runner, turn int64, now time.Time) (newer <-chan struct{}) {
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

// adopt gives a runner of a previous daemon a full period.
func (l *leases) adopt(runner int64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runners[runner] == nil {
		l.runners[runner] = &runnerLease{seen: now, newer: make(chan struct{})}
	}
}

// ask reports whether Slurm must be polled now about a runner that has been silent for
// this long.
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

// Forget drops a runner that has deregistered.
func (l *leases) Forget(runner int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.runners, runner)
}

// suspect records that a runner's connection broke during a turn.
func (l *leases) suspect(runner int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runners[runner]; r != nil {
		r.suspect = true
	}
}

// silent returns the runners to check, with how long they have been silent: those
// whose leases have expired and those whose connection broke.
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

// Period is how long leases last after the latest turn.
func (l *leases) Period() time.Duration { return l.period }

// any reports whether there are live runners.
func (l *leases) any() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runners) > 0
}

// Pause records whether a runner starts jobs, according to its newest turn. It reports
// whether it has just stopped starting them.
func (l *leases) Pause(runner, turn int64, why *workflow.LaunchPause) (begun bool) {
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

// overdue is the part of its period after which a runner without a turn is shown as
// silent: it normally sends several in that time.
const overdue = 2

// States returns the states of the runners that have a problem.
func (l *leases) States(now time.Time) map[int64]placement.RunnerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[int64]placement.RunnerState{}
	for id, r := range l.runners {
		state := placement.RunnerState{Paused: r.paused}
		if silence, _ := r.silent(l.period, now); silence > l.period/overdue {
			state.SilentMS = silence.Milliseconds()
		}
		if state != (placement.RunnerState{}) {
			all[id] = state
		}
	}
	return all
}
