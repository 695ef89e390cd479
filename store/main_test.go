package store

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the program that the crash test kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(runVictim(dir, os.Getenv(victimFailpoints)))
	}
	goleak.VerifyTestMain(m)
}
