package process

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
)

// orphan starts a command as an attempt of a runner that has since died, of which only
// the journal is left; listed says that the start is in it.
func orphan(t *testing.T, dir, command string, listed bool) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, output.SpoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("setsid", "bash", "-c", command)
	key := "test" + strings.ReplaceAll(dir, "/", "_")
	cmd.Env = append(os.Environ(), AttemptKeyVariable+"="+key+".1", "DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := readProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { <-waited })
	text := fmt.Sprintf("%s %s %s 1 1\n", BootID(), host, key)
	if listed {
		text += journalLine(p.pid, p.start, key+".1")
	}
	if err := os.WriteFile(filepath.Join(dir, output.SpoolDir, key+output.ProcessJournalEnding), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	runnertest.Eventually(t, "signs of life", func() bool { return signs(dir) > 5 })
}

// signs returns how many signs of life the processes of a test have left.
func signs(dir string) int64 {
	info, err := os.Stat(dir + "/signs")
	if err != nil {
		return 0
	}
	return info.Size()
}

// processesIn counts the processes whose command line contains a directory. It reads the
// table many times, since some are hard to find.
func processesIn(t *testing.T, dir string) int {
	t.Helper()
	seen := make(map[int]bool)
	for range 50 {
		pids, err := listProcesses()
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err == nil && bytes.Contains(data, []byte(dir)) {
				seen[pid] = true
			}
		}
	}
	return len(seen)
}

// script writes an executable bash script and returns the command to run it.
func script(name, text string) string {
	return `printf '#!/bin/bash\n` + text + `' > $DIR/` + name + `; chmod +x $DIR/` + name + `; $DIR/` + name + ` & `
}

func TestLeftoversThatAreHardToSee(t *testing.T) {
	t.Parallel()
	const sign = `echo . >> '$DIR'/signs\n`
	for _, c := range []struct {
		name, command string
		listed        bool
	}{
		{"each starts the next and ends", script("hop", sign+`"$0" &\n`), false},
		{"each starts the next in a session of its own", script("leap", sign+`setsid "$0" &\n`), false},
		{"changes its program all the time", script("again", sign+`exec "$0"\n`), false},
		{"no environment, and its parent ends at our signal",
			`env -i bash -c "trap '' TERM; while :; do echo . >> $DIR/signs; sleep 0.01; done" & wait`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			orphan(t, dir, c.command, c.listed)
			n, err := EndLeftovers(dir, slog.New(slog.DiscardHandler))
			if n == 0 || err != nil {
				t.Errorf("ended %d, %v", n, err)
			}
			before := signs(dir)
			if left := processesIn(t, dir); left > 0 || signs(dir) != before {
				t.Errorf("%d processes are alive", left)
			}
			if left, err := output.ProcessJournals(dir); len(left) > 0 || err != nil {
				t.Errorf("journals left: %v, %v", left, err)
			}
		})
	}
}

// TestLeftoversAreWaitedFor: if another process is ending the leftovers, EndLeftovers
// returns when that is done.
func TestLeftoversAreWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan(t, dir, `exec bash -c "trap '' TERM; while :; do echo . >> $DIR/signs; sleep 0.01; done"`, true)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := EndLeftovers(dir, slog.New(slog.DiscardHandler)); err != nil {
				t.Error(err)
			}
			before := signs(dir)
			if processesIn(t, dir) > 0 || signs(dir) != before {
				t.Error("returned while a leftover is alive")
			}
		})
	}
	wg.Wait()
}

// fakeCleanup is a cleanup of a table that the test provides; every pause is a long one.
func fakeCleanup(table map[int]process) *cleanup {
	h := newCleanup()
	now := time.Unix(0, 0)
	h.prefixes = []string{"dead."}
	h.list = func() (pids []int, err error) {
		for pid := range table {
			pids = append(pids, pid)
		}
		return pids, nil
	}
	h.read = func(pid int) (process, error) {
		if p, ok := table[pid]; ok {
			return p, nil
		}
		return process{}, os.ErrNotExist
	}
	h.keyOf = func(int) (string, bool) { return "", true }
	h.signal = func(int, unix.Signal) {}
	h.now = func() time.Time { return now }
	h.pause = func(time.Duration) { now = now.Add(time.Minute) }
	return h
}

func aProcess(pid int) process {
	return process{pid: pid, ppid: 1, session: pid, group: pid, state: 'S', start: 1}
}

func TestCleanupIsNotSureOfAProcessThatChangesItsProgram(t *testing.T) {
	table := map[int]process{50: aProcess(50)}
	h := fakeCleanup(table)
	asked := 0
	h.keyOf = func(int) (string, bool) {
		if asked++; asked <= conclusiveScans*maxRounds {
			return "", false
		}
		return "dead.1", true
	}
	h.signal = func(pid int, _ unix.Signal) { delete(table, pid) }
	if n, err := h.end(); n != 1 || err != nil || len(table) > 0 {
		t.Errorf("ended %d, %v, left %v", n, err, table)
	}
}

// TestCleanupKillsHoweverSlowTheHostIs: the signals of a stage are sent even if its time
// is over as soon as it begins.
func TestCleanupKillsHoweverSlowTheHostIs(t *testing.T) {
	table := map[int]process{50: aProcess(50)}
	h := fakeCleanup(table)
	h.known[processID{50, 1}] = true
	h.signal = func(pid int, sig unix.Signal) {
		if sig == unix.SIGKILL {
			delete(table, pid)
		}
	}
	if n, err := h.end(); n != 1 || err != nil || len(table) > 0 {
		t.Errorf("ended %d, %v, left %v", n, err, table)
	}
}

func TestCleanupNamesWhatDoesNotEnd(t *testing.T) {
	h := fakeCleanup(map[int]process{50: aProcess(50), 51: aProcess(51)})
	h.known[processID{50, 1}] = true
	n, err := h.end()
	if n != 1 || err == nil || err.Error() != "processes 50 do not end" {
		t.Errorf("ended %d, %v", n, err)
	}
}

func TestCleanupDoesNotTakeAnErrorForAnEmptyTable(t *testing.T) {
	for name, fail := range map[string]func(*cleanup, error){
		"list": func(h *cleanup, err error) { h.list = func() ([]int, error) { return nil, err } },
		"read": func(h *cleanup, err error) { h.read = func(int) (process, error) { return process{}, err } },
	} {
		h := fakeCleanup(map[int]process{50: aProcess(50)})
		h.known[processID{50, 1}] = true
		fail(h, unix.EMFILE)
		if n, err := h.end(); n != 0 || !errors.Is(err, unix.EMFILE) {
			t.Errorf("%s: ended %d, %v", name, n, err)
		}
	}
}

// TestCleanupFollowsThoseThatAreBorn: a process that ends before it is read has left a
// child that is not in the list.
func TestCleanupFollowsThoseThatAreBorn(t *testing.T) {
	table := map[int]process{}
	h := fakeCleanup(table)
	lists := 0
	h.list = func() ([]int, error) {
		if lists++; lists%2 == 1 {
			table[51] = aProcess(51)
			return []int{50}, nil // it ends at once, and 51 is born
		}
		return []int{51}, nil
	}
	h.keyOf = func(int) (string, bool) { return "dead.1", true }
	found, _, err := h.scan()
	if err != nil || len(found) != 1 || found[0].pid != 51 {
		t.Errorf("found %v, %v", found, err)
	}
}
