package workflow

import (
	"math"
	"time"
)

// BackoffKind says how the delays of successive retries grow.
type BackoffKind string

// The kinds of backoff; the empty one means exponential.
const (
	BackoffFixed       BackoffKind = "fixed"       // initial, initial, initial
	BackoffLinear      BackoffKind = "linear"      // initial, initial + 1 × factor × initial, + 2 × …
	BackoffExponential BackoffKind = "exponential" // initial, initial × factor, initial × factor², …
)

// Jitter says how a delay is randomized, so that jobs that failed together are not
// retried together.
type Jitter string

// The kinds of jitter; the empty one means none.
const (
	JitterNone  Jitter = "none"  // the delay itself
	JitterEqual Jitter = "equal" // between half the delay and the delay
	JitterFull  Jitter = "full"  // between 0 and the delay
)

// Backoff says how long a retry waits. Durations have the form that ParseDuration
// reads.
type Backoff struct {
	// Kind says how the delays grow; exponential by default.
	Kind    BackoffKind `json:"kind,omitempty" jsonschema:"enum=fixed,enum=linear,enum=exponential"`
	Initial string      `json:"initial,omitempty"`                       // delay of the first retry; 0 by default
	Factor  *float64    `json:"factor,omitempty" jsonschema:"minimum=0"` // 2 by default
	Max     string      `json:"max,omitempty"`                           // the longest delay; 10 minutes by default
	// Jitter randomizes the delay: full between 0 and the delay, equal between half the
	// delay and the delay; none by default.
	Jitter Jitter `json:"jitter,omitempty" jsonschema:"enum=none,enum=equal,enum=full"`
}

// The defaults of a backoff.
const (
	DefaultBackoffFactor = 2.0
	DefaultBackoffMax    = 10 * time.Minute
)

// Delay returns the delay of the n-th retry, counted from 1, before jitter. It never
// overflows and never exceeds the maximum.
func (b *Backoff) Delay(n int64) time.Duration {
	if b == nil || b.Initial == "" || n < 1 {
		return 0
	}
	initial, limit, factor := durationOr(b.Initial, 0), durationOr(b.Max, DefaultBackoffMax), DefaultBackoffFactor
	if b.Factor != nil {
		factor = *b.Factor
	}
	if initial == 0 {
		return 0 // for every factor: 0 × ∞ would be NaN
	}
	delay := float64(initial)
	switch b.Kind {
	case BackoffFixed:
	case BackoffLinear:
		delay *= 1 + factor*float64(n-1)
	default:
		delay *= math.Pow(factor, float64(n-1))
	}
	if math.IsNaN(delay) || delay >= float64(limit) {
		return limit
	}
	return time.Duration(delay)
}

// durationOr reads a duration that has been validated; it returns the default if the
// text is empty or invalid.
func durationOr(text string, otherwise time.Duration) time.Duration {
	if text == "" {
		return otherwise
	}
	d, err := ParseDuration(text)
	if err != nil {
		return otherwise
	}
	return d
}

// Apply returns the randomized delay; u is a number in [0, 1), see UnitHash.
func (j Jitter) Apply(delay time.Duration, u float64) time.Duration {
	switch j {
	case JitterFull:
		return time.Duration(float64(delay) * u)
	case JitterEqual:
		half := delay / 2
		return half + time.Duration(float64(delay-half)*u)
	}
	return delay
}

// UnitHash hashes the ids of an attempt to a number in [0, 1). Similar ids get numbers
// far apart. The same ids always get the same number, so that decisions can be replayed.
func UnitHash(ids ...int64) float64 {
	var x uint64
	for _, id := range ids { // the mixing of splitmix64
		x += uint64(id) + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}

func (b *Backoff) validate(p *problems, path string) {
	if b == nil {
		return
	}
	p.oneOf(path+".kind", string(b.Kind), "", "fixed", "linear", "exponential")
	p.oneOf(path+".jitter", string(b.Jitter), "", "none", "equal", "full")
	p.duration(path+".initial", b.Initial)
	if b.Initial == "" && *b != (Backoff{}) {
		p.add(path, "write initial: 10s, or initial: 0s for no delay", "initial, the first delay, is missing")
	}
	p.duration(path+".max", b.Max)
	if b.Factor != nil && (!(*b.Factor >= 0) || math.IsInf(*b.Factor, 0)) {
		p.add(path+".factor", "write a number such as 2.0", "factor must be a number that is not negative")
	}
	if b.Kind != BackoffFixed && b.Kind != BackoffLinear && b.Factor != nil && *b.Factor < 1 {
		p.add(path+".factor", "write 1 or more", "delays must not shrink, but factor is %g", *b.Factor)
	}
	if initial, limit := durationOr(b.Initial, 0), durationOr(b.Max, DefaultBackoffMax); initial > limit {
		p.add(path+".initial", "raise max", "initial (%s) is longer than max (%s)",
			FormatDuration(initial), FormatDuration(limit))
	}
}
