package hold_test

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

func TestPause(t *testing.T) {
	held := func(p hold.Pause) hold.ClaimHold {
		h, err := p.Hold()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	keeps, cancels := held(hold.Pause{By: "ann", Why: "the file server"}), held(hold.Pause{CancelPending: true})
	failures, breaker := hold.ClaimHold{Kind: hold.HoldMaxFailures}, hold.ClaimHold{Kind: hold.HoldBreaker, UntilMS: 1}
	if keeps.Reason != "paused by ann: the file server" || cancels.Reason != "paused by a user" {
		t.Errorf("%q, %q", keeps.Reason, cancels.Reason)
	}
	if p := keeps.Pause(); p == nil || p.By != "ann" || failures.Pause() != nil {
		t.Errorf("%+v", p)
	}
	for _, tc := range []struct {
		name         string
		holds        hold.ClaimHolds
		keep, paused bool
	}{
		{"nothing", nil, false, false},
		{"a pause", hold.ClaimHolds{keeps}, true, true},
		{"one that cancels", hold.ClaimHolds{cancels}, false, true},
		{"with a breaker that closes by itself", hold.ClaimHolds{breaker, keeps}, true, true},
		{"that breaker alone", hold.ClaimHolds{breaker}, false, false},
		{"with a hold that lasts", hold.ClaimHolds{keeps, failures}, false, true},
	} {
		if got := tc.holds.KeepPending(); got != tc.keep {
			t.Errorf("%s: keeps pending allocations: %v", tc.name, got)
		}
		if got := tc.holds.Paused() != nil; got != tc.paused {
			t.Errorf("%s: paused: %v", tc.name, got)
		}
	}
}
