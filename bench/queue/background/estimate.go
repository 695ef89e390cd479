package background

import "math/rand/v2"

// Users ask for more time than their jobs need. The part that a job uses of its time limit is
// distributed about uniformly (A. W. Mu'alem and D. G. Feitelson, "Utilization,
// predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
// backfilling", IEEE Transactions on Parallel and Distributed Systems 12(6), 2001). Users
// choose few values, and many the longest that is allowed (D. Tsafrir, Y. Etsion and
// D. G. Feitelson, "Modeling user runtime estimates", JSSPP 2005).
const (
	longestProbability = 0.1
	leastPart          = 0.05 // of the time limit that a job uses
)

// limits are the time limits that users choose, in seconds.
var limits = []int64{
	300, 600, 900, 1200, 1800, 3600, 2 * 3600, 3 * 3600, 4 * 3600, 6 * 3600, 8 * 3600, 10 * 3600, 12 * 3600, 18 * 3600,
	24 * 3600, 36 * 3600, 48 * 3600,
}

// limit draws the time limit that a user asks for.
func (s *Settings) limit(r *rand.Rand, runtime int64) int64 {
	if s.Exact {
		return min(max((runtime+59)/60*60, 60), s.MostLimit)
	}
	if r.Float64() < longestProbability {
		return s.MostLimit
	}
	part := leastPart + (1-leastPart)*r.Float64()
	asked := float64(runtime) / part
	for _, l := range limits {
		if float64(l) >= asked && l <= s.MostLimit {
			return l
		}
	}
	return s.MostLimit
}
