package oom

import "time"

// How often the use of memory is checked. Processes do not fill it faster than fillRate.
const (
	fillRate    = 4 << 30 // bytes per second
	quickestGap = 20 * time.Millisecond
	slowestGap  = time.Second
	costFactor  = 20 // scans use at most one part in so many of a CPU
)

// nearLimit returns the use of memory from which on the kernel may soon kill.
func nearLimit(limit int64) int64 { return limit - limit/5 }

// largeGrowth returns the growth of memory use that causes a scan.
func largeGrowth(limit int64) int64 { return limit / 8 }

// nextCheck returns how long it takes to fill memory, within limits.
func nextCheck(used, limit int64) time.Duration {
	free := max(0, limit-used)
	return min(max(time.Duration(float64(free)/fillRate*float64(time.Second)), quickestGap), slowestGap)
}

// shouldScan reports whether to scan the processes: memory is near its limit, or its use
// has grown by much since the last scan. That was since ago, took cost, and found the
// use was.
func shouldScan(used, was, limit int64, since, cost time.Duration) bool {
	if since < max(nextCheck(used, limit), costFactor*cost) {
		return false
	}
	return used >= nearLimit(limit) || used-was >= largeGrowth(limit)
}
