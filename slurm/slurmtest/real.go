package slurmtest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// script is cluster.sh, which starts the real cluster and is documented there.
//
//go:embed cluster/cluster.sh
var script []byte

// cannotHere is the script's exit status on a machine that cannot run a cluster.
const cannotHere = 77

// TB is the part of testing.TB that is needed.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(func())
	Name() string
}

// Real is the real cluster on this machine. Its nodes n1 … n4, partitions and accounts
// are those of the fake one. Tests share it: a test that stops or kills parts that others
// need must have it alone (UseRealAlone).
type Real struct {
	State string // the cluster's state directory
}

// bringUp starts the cluster, or those parts of it that are down, and returns its state
// directory. While another process uses the cluster it starts nothing: what is down then
// is down on purpose.
var bringUp = sync.OnceValues(func() (string, error) {
	out, err := runScript("state")
	if err != nil {
		return "", err
	}
	state := strings.TrimSpace(out)
	inUse := useLock(state)
	free, err := inUse.TryLock()
	if err == nil && !free {
		return state, nil
	}
	// An error means that there is no state directory yet, or that we may not
	// write there: the script reports it.
	_, err = runScript("up")
	if free {
		err = errors.Join(err, inUse.Unlock())
	}
	return state, err
})

// useLock is held by everybody who uses the cluster, shared or exclusively.
func useLock(state string) *flock.Flock { return flock.New(filepath.Join(state, "in-use")) }

// turnLock is held while waiting for the other lock.
func turnLock(state string) *flock.Flock { return flock.New(filepath.Join(state, "turn")) }

// UseReal returns the real cluster, which it starts or repairs if needed. It skips the
// test on a machine that cannot run one.
func UseReal(t TB) *Real {
	t.Helper()
	return use(t, (*flock.Flock).TryRLockContext)
}

// UseRealAlone is UseReal for a test during which no other may use the cluster.
func UseRealAlone(t TB) *Real {
	t.Helper()
	return use(t, (*flock.Flock).TryLockContext)
}

// patience is how long a test waits for others that use the cluster; it must be shorter
// than the timeout of go test.
const patience = 8 * time.Minute

func use(t TB, lock func(*flock.Flock, context.Context, time.Duration) (bool, error)) *Real {
	t.Helper()
	state, err := bringUp()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannotHere {
		t.Skipf("cannot run a real Slurm here: %v", err)
	}
	if err != nil {
		t.Fatalf("start the real Slurm: %v", err)
	}
	inUse := useLock(state)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := inTurn(ctx, state, func() error { _, err := lock(inUse, ctx, lockPause); return err }); err != nil {
		t.Fatalf("others are using the real Slurm (%s is locked): %v", inUse.Path(), err)
	}
	t.Cleanup(func() {
		if err := inUse.Unlock(); err != nil {
			t.Logf("unlock the real Slurm: %v", err)
		}
	})
	return &Real{State: state}
}

// lockPause is the time between two attempts to get a lock.
const lockPause = 200 * time.Millisecond

// inTurn gives tests the cluster nearly in the order in which they request it. Otherwise
// a test that wants it exclusively could wait forever while others share it.
func inTurn(ctx context.Context, state string, get func() error) error {
	turn := turnLock(state)
	if _, err := turn.TryLockContext(ctx, lockPause); err != nil {
		return err
	}
	return errors.Join(get(), turn.Unlock())
}

// runScript runs a command of cluster.sh; the error contains its output.
func runScript(args ...string) (string, error) {
	cmd := exec.Command("bash", append([]string{"-s", "--"}, args...)...)
	cmd.Stdin = bytes.NewReader(script)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cluster.sh %s: %s: %w", strings.Join(args, " "), strings.TrimSpace(stderr.String()), err)
	}
	return stdout.String(), nil
}

// Config returns the path for SLURM_CONF.
func (r *Real) Config() string { return filepath.Join(r.State, "etc", "slurm.conf") }

// User returns an executor that runs commands as TestUser.
func (r *Real) User() slurm.Executor { return runAs{r, TestUser} }

// Root returns an executor that runs commands as the administrator.
func (r *Real) Root() slurm.Executor { return runAs{r, "root"} }

// runAs is an executor that changes to a user first.
type runAs struct {
	real *Real
	user string
}

func (x runAs) Run(ctx context.Context, cmd slurm.Command) (slurm.Output, error) {
	cmd.Args = append([]string{"-u", x.user, "--", cmd.Program}, cmd.Args...)
	cmd.Program = "runuser"
	cmd.Env = append(cmd.Env, "SLURM_CONF="+x.real.Config())
	if cmd.Dir == "" {
		cmd.Dir = x.real.home()
	}
	return (&slurm.OS{}).Run(ctx, cmd)
}

func (r *Real) home() string { return filepath.Join(r.State, "home", TestUser) }

// Dir creates a directory that belongs to TestUser and is removed when the test ends.
func (r *Real) Dir(t TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(r.home(), "test-")
	if err != nil {
		t.Fatalf("create a directory for the test: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	owner, err := user.Lookup(TestUser)
	if err != nil {
		t.Fatalf("look up the test's user: %v", err)
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatalf("change the owner of the test's directory: %v", err)
	}
	return dir
}

// Kill kills parts by SIGKILL: munged, mariadbd, slurmdbd, slurmctld, n1 … n4 (a node's
// slurmd). They are started again at the end of the test.
func (r *Real) Kill(t TB, parts ...string) { r.part(t, "kill", parts) }

// Stop stops parts. They are started again at the end of the test.
func (r *Real) Stop(t TB, parts ...string) { r.part(t, "stop", parts) }

// Start starts parts. A node that Slurm had marked as down returns by itself.
func (r *Real) Start(t TB, parts ...string) {
	t.Helper()
	if _, err := runScript(append([]string{"start"}, parts...)...); err != nil {
		t.Fatalf("%v", err)
	}
}

// Hide restarts nodes so that their jobs find a folder empty, as if a file system were
// not mounted there. They are restarted normally at the end of the test.
func (r *Real) Hide(t TB, folder string, nodes ...string) {
	t.Helper()
	r.Stop(t, nodes...)
	t.Cleanup(func() { // before the cleanup of Stop, which starts the nodes
		if _, err := runScript(append([]string{"stop"}, nodes...)...); err != nil {
			t.Logf("repair the cluster: %v", err)
		}
	})
	if _, err := runScript(append([]string{"hide", folder}, nodes...)...); err != nil {
		t.Fatalf("%v", err)
	}
}

func (r *Real) part(t TB, command string, parts []string) {
	t.Helper()
	if _, err := runScript(append([]string{command}, parts...)...); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if _, err := runScript(append([]string{"start"}, parts...)...); err != nil {
			t.Logf("repair the cluster: %v", err)
		}
	})
}

// CanLimitMemory reports whether jobs that use too much memory are killed, which
// needs a cgroup controller.
func (r *Real) CanLimitMemory() bool {
	_, err := os.Stat(filepath.Join(r.State, "etc", "cgroup.conf"))
	return err == nil
}

// Eventually waits until a condition holds, and fails the test if it does not hold in
// time.
func Eventually(t TB, within time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited %v in vain: %s", within, what)
			return
		case <-tick.C:
		}
	}
}
