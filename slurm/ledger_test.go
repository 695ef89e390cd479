package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestLedger: the calls of several clients count together, and commands leave half of the
// budget to the daemon.
func TestLedger(t *testing.T) {
	now := time.Unix(1000, 0)
	o := Options{Executor: &stub{}, Budget: 4, Ledger: filepath.Join(t.TempDir(), "calls"), Now: func() time.Time { return now }}
	daemon := New(o)
	o.Modest = true
	command := func() error {
		_, err := New(o).Config(t.Context()) // each client stands for a process
		return err
	}
	for range 2 {
		if err := command(); ClassOf(err) != Unavailable { // called, and the answer is garbage
			t.Errorf("withheld too soon: %v", err)
		}
		now = now.Add(10 * time.Second)
	}
	err := command()
	if ClassOf(err) != Withheld || !strings.Contains(err.Error(), "run 2 times within a minute, and at most 2 are allowed; again in 40s") {
		t.Errorf("a third query: %v", err)
	}
	if n := daemon.Spare(); n != 0 {
		t.Errorf("the daemon has %d to spare", n)
	}
	if _, err := daemon.Config(t.Context()); ClassOf(err) != Unavailable {
		t.Errorf("a query of the daemon: %v", err)
	}
	now = now.Add(50 * time.Second)
	if err := command(); ClassOf(err) != Unavailable {
		t.Errorf("after a minute: %v", err)
	}
	now = time.Unix(0, 0)
	if err := command(); ClassOf(err) != Unavailable {
		t.Errorf("with a clock that was set back: %v", err)
	}
}

// TestLedgerThatCannotBeUsed: without a ledger a client counts its own calls.
func TestLedgerThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	broken, held := filepath.Join(dir, "broken"), filepath.Join(dir, "held")
	if err := os.WriteFile(broken, []byte("\x00\nnonsense\n99999999999999999999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(held)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none", "calls"), broken, held} {
		c := New(Options{Executor: &stub{}, Budget: 1, Ledger: path})
		if _, err := c.Config(t.Context()); ClassOf(err) != Unavailable {
			t.Errorf("%s: a query: %v", path, err)
		}
		if _, err := c.Config(t.Context()); ClassOf(err) != Withheld {
			t.Errorf("%s: a second one: %v", path, err)
		}
	}
}

// TestLedgerCountsAll: no call of simultaneous processes is lost.
func TestLedgerCountsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls")
	const clients, calls = 8, 5
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			c := New(Options{Executor: &stub{}, Ledger: path})
			for range calls {
				_, _ = c.Config(t.Context()) // it is counted, whatever it returns
			}
		})
	}
	all.Wait()
	text, err := os.ReadFile(path)
	if n := len(parseLedger(text)); err != nil || n != clients*calls {
		t.Errorf("%d calls are recorded, %v", n, err)
	}
}
