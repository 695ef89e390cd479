package store

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the program that the crash test kills. It has property tests draw the same histories each time: new ones come from
// chance, and a change is not refused for a fault that it did not bring.
// -rapid.seed=0 looks for new ones.
func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(runVictim(dir, os.Getenv(victimFailpoints)))
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.seed" })
	if !chosen {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
