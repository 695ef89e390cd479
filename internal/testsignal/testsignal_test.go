package testsignal_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/torc-slurm/torc-slurm/internal/testsignal"
)

func TestZeroSignalIsOff(t *testing.T) {
	var s testsignal.Signal[int]
	s.Send(1)
	s.None(t)
}

func TestWaitInOrder(t *testing.T) {
	var s testsignal.Signal[int]
	s.Init()
	go func() {
		s.Send(1)
		s.Send(2)
	}()
	if a, b := s.Wait(t), s.Wait(t); a != 1 || b != 2 {
		t.Errorf("got %d, %d", a, b)
	}
	s.None(t)
}

func TestSendNeverBlocks(t *testing.T) {
	var s testsignal.Signal[int]
	s.Init()
	for i := range 1000 {
		s.Send(i)
	}
	if got := s.Wait(t); got != 0 {
		t.Errorf("first value is %d", got)
	}
}

// fakeTB records a fatal failure instead of ending the test.
type fakeTB struct{ message string }

func (f *fakeTB) Helper() {}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	panic(f)
}

// failure returns the message with which fn fails.
func failure(fn func(tb testsignal.TB)) (message string) {
	tb := new(fakeTB)
	defer func() {
		_ = recover()
		message = tb.message
	}()
	fn(tb)
	return
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s testsignal.Signal[string]
		wait := func(tb testsignal.TB) { s.Wait(tb) }
		if got := failure(wait); got != "test signal was not initialised" {
			t.Errorf("wait on an off signal: %q", got)
		}
		s.Init()
		if got := failure(wait); got != "no test signal within 20s" {
			t.Errorf("wait for nothing: %q", got)
		}
		s.Send("x")
		if got := failure(func(tb testsignal.TB) { s.None(tb) }); got != "unexpected test signal x" {
			t.Errorf("none: %q", got)
		}
	})
}
