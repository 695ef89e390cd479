package compute

import "testing"

func TestExpectedStart(t *testing.T) {
	e := &AllocationExpectation{LowS: 2, WaitS: 10, HighS: 60}
	for _, tt := range []struct {
		name   string
		state  AllocationState
		expect *AllocationExpectation
		nowMS  int64
		want   int64
	}{
		{"just requested", AllocationIntent, e, 1_000, 11_000},
		{"pending", AllocationPending, e, 10_999, 11_000},
		{"later than likely", AllocationPending, e, 11_000, 61_000},
		{"later than expected", AllocationPending, e, 61_000, 0},
		{"without a forecast", AllocationPending, nil, 1_000, 0},
		{"active", AllocationActive, e, 1_000, 0},
		{"ended", AllocationEnded, e, 1_000, 0},
	} {
		a := Allocation{State: tt.state, AskedMS: 1_000, Request: AllocationRequest{Expected: tt.expect}}
		if got := a.ExpectedStartMS(tt.nowMS); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
