package server

import (
	"testing"
	"time"
)

// TestBursts: memory is given back once after a burst, and once a minute in one
// that does not end.
func TestBursts(t *testing.T) {
	now := time.UnixMilli(1_795_255_200_000)
	b := bursts{since: now}
	gaveBack := func(requests func(second int) bool, lasts time.Duration) (times int) {
		var last int64
		for second := range int(lasts.Seconds()) {
			now = now.Add(time.Second)
			if requests(second) {
				last = now.UnixNano()
			}
			if second%int(quietTime.Seconds()) == 0 && b.end(max(last, b.last), now) {
				times++
			}
		}
		return times
	}
	for _, tc := range []struct {
		name     string
		requests func(second int) bool
		want     int
	}{
		{"a burst", func(second int) bool { return second < 10 }, 1},
		{"nothing", func(int) bool { return false }, 0},
		{"two bursts", func(second int) bool { return second/20%2 == 0 && second < 60 }, 2},
		{"runners at work", func(int) bool { return true }, 5},
	} {
		if got := gaveBack(tc.requests, 5*time.Minute); got != tc.want {
			t.Errorf("%s: memory is given back %d times, want %d", tc.name, got, tc.want)
		}
	}
}
