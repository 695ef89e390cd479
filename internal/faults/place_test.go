package faults

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// commandOn returns a call of the program by the user on another login node, which has the
// same files and another name.
func (w *world) commandOn(host string, args ...string) *exec.Cmd {
	script := fmt.Sprintf(`hostname %s && exec setpriv --reuid=%d --regid=%d --clear-groups "$0" "$@"`, host, w.owner.Uid, w.owner.Gid)
	cmd := exec.Command("unshare", append([]string{"--uts", "sh", "-c", script, w.program}, args...)...)
	cmd.Dir, cmd.Env = w.dir, w.environ()
	return cmd
}

// TestSecondLoginNode: the user works on two login nodes. There is one daemon, which both
// find, and when its node is gone another one takes over.
func TestSecondLoginNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	first := w.endpoint
	known := fmt.Sprintf("it was last on %s (process %d)", first.Host, first.PID)
	out, err := w.commandOn("login2", "workflows", "list").CombinedOutput()
	if err == nil || !strings.Contains(string(out), known) {
		t.Errorf("the other login node does not say where the daemon is, which does not listen for other hosts yet: %v\n%s", err, out)
	}

	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(12, 4, ""))
	w.untilRunning(id, 2)
	out, err = w.commandOn("login2", "-f", "json", "workflows", "get", text(id)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), w.name()) {
		t.Errorf("the other login node does not find the daemon: %v\n%s", err, out)
	}
	out, err = w.commandOn("login2", "serve", "--port", "0", "--token-file", w.path("token")).CombinedOutput()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 5 || !strings.Contains(string(out), fmt.Sprintf("in use by torc-slurm on %s, pid %d", first.Host, first.PID)) {
		t.Errorf("a second daemon is not rejected: %v\n%s", err, out)
	}

	w.killDaemon() // its endpoint file stays
	out, err = w.commandOn("login2", "-f", "json", "workflows", "get", text(id)).CombinedOutput()
	if err != nil {
		t.Errorf("the other login node does not take over: %v\n%s", err, out)
	}
	w.findDaemon(func(e server.Endpoint) bool { return e.Host == "login2" })
	w.eventually(time.Minute, "it listens for other hosts", func() bool {
		e, err := w.readEndpoint()
		return err == nil && e.NodeURL != ""
	})
	if out := w.run("-f", "json", "workflows", "get", text(id)); !strings.Contains(out, w.name()) {
		t.Errorf("the first login node finds another daemon: %s", out)
	}
	w.settle(id, nil)
	w.expectOneAttempt(id)
	if e, err := w.readEndpoint(); err != nil || e.PID != w.endpoint.PID {
		t.Errorf("there is another daemon: %+v, %v; want process %d", e, err, w.endpoint.PID)
	}
}

// TestDaemonStopped: the daemon is stopped in an orderly way while jobs run, and started
// again; its runners find it.
func TestDaemonStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(6, 6, ""))
	w.untilRunning(id, 2)
	w.signal(w.daemon.Process.Pid, syscall.SIGTERM)
	if err := w.daemon.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	w.eventually(time.Minute, "jobs end", func() bool { return w.ended() >= 2 })
	w.startDaemon()
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

// TestLogout: the user submits and logs out at once.
func TestLogout(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutDaemon(t, slurmtest.UseReal(t))
	w.write("spec.yaml", "name: "+w.name()+"\n"+shape("debug", "", 10*time.Minute)+sweep(2, 5, ""), 0o644)
	terminal := w.command()
	terminal.Path, terminal.Args = "/usr/bin/script", []string{"script", "-qec", w.program + " submit --skip-checks -o out spec.yaml </dev/null", "/dev/null"}
	if out, err := terminal.CombinedOutput(); err != nil {
		t.Fatalf("submit on a terminal: %v\n%s", err, out)
	}
	w.findDaemon(func(server.Endpoint) bool { return true })
	if session, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(w.endpoint.PID), 0, 0); errno != 0 || int(session) != w.endpoint.PID {
		t.Errorf("the daemon, process %d, is in session %d (%v)", w.endpoint.PID, session, errno)
	}
	w.signal(w.endpoint.PID, syscall.SIGHUP)
	w.settle(1, nil)
	w.expectOneAttempt(1)
	w.findDaemon(func(e server.Endpoint) bool { return e.PID == w.endpoint.PID })
}

// TestDaemonInAllocation: the daemon runs in a Slurm job. Its time is over before that of
// the workflow, and Slurm starts it again.
func TestDaemonInAllocation(t *testing.T) {
	t.Parallel()
	w := newWorldWithoutDaemon(t, slurmtest.UseReal(t))
	w.run("serve", "--sbatch", "--job-name="+w.daemonJob()+" --account=research --partition=debug --mem=300M --time=2")
	w.findDaemon(func(server.Endpoint) bool { return true })
	first := w.endpoint
	if out, err := w.command("serve", "--sbatch", "--mem=300M").CombinedOutput(); err == nil || !strings.Contains(string(out), "your daemon is already running") {
		t.Errorf("a second one is requested: %v\n%s", err, out)
	}
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(40, 6, ""))
	w.untilRunning(id, 2)
	w.eventually(3*time.Minute, "the time of the daemon's job is over", func() bool { return !alive(first.PID) })
	ended := w.ended()
	w.eventually(4*time.Minute, "Slurm starts the daemon again", func() bool {
		e, err := w.readEndpoint()
		return err == nil && e.PID != first.PID
	})
	w.findDaemon(func(e server.Endpoint) bool { return e.PID != first.PID })
	w.admin("update", "JobName="+w.daemonJob(), "TimeLimit=10")
	if w.ended() == ended {
		t.Error("no job ended while there was no daemon")
	}
	w.settle(id, nil)
	w.expectOneAttempt(id)
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
