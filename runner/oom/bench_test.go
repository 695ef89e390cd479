package oom

import (
	"log/slog"
	"strconv"
	"testing"
	"time"
)

// BenchmarkAttempt measures the cost of an attempt whose processes are not watched.
func BenchmarkAttempt(b *testing.B) {
	tracker := New(MemoryGroups(), true, slog.New(slog.DiscardHandler))
	defer tracker.Close()
	if !tracker.active() {
		b.Skip("there is no memory cgroup here")
	}
	for i := range b.N {
		key := strconv.Itoa(i)
		tracker.Start(key, "job")
		tracker.Finish(key, Exit{At: time.Now()})
		tracker.Remove(key)
	}
}

// BenchmarkCounter measures one reading.
func BenchmarkCounter(b *testing.B) {
	c := openCounter(MemoryGroups())
	defer c.close()
	for range b.N {
		c.kills()
	}
}
