package slurm

import "testing"

func TestParseState(t *testing.T) {
	for text, want := range map[string]State{
		"RUNNING":           Running,
		"R":                 Running,
		"CANCELLED by 1000": Cancelled,
		"CANCELLED+":        Cancelled,
		"OUT_OF_MEMORY":     OutOfMemory,
		"OOM":               OutOfMemory,
		" completing ":      Completing,
		"NODE_FAIL":         NodeFail,
		"A_STATE_OF_25.11":  "A_STATE_OF_25.11",
		"":                  "",
	} {
		if got := ParseState(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestPhases checks that each state is exactly one of pending, active and over, and that
// an unknown state is none of them.
func TestPhases(t *testing.T) {
	for _, s := range States() {
		n := 0
		for _, is := range []bool{s.Pending(), s.Active(), s.Over()} {
			if is {
				n++
			}
		}
		if n != 1 || !s.Known() {
			t.Errorf("%s is %d of pending, active and over", s, n)
		}
		if s.Ending() && !s.Active() {
			t.Errorf("%s is ending but does not hold nodes", s)
		}
	}
	for _, s := range []State{Suspended, Configuring, Completing, StageOut, Stopped, Resizing, Revoked} {
		if !s.Active() {
			t.Errorf("%s holds nodes", s)
		}
	}
	for _, s := range []State{"", "A_STATE_OF_25.11"} {
		if s.Known() || s.Pending() || s.Active() || s.Over() {
			t.Errorf("%q is known", s)
		}
	}
	if !(Record{State: Requeued}).Over() || Requeued.Over() {
		t.Error("a requeued restart is over, a requeued job is not")
	}
}
