package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackWalltime(t *testing.T) {
	left := func(s int64) *int64 { return &s }
	for _, tc := range []struct {
		name      string
		remaining []*int64
		ready     []RuntimeCount
		want      WalltimePacking
	}{
		{name: "nothing"},
		{
			name: "all fits", remaining: []*int64{left(3600), left(600)}, ready: []RuntimeCount{{Seconds: 60, Jobs: 3}, {Seconds: 300, Jobs: 1}, {Jobs: 2}},
			want: WalltimePacking{
				Allocations: 2, WithWalltime: 2, ReadyJobs: 6, ReadyJobsWithRuntime: 4,
				Remaining: &SecondsSpan{2, 600, 600, 3600}, Runtime: &SecondsSpan{4, 60, 60, 300},
			},
		},
		{
			name: "too long", remaining: []*int64{left(600), left(60)}, ready: []RuntimeCount{{Seconds: 660, Jobs: 1}, {Seconds: 661, Jobs: 5}},
			want: WalltimePacking{
				Allocations: 2, WithWalltime: 2, ReadyJobs: 6, ReadyJobsWithRuntime: 6, BlockedJobs: 5, TooShortForLongest: 2,
				Remaining: &SecondsSpan{2, 60, 60, 600}, Runtime: &SecondsSpan{6, 660, 661, 661},
			},
		},
		{
			name: "one without end", remaining: []*int64{left(60), nil}, ready: []RuntimeCount{{Seconds: 7200, Jobs: 1}},
			want: WalltimePacking{
				Allocations: 2, WithWalltime: 1, Unlimited: 1, ReadyJobs: 1, ReadyJobsWithRuntime: 1,
				Remaining: &SecondsSpan{1, 60, 60, 60}, Runtime: &SecondsSpan{1, 7200, 7200, 7200},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, PackWalltime(tc.remaining, tc.ready, 60)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
