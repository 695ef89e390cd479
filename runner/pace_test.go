package runner

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	for _, c := range []struct {
		name  string
		runs  []time.Duration
		slots int64
		want  int64
	}{
		{"nothing known", nil, 2, 0},
		{"too little known", []time.Duration{1, 1, 1}, 2, 0},
		{"long jobs", []time.Duration{time.Second, time.Second, time.Second, time.Second}, 8, 0},
		{"short jobs", []time.Duration{5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond, 5 * time.Millisecond}, 2, 40},
		{"very short jobs", []time.Duration{0, 0, 0, 0}, 2, 2 * maxAhead},
		{"many slots", []time.Duration{0, 0, 0, 0}, 500, maxAheadTotal},
		{"a long one among short ones", []time.Duration{1, 1, 1, 1, time.Minute}, 8, 0},
	} {
		var p pace
		for _, d := range c.runs {
			p.ended(d)
		}
		if got := p.ahead(c.slots); got != c.want {
			t.Errorf("%s: %d ahead, want %d", c.name, got, c.want)
		}
	}
}
