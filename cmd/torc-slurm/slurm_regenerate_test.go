package main

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
)

// TestUnusedName: schedulers that are made within a second have names of their
// own.
func TestUnusedName(t *testing.T) {
	var known []api.SlurmScheduler
	for _, want := range []string{"debug_regen", "debug_regen_2", "debug_regen_3"} {
		got := unusedName("debug_regen", known)
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		known = append(known, api.SlurmScheduler{Name: &got})
	}
}
