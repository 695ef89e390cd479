package slurmtest

import (
	"slices"
	"time"
)

// timeline is the time of the cluster and its future events.
type timeline struct {
	now     time.Time
	timers  []timer // by time, then in the order of their creation
	made    int
	effects []func()      // to be called without the lock, in order
	wake    chan struct{} // tells Live that a timer was created
}

// timer is something that happens at a time.
type timer struct {
	at   time.Time
	made int
	run  func()
}

func newTimeline(now time.Time) *timeline {
	return &timeline{now: now, wake: make(chan struct{}, 1)}
}

// after creates a timer; run is called with the lock held.
func (l *timeline) after(d time.Duration, run func()) {
	l.made++
	t := timer{at: l.now.Add(d), made: l.made, run: run}
	i, _ := slices.BinarySearchFunc(l.timers, t, func(a, b timer) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		return a.made - b.made
	})
	l.timers = slices.Insert(l.timers, i, t)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// unlocked has an effect called as soon as the lock is free.
func (l *timeline) unlocked(effect func()) {
	l.effects = append(l.effects, effect)
}

// next returns when the first timer is due; false if there is none.
func (l *timeline) next() (time.Time, bool) {
	if len(l.timers) == 0 {
		return time.Time{}, false
	}
	return l.timers[0].at, true
}

// due advances to the first timer that is due at a time, and returns what it runs.
// Without one it advances to that time and returns nil.
func (l *timeline) due(to time.Time) (run func()) {
	if at, ok := l.next(); ok && !at.After(to) {
		run, to = l.timers[0].run, at
		l.timers = l.timers[1:]
	}
	if to.After(l.now) {
		l.now = to
	}
	return run
}

// effect removes and returns the oldest effect; nil if there is none.
func (l *timeline) effect() func() {
	if len(l.effects) == 0 {
		return nil
	}
	effect := l.effects[0]
	l.effects = l.effects[1:]
	return effect
}
