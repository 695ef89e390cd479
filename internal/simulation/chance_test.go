package simulation

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// chance decides by the seed and by what is decided, not by the order in which things are
// decided, so that a run does not depend on which goroutine asks first.
type chance struct{ *rand.Rand }

// of returns the chance for a decision.
func (s seed) of(thing ...any) chance {
	h := fnv.New64a()
	fmt.Fprintln(h, thing...)
	return chance{rand.New(rand.NewPCG(uint64(s), h.Sum64()))}
}

// seed decides everything in a run that is left to chance.
type seed uint64

// is returns true with a probability.
func (c chance) is(probability float64) bool { return c.Float64() < probability }

// between draws a duration, uniformly.
func (c chance) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.Float64()*float64(most-least))
}

// spread draws a duration; each order of magnitude is equally likely.
func (c chance) spread(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), c.Float64()))
}

// oneOf draws one of several values.
func oneOf[T any](c chance, list ...T) T { return list[c.IntN(len(list))] }
