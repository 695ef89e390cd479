package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the program that the crash test kills, and the one that holds a database.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(runVictim(dir, os.Getenv(victimFailpoints)))
	}
	if path := os.Getenv(holdPath); path != "" {
		os.Exit(hold(path))
	}
	goleak.VerifyTestMain(m)
}
