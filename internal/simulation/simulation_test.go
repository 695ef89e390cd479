package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

var (
	seeds = flag.Int("seeds", 20, "how many seeds to run")
	first = flag.Uint64("seed", 1, "the first seed")
	keep  = flag.String("keep", "", "write the trace of each run into this folder")
)

func TestMain(m *testing.M) {
	flag.Parse()
	runtime.GOMAXPROCS(1) // with two threads the order of events would be a matter of luck
	os.Exit(m.Run())
}

// scratch returns a folder that needs no disk, if there is one.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "torc-simulation-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestSimulation(t *testing.T) {
	for n := range uint64(*seeds) {
		s := seed(*first + n)
		t.Run(fmt.Sprint(uint64(s)), func(t *testing.T) { simulate(t, s) })
	}
}

// TestFound runs seeds that once found an error. Each of them found it again in the
// present simulation when the error was put back.
func TestFound(t *testing.T) {
	for what, s := range map[string]seed{
		"an allocation whose sbatch answers during a poll is canceled as an abandoned one": 11,
	} {
		t.Run(what, func(t *testing.T) { simulate(t, s) })
	}
}

// replayed is the number of seeds that TestReplay runs again.
const replayed = 12

// TestReplay checks that a seed determines a run; otherwise a failing one could not be
// analyzed. Goroutines that wait for SQLite wake up in the order of the kernel, so
// occasionally a run differs: two of nine must be the same.
func TestReplay(t *testing.T) {
	const tries = 8
	for s := range seed(replayed) {
		seen := map[uint64]bool{}
		for n := 0; ; n++ {
			hash := simulate(t, s)
			if seen[hash] {
				break
			}
			if seen[hash] = true; n == tries {
				t.Errorf("seed %d gave %d different runs", s, len(seen))
				break
			}
		}
	}
}

// simulate runs one seed.
func simulate(t *testing.T, s seed) (hash uint64) {
	dir := scratch(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(s, dir)
		w.run()
		w.check()
		hash = w.hash()
		if *keep != "" {
			if err := os.WriteFile(filepath.Join(*keep, fmt.Sprintf("%d.%x.trace", s, hash)), []byte(w.trace.String()), 0o600); err != nil {
				t.Error(err)
			}
		}
		if len(w.violations) > 0 {
			t.Log("what happened:\n" + inShort(w.trace.String()))
		}
		for _, v := range w.violations {
			t.Error(v)
		}
		if len(w.violations) > 0 {
			t.Errorf("replay: go test ./internal/simulation -seeds 1 -seed %d -keep DIR", s)
		}
	})
	return hash
}

// inShort shortens the lines of a trace. Another run of the seed may differ, so the
// output of the failure has to suffice.
func inShort(trace string) string {
	const most = 240
	var b strings.Builder
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		fmt.Fprintln(&b, line[:min(len(line), most)])
	}
	return b.String()
}
