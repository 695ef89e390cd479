package faults

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// runner returns the process of a world's only runner.
func (w *world) runner() int {
	w.t.Helper()
	for pid, command := range w.processes() {
		if strings.Contains(command, " runner --endpoint") {
			return pid
		}
	}
	w.t.Fatal("there is no runner")
	return 0
}

func (w *world) signal(pid int, sig syscall.Signal) {
	w.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		w.t.Fatal(err)
	}
}

// TestRunnerKilled: the runner dies with its jobs; they run again elsewhere.
func TestRunnerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(4, 10, ""))
	a := w.untilRunning(id, 2)
	w.signal(w.runner(), syscall.SIGKILL)
	w.settle(id, nil)
	w.expectCause(a.ID, "failed", "FAILED")
	w.expectAttempts(id, "lost")
}

// TestRunnerStopped: a runner is stopped for longer than its lease, so its allocation is
// canceled and its jobs run elsewhere.
func TestRunnerStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(2, 30, ""))
	a := w.untilRunning(id, 2)
	w.signal(w.runner(), syscall.SIGSTOP)
	w.settle(id, nil)
	w.expectCause(a.ID, "canceled", "silent")
}

// TestRunnerContinued: a runner that is stopped for a while and continues before anybody
// considers it dead loses nothing.
func TestRunnerContinued(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t), "heartbeat_timeout_secs=600")
	id := w.submit(shape("debug", "n2", 10*time.Minute) + sweep(4, 15, ""))
	w.untilRunning(id, 2)
	pid := w.runner()
	w.signal(pid, syscall.SIGSTOP)
	stopped := time.Now()
	w.eventually(2*time.Minute, "its lease has expired", func() bool { return time.Since(stopped) > 65*time.Second })
	w.signal(pid, syscall.SIGCONT)
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestDaemonKilled kills the daemon again and again; nobody notices.
func TestDaemonKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	const kills = 20
	w.maxCalls = usualCalls + 3*kills // each daemon queries what the cluster offers
	id := w.submit(shape("debug", "n3", 10*time.Minute) + sweep(60, 2, ""))
	w.untilRunning(id, 1)
	for range kills {
		ended := w.ended()
		w.killDaemon()
		w.startDaemon()
		w.eventually(time.Minute, "jobs continue", func() bool { return w.ended() > ended })
	}
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestDaemonDown: jobs end while the daemon is down for two minutes; the runner keeps
// their reports.
func TestDaemonDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "n4", 10*time.Minute) + sweep(4, 5, ""))
	w.untilRunning(id, 2)
	w.killDaemon()
	w.waitFor(2*time.Minute, "the daemon is down")
	if w.ended() < 2 {
		t.Error("no job ended without the daemon")
	}
	w.startDaemon()
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestDaemonDownAcrossTheEnd: the allocation ends while the daemon is down.
func TestDaemonDownAcrossTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(long(2, 6, ""))
	a := w.untilRunning(id, 2)
	w.killDaemon()
	w.eventually(3*time.Minute, "the allocation ends", func() bool { return w.slurmState(a.SlurmJobID).Over() })
	w.startDaemon()
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestDaemonAndRunnerKilled: the runner dies while the daemon is down.
func TestDaemonAndRunnerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(4, 10, ""))
	a := w.untilRunning(id, 2)
	w.killDaemon()
	w.signal(w.runner(), syscall.SIGKILL)
	w.eventually(time.Minute, "the allocation ends", func() bool { return w.slurmState(a.SlurmJobID).Over() })
	w.startDaemon()
	w.settle(id, nil)
	w.expectCause(a.ID, "failed", "FAILED")
}

// ended returns how many jobs have reported their end.
func (w *world) ended() (n int) {
	for _, line := range w.lines("journal") {
		if strings.HasPrefix(line, "end ") {
			n++
		}
	}
	return n
}
