package workflow_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
)

func TestBackoffDelay(t *testing.T) {
	three, huge := 3.0, math.MaxFloat64
	for _, tt := range []struct {
		b    *Backoff
		n    int64
		want time.Duration
	}{
		{nil, 1, 0},
		{&Backoff{}, 5, 0},
		{&Backoff{Initial: "10s"}, 0, 0},
		{&Backoff{Initial: "10s"}, 1, 10 * time.Second},
		{&Backoff{Initial: "10s"}, 2, 20 * time.Second},
		{&Backoff{Initial: "PT10S", Factor: &three}, 3, 90 * time.Second},
		{&Backoff{Initial: "10s"}, 7, DefaultBackoffMax},
		{&Backoff{Initial: "10s", Max: "1h"}, math.MaxInt64, time.Hour},
		{&Backoff{Initial: "1ms", Max: "P365D", Factor: &huge}, 3, 365 * 24 * time.Hour},
		{&Backoff{Initial: "0s", Factor: &huge}, 9, 0}, // 0 × ∞
		{&Backoff{Kind: BackoffFixed, Initial: "5s"}, 9, 5 * time.Second},
		{&Backoff{Kind: BackoffLinear, Initial: "5s"}, 1, 5 * time.Second},
		{&Backoff{Kind: BackoffLinear, Initial: "5s"}, 3, 25 * time.Second},
	} {
		if got := tt.b.Delay(tt.n); got != tt.want {
			t.Errorf("%+v, retry %d: %s, not %s", tt.b, tt.n, got, tt.want)
		}
	}
}

func TestBackoffNeverShrinksNorOverflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(1, 1e6).Draw(t, "factor")
		limit := rapid.Int64Range(1, 1e6).Draw(t, "max")
		b := &Backoff{
			Kind:    rapid.SampledFrom([]BackoffKind{"", BackoffFixed, BackoffLinear, BackoffExponential}).Draw(t, "kind"),
			Initial: (time.Duration(rapid.Int64Range(0, limit).Draw(t, "initial")) * time.Second).String(),
			Max:     (time.Duration(limit) * time.Second).String(),
			Factor:  &factor,
			Jitter:  rapid.SampledFrom([]Jitter{"", JitterNone, JitterEqual, JitterFull}).Draw(t, "jitter"),
		}
		var last time.Duration
		for _, n := range []int64{1, 2, 3, 10, 100, math.MaxInt64} {
			d := b.Delay(n)
			if d < last || d > time.Duration(limit)*time.Second {
				t.Fatalf("retry %d waits %s after %s, at most %ds", n, d, last, limit)
			}
			u := UnitHash(rapid.Int64().Draw(t, "job"), 1, n)
			if u < 0 || u >= 1 {
				t.Fatalf("%g is not below 1", u)
			}
			if drawn := b.Jitter.Apply(d, u); drawn < 0 || drawn > d || b.Jitter == JitterEqual && drawn < d/2 {
				t.Fatalf("%s became %s by jitter %s", d, drawn, b.Jitter)
			}
			last = d
		}
	})
}

// Jobs that fail together come back spread over the whole delay.
func TestUnitHash(t *testing.T) {
	const jobs, slots = 10_000, 10
	var hits [slots]int
	for job := range int64(jobs) {
		hits[int(UnitHash(job, 1, 1)*slots)]++
	}
	for slot, n := range hits {
		if n < jobs/slots*8/10 || n > jobs/slots*12/10 {
			t.Errorf("%d of %d jobs in slot %d", n, jobs, slot)
		}
	}
	if UnitHash(7, 1, 2) != UnitHash(7, 1, 2) || UnitHash(7, 1, 2) == UnitHash(7, 2, 1) {
		t.Error("not a function of the attempt")
	}
}
