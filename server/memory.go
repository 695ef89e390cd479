package server

import (
	"context"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// quietTime is how long nothing may have been answered before a daemon gives
// back memory that it does not need.
const quietTime = 3 * time.Second

// memory gives memory back to the system after bursts of requests: a daemon on
// a login node is a guest there.
type memory struct {
	answered atomic.Int64 // requests so far
}

// watch counts the requests.
func (m *memory) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer m.answered.Add(1)
		next.ServeHTTP(w, r)
	})
}

// run gives memory back whenever there were requests and are none any more.
func (m *memory) run(ctx context.Context) {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	var last, given int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := m.answered.Load()
			if now == last && now != given {
				debug.FreeOSMemory()
				given = now
			}
			last = now
		}
	}
}
