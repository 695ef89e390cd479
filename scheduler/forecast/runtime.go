package forecast

import (
	"math"
	"slices"
	"time"
)

// Runtimes are how long finished jobs with the same requirements ran.
type Runtimes struct {
	Count                   int64 // of attempts that completed
	Median, Ninety, Longest time.Duration
}

// EnoughRuntimes is how many finished jobs it takes until their runtimes are believed.
const EnoughRuntimes = 10

// Likely returns how long a job is planned to run that may run for as long as declared:
// what nine of ten of its finished relatives needed, with a tenth more. It is rounded up to a few
// steps, so that a plan does not change with each job that ends. Until enough have finished,
// it is the declared runtime.
func (r Runtimes) Likely(declared time.Duration) time.Duration {
	if r.Count < EnoughRuntimes {
		return declared
	}
	return min(declared, roundUp(r.Ninety+r.Ninety/10))
}

// Mean returns how long such jobs run on average, by their quantiles; declared until enough
// have finished.
func (r Runtimes) Mean(declared time.Duration) time.Duration {
	if r.Count < EnoughRuntimes {
		return declared
	}
	return min(declared, (r.Median*4+r.Ninety)/5)
}

// roundUp rounds up to the next of eight steps per doubling, and to whole seconds.
func roundUp(d time.Duration) time.Duration {
	seconds := max(d.Seconds(), 1)
	step := math.Ceil(math.Log2(seconds)*8 - 1e-9)
	return time.Duration(math.Ceil(math.Exp2(step/8))) * time.Second
}

// RuntimesOf returns the quantiles of some runtimes.
func RuntimesOf(all []time.Duration) Runtimes {
	if len(all) == 0 {
		return Runtimes{}
	}
	sorted := slices.Sorted(slices.Values(all))
	at := func(q float64) time.Duration { return sorted[int(q*float64(len(sorted)-1)+0.5)] }
	return Runtimes{Count: int64(len(all)), Median: at(0.5), Ninety: at(0.9), Longest: sorted[len(sorted)-1]}
}
