package store

import (
	"flag"
	"os"
	"os/exec"
	"testing"
)

var (
	asNetwork = flag.Bool("network", false, "run as on a network file system")
	inMemory  = flag.Bool("memory", false, "run with databases in memory")
)

// TestBasicsElsewhere runs the tests of nouns, definitions and turns once again, with
// everything going through one connection.
func TestBasicsElsewhere(t *testing.T) {
	if *asNetwork || *inMemory || testing.Short() {
		t.Skip("it is one of these tests itself")
	}
	for _, where := range []string{"-network", "-memory"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], where, "-test.timeout=20m", //nolint:gosec // this program
			"-test.run=Life|Turn|Lost|Report|Create|Update|Delete|Spawn|Reset|Client|Claim|Facts|Relations|Page|Event|Initialize|Definition|Summary")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", where, err, out)
		}
	}
}
