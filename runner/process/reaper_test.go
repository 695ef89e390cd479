package process

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/runnertest"
)

func acquireReaper(t testing.TB) {
	t.Helper()
	if err := children.acquire(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(children.release)
}

// startShell starts sh -c in its own session.
func startShell(command string, exited func(Exit)) (int, error) {
	return children.start([]string{"/bin/sh", "-c", command}, &syscall.ProcAttr{
		Env: []string{"PATH=/usr/bin:/bin"}, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{0, 1, 2},
	}, exited)
}

// TestNoExitStatusIsLost waits for many processes from several goroutines, while some of
// them leave strays and other code waits for children of its own.
func TestNoExitStatusIsLost(t *testing.T) {
	t.Parallel()
	acquireReaper(t)
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	var next, wrong atomic.Int64
	var workers, exits sync.WaitGroup
	exits.Add(n)
	for range 4 {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				want := int(i % 200)
				command := fmt.Sprintf("exit %d", want)
				if i%20 == 0 { // a stray that dies as our child
					command = "(true &) ; " + command
				}
				_, err := startShell(command, func(e Exit) {
					if e.Code != want || e.Signal != 0 {
						wrong.Add(1)
					}
					exits.Done()
				})
				if err != nil {
					t.Errorf("start: %v", err)
					exits.Done()
				}
			}
		})
	}
	workers.Go(func() {
		for i := range n / 50 {
			var exit *exec.ExitError
			err := exec.Command("/bin/sh", "-c", fmt.Sprintf("exit %d", i%100+1)).Run()
			if !errors.As(err, &exit) || exit.ExitCode() != i%100+1 {
				t.Errorf("os/exec: %v", err)
			}
		}
	})
	workers.Wait()
	exits.Wait()
	if wrong.Load() != 0 {
		t.Errorf("%d wrong exit statuses", wrong.Load())
	}
}

// TestForeignChildDoesNotBlock leaves a dead child of other code unreaped.
func TestForeignChildDoesNotBlock(t *testing.T) {
	acquireReaper(t)
	cmd := exec.Command("/bin/sh", "-c", "exit 7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	runnertest.Eventually(t, "the foreign child is dead", func() bool {
		p, err := readProcess(cmd.Process.Pid)
		return err == nil && p.dead()
	})
	ended := make(chan Exit, 1)
	if _, err := startShell("exit 3", func(e Exit) { ended <- e }); err != nil {
		t.Fatal(err)
	}
	if e := <-ended; e.Code != 3 {
		t.Errorf("exit %+v", e)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("foreign child: %v", err)
	}
}

func TestStraysAreReaped(t *testing.T) {
	acquireReaper(t)
	dir := t.TempDir()
	ended := make(chan Exit, 1)
	_, err := startShell("(sleep 0.05 & echo $! > "+dir+"/pid)", func(e Exit) { ended <- e })
	if err != nil {
		t.Fatal(err)
	}
	if e := <-ended; !e.Remains {
		t.Error("the group has members left, which is not reported")
	}
	id := runnertest.ProcessIn(t, dir+"/pid")
	runnertest.Eventually(t, "the stray is reaped", func() bool {
		p, err := readProcess(id.PID)
		return err != nil || strconv.FormatUint(p.start, 10) != id.Start
	})
}

func TestSignalGroupNeedsAKnownLeader(t *testing.T) {
	acquireReaper(t)
	ended := make(chan Exit, 1)
	pid, err := startShell("sleep 1000", func(e Exit) { ended <- e })
	if err != nil {
		t.Fatal(err)
	}
	children.signalGroup(pid+1_000_000, unix.SIGKILL) // does not exist
	children.signalGroup(pid, unix.SIGTERM)
	if e := <-ended; e.Signal != int(unix.SIGTERM) {
		t.Errorf("exit %+v", e)
	}
}

func TestParseStat(t *testing.T) {
	p, err := parseStat([]byte("42 (a) b (c) S 1 42 40 0 -1 4194304 100 0 0 0 7 3 2 1 20 0 1 0 12345 1000000 25 18446744073709551615"))
	if err != nil {
		t.Fatal(err)
	}
	want := process{pid: 42, ppid: 1, group: 42, session: 40, state: 'S', start: 12345, cpu: 13 * tick, rss: 25 * pageSize}
	if p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	for _, bad := range []string{"", "42", "42 (x", "42 (x)", "x"} {
		if p, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}
