package placement

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestMargins(t *testing.T) {
	m := Margins{Startup: time.Minute, Grace: 2 * time.Minute}
	for _, tc := range []struct {
		work, walltime, usable time.Duration
	}{
		{0, time.Minute, 51 * time.Second},
		{51 * time.Second, time.Minute, 51 * time.Second},
		{52 * time.Second, 2 * time.Minute, 102 * time.Second},
		{time.Minute, 2 * time.Minute, 102 * time.Second},
		{time.Hour, 63 * time.Minute, time.Hour},
		{time.Hour + time.Second, 64 * time.Minute, 61 * time.Minute},
		{48 * time.Hour, 48*time.Hour + 3*time.Minute, 48 * time.Hour},
	} {
		got := m.Walltime(tc.work)
		if got != tc.walltime || m.Usable(got) != tc.usable {
			t.Errorf("%s of work: walltime %s with %s usable, want %s with %s", tc.work, got, m.Usable(got), tc.walltime, tc.usable)
		}
	}
}

// TestWalltimeIsEnoughAndNoMore checks that the work fits in the walltime, and would not
// fit in a minute less.
func TestWalltimeIsEnoughAndNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "seconds")) * time.Second
		})
		m := Margins{Startup: second.Draw(t, "startup"), Grace: second.Draw(t, "grace")}
		work := max(second.Draw(t, "work"), time.Second)
		w := m.Walltime(work)
		if w%time.Minute != 0 || m.Usable(w) < work || m.Usable(w-time.Minute) >= work {
			t.Errorf("%+v: walltime %s for %s of work, usable %s", m, w, work, m.Usable(w))
		}
	})
}

// TestMarginsOf checks that the values of a user apply, including 0, and that no number
// overflows.
func TestMarginsOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    *workflow.ExecutionConfig
		want time.Duration
	}{
		{"no config", nil, 90 * time.Second},
		{"an empty config", &workflow.ExecutionConfig{}, 90 * time.Second},
		{"lead", &workflow.ExecutionConfig{SigtermLeadSecs: new(int64(300))}, 360 * time.Second},
		{"headroom", &workflow.ExecutionConfig{SigkillHeadroomSecs: new(int64(0))}, 30 * time.Second},
		{"negative", &workflow.ExecutionConfig{SigtermLeadSecs: new(int64(-5)), SigkillHeadroomSecs: new(int64(7))}, 7 * time.Second},
		{"far too much", &workflow.ExecutionConfig{SigtermLeadSecs: new(int64(1 << 62)), SigkillHeadroomSecs: new(int64(0))}, 100 * 365 * 24 * time.Hour},
	} {
		if got := MarginsOf(tc.c); got != (Margins{Startup: time.Minute, Grace: tc.want}) {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

// TestAJobOfTheWholeWalltimeStarts checks that a job as long as the whole allocation
// starts in a fresh one, even some time after its start, but not much later.
func TestAJobOfTheWholeWalltimeStarts(t *testing.T) {
	m := MarginsOf(nil)
	for _, tc := range []struct {
		runtime, walltime, elapsed time.Duration
		want                       bool
	}{
		{time.Hour, time.Hour, 0, true},
		{time.Hour, time.Hour, 20 * time.Second, true},
		{time.Hour, time.Hour, 5 * time.Minute, true},
		{time.Hour, time.Hour, 5*time.Minute + time.Second, false},
		{time.Hour + time.Second, time.Hour, 0, false},
		{59 * time.Minute, time.Hour, time.Minute, true},
		{50 * time.Minute, time.Hour, 6 * time.Minute, true},  // the margins leave enough time
		{53 * time.Minute, time.Hour, 6 * time.Minute, false}, // they do not
		{time.Minute, time.Minute, 10 * time.Second, true},
		{time.Minute, time.Minute, 20 * time.Second, false},
		{30 * 24 * time.Hour, 30 * 24 * time.Hour, 4 * time.Minute, true},
	} {
		left := tc.walltime - tc.elapsed
		usable := int64((left - m.Within(tc.walltime).Grace) / time.Second)
		p := NewPacker(Offer{
			Nodes: []FreeNode{{CPUs: 1}}, Slots: 1, TimeLeftSeconds: &usable, WholeSeconds: int64(WholeRuntime(tc.walltime, left) / time.Second),
		})
		if got, why := p.Fits(Class{CPUs: 1, RuntimeSeconds: int64(tc.runtime / time.Second)}); got != tc.want {
			t.Errorf("%+v: %t, %s", tc, got, why)
		}
	}
}
