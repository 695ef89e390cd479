package oom

import "time"

// How often memory is looked at. Nothing fills it faster than fillRate.
const (
	fillRate    = 4 << 30 // bytes per second
	quickestGap = 20 * time.Millisecond
	slowestGap  = time.Second
	costFactor  = 20 // at most one part in so many of a CPU is spent on looking
)

// nearly is the amount of memory from which on the kernel may soon kill.
func nearly(limit int64) int64 { return limit - limit/5 }

// much is by how much memory grows before it is worth a look whose it is.
func much(limit int64) int64 { return limit / 8 }

// gap is how long memory needs to be filled, within bounds.
func gap(used, limit int64) time.Duration {
	free := max(0, limit-used)
	return min(max(time.Duration(float64(free)/fillRate*float64(time.Second)), quickestGap), slowestGap)
}

// worthALook reports whether the processes are to be looked at: memory is near its
// limit, or has grown by much since the last look, which used as much as was, a time of
// since ago, and took the time cost.
func worthALook(used, was, limit int64, since, cost time.Duration) bool {
	if since < max(gap(used, limit), costFactor*cost) {
		return false
	}
	return used >= nearly(limit) || used-was >= much(limit)
}
