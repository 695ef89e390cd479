package slurmtest

import (
	"sync"
	"testing"
	"time"
)

// TestInTurn: a test that wants the cluster exclusively gets it before later ones that
// would share it with its present users.
func TestInTurn(t *testing.T) {
	state := t.TempDir()
	first := useLock(state)
	if err := first.RLock(); err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 2)
	var waiting sync.WaitGroup
	want := func(name string, get func() error, release func() error) {
		waiting.Go(func() {
			err := inTurn(t.Context(), state, func() error {
				err := get()
				order <- name
				return err
			})
			if err != nil {
				t.Error(err)
			}
			if err := release(); err != nil {
				t.Error(err)
			}
		})
	}
	alone, shared := useLock(state), useLock(state)
	want("alone", alone.Lock, alone.Unlock)
	Eventually(t, 10*time.Second, "a test waits for the cluster", func() bool {
		turn := turnLock(state)
		free, err := turn.TryLock()
		if err != nil || free {
			return turn.Unlock() != nil
		}
		return true
	})
	want("shared", shared.RLock, shared.Unlock)
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	if one, two := <-order, <-order; one != "alone" || two != "shared" {
		t.Errorf("the cluster went to %s, then to %s", one, two)
	}
}
