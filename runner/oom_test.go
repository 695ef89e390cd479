package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/oom"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// memoryGroup creates a memory cgroup with a limit; it skips the test where that is not
// permitted.
func memoryGroup(t *testing.T, limit int64) string {
	t.Helper()
	for _, parent := range oom.MemoryGroups() {
		dir := filepath.Join(parent, fmt.Sprintf("runner-test-%d-%s", os.Getpid(), t.Name()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			runnertest.Eventually(t, "the cgroup is removed", func() bool { return unix.Rmdir(dir) == nil })
		})
		for _, name := range []string{"memory.limit_in_bytes", "memory.max"} {
			if os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "%d", limit), 0o644) == nil {
				return dir
			}
		}
	}
	t.Skip("no memory cgroup can be made here")
	return ""
}

// TestKernelKillsForMemory has the kernel kill a job, and a child of a job that hides it.
func TestKernelKillsForMemory(t *testing.T) {
	t.Parallel()
	group := memoryGroup(t, 160<<20)
	hidden := job(strings.TrimPrefix(hog, "exec ") + "; exit 0")
	hidden.After = []int64{1}
	d := runnertest.New(job(hog), hidden)
	runIn(t, group, d)
	e := d.Job(1).Attempts[0].Evidence
	if e.Signal != int(unix.SIGKILL) || e.OOMKills != 1 || e.OOMVictims != 1 || !e.OOMExclusive {
		t.Errorf("killed job: %+v", e)
	}
	e = d.Job(2).Attempts[0].Evidence
	if e.ExitCode == nil || *e.ExitCode != 0 || e.OOMKills != 1 || !e.OOMExclusive {
		t.Errorf("hidden kill: %+v", e)
	}
}

// TestHiddenKillBesideAnotherJob: the kernel kills a child of one job while another job
// runs beside it. The shell of the first exits with 0.
func TestHiddenKillBesideAnotherJob(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "over")
	hidden := job(strings.TrimPrefix(hog, "exec ") + "; touch " + flag + "; exit 0")
	beside := job(`until [ -e ` + flag + ` ]; do sleep 0.05; done`)
	hidden.Name, beside.Name = "hidden", "beside"
	d := runnertest.New(hidden, beside)
	runIn(t, memoryGroup(t, 160<<20), d)
	first, second := d.Job(1).Attempts[0].Evidence, d.Job(2).Attempts[0].Evidence
	if first.ExitCode == nil || *first.ExitCode != 0 || first.OOMKills != 1 || first.OOMExclusive {
		t.Fatalf("hidden kill: %+v", first)
	}
	if c := failure.Classify(first, workflow.ReturnCodes{}, nil); c.Kind != workflow.CauseOOMPartial || c.Confidence == workflow.Guess {
		t.Errorf("the job whose child was killed: %+v", c)
	}
	if c := failure.Classify(second, workflow.ReturnCodes{}, nil); c.Kind != workflow.CauseOK {
		t.Errorf("the job beside it: %+v", c)
	}
}

// runIn runs a runner in a cgroup to its end.
func runIn(t *testing.T, group string, d *runnertest.Daemon) {
	t.Helper()
	url, dir := serveHTTP(t, d), t.TempDir()
	script := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec "$0" -test.run='^$'`, group)
	cmd := runnerProcess(t, url, dir, "bash", "-c", script, os.Args[0])
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		<-done
		t.Fatal("the runner does not end")
	}
}
