package forecast

import (
	"testing"
	"time"
)

func TestLikelyRuntime(t *testing.T) {
	minutes := func(n int, each ...time.Duration) (all []time.Duration) {
		for range n {
			all = append(all, each...)
		}
		return all
	}
	for name, tc := range map[string]struct {
		ran         []time.Duration
		declared    time.Duration
		least, most time.Duration
	}{
		"nothing has finished":         {nil, time.Hour, time.Hour, time.Hour},
		"too few":                      {minutes(9, time.Minute), time.Hour, time.Hour, time.Hour},
		"all alike":                    {minutes(10, time.Minute), time.Hour, 66 * time.Second, 72 * time.Second},
		"never more than declared":     {minutes(50, 59*time.Minute), time.Hour, time.Hour, time.Hour},
		"one of ten is long":           {minutes(10, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, time.Minute, 30*time.Minute), time.Hour, 66 * time.Second, 72 * time.Second},
		"two of ten are long":          {minutes(10, time.Minute, time.Minute, time.Minute, time.Minute, 30*time.Minute), time.Hour, 33 * time.Minute, 36 * time.Minute},
		"instant jobs take one second": {minutes(10, 0), time.Hour, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RuntimesOf(tc.ran).Likely(tc.declared); got < tc.least || got > tc.most {
				t.Errorf("%s, want %s to %s", got, tc.least, tc.most)
			}
		})
	}
}

// TestLikelyRuntimeIsSteady: a few more seconds do not change a plan.
func TestLikelyRuntimeIsSteady(t *testing.T) {
	steps := map[time.Duration]bool{}
	for s := 60; s < 120; s++ {
		steps[Runtimes{Count: 10, Ninety: time.Duration(s) * time.Second}.Likely(time.Hour)] = true
	}
	if len(steps) > 10 {
		t.Errorf("%d different plans between one and two minutes", len(steps))
	}
}
