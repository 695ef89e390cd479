// Package testsignal lets a test wait for something that a loop has done,
// instead of sleeping. A struct under test carries Signals; they do nothing
// until a test initialises them.
package testsignal

import "time"

// TB is the part of testing.TB that is needed here, so that no binary links
// the package testing.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// patience bounds a wait; a test that needs it has failed already.
const patience = 20 * time.Second

// capacity is how many values a test may leave unread.
const capacity = 100

// Signal carries values from the code under test to a test. The zero Signal is
// off: sending on it does nothing. Init must come before the code runs.
type Signal[T any] struct {
	ch chan T
}

// Init switches the signal on.
func (s *Signal[T]) Init() { s.ch = make(chan T, capacity) }

// Send passes a value to the test. It never blocks: with the buffer full the
// test has stopped reading, and the value is dropped.
func (s *Signal[T]) Send(v T) {
	if s.ch == nil {
		return
	}
	select {
	case s.ch <- v:
	default:
	}
}

// Wait returns the next value and fails the test when none comes.
func (s *Signal[T]) Wait(tb TB) T {
	tb.Helper()
	if s.ch == nil {
		tb.Fatalf("test signal was not initialised")
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-s.ch:
		return v
	case <-timer.C:
		tb.Fatalf("no test signal within %s", patience)
		panic("unreachable")
	}
}

// None fails the test if a value has come that nobody has read.
func (s *Signal[T]) None(tb TB) {
	tb.Helper()
	select {
	case v := <-s.ch:
		tb.Fatalf("unexpected test signal %v", v)
	default:
	}
}
