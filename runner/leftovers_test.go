package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// runnerProcess starts a runner in a process of its own: argv runs this test binary.
func runnerProcess(t testing.TB, url, dir string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "RUNNER_TEST_HELPER="+url+" "+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// firstTurn is a daemon with a hook before the first turn.
type firstTurn struct {
	*runnertest.Daemon
	once sync.Once
	hook func()
}

func (f *firstTurn) Turn(ctx context.Context, id int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	f.once.Do(f.hook)
	return f.Daemon.Turn(ctx, id, req)
}

// TestKilledAtAStart kills a runner just before it starts a job, and just after. The
// start is on disk, the next runner reports it to the daemon, and the output of the next
// attempt is kept apart.
func TestKilledAtAStart(t *testing.T) {
	for _, point := range []string{"runner.noted", "runner.started"} {
		t.Run(point, func(t *testing.T) {
			scratch := t.TempDir()
			d := runnertest.New(job("echo $$ | tee " + scratch + "/pid; [ -e " + scratch + "/go ] || exec sleep 1000"))
			dir := t.TempDir()
			t.Setenv("RUNNER_TEST_FAILPOINTS", point+"=kill")
			cmd := runnerProcess(t, serveHTTP(t, d), dir, os.Args[0], "-test.run=^$")
			if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the runner was not killed: %v", err)
			}
			if d.Held(1).StartedMS != 0 {
				t.Error("the daemon knows of the start")
			}
			var first runnertest.Process
			spawned := point == "runner.started"
			if spawned {
				first = runnertest.ProcessIn(t, scratch+"/pid")
			}
			left, err := ReadSpooled(dir, "", func(*spool.Header) bool { return true })
			if err != nil || len(left) != 1 || len(left[0].Started) != 1 || left[0].Started[0].JobID != 1 || left[0].Started[0].StartedMS == 0 {
				t.Fatalf("on disk is %+v, %v", left, err)
			}

			d.ForgetRunners()
			if err := os.WriteFile(scratch+"/go", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			o := testOptions(t, d)
			o.OutputDir = dir
			run(t, o)
			if told := d.Started(); len(told) != 1 || told[0] != left[0].Started[0] {
				t.Errorf("the daemon was told of %+v, want %+v", told, left[0].Started)
			}
			if files := spoolFiles(t, dir); len(files) != 0 {
				t.Errorf("spool files are left: %v", files)
			}
			noViolations(t, d)
			if !spawned {
				return
			}
			if first.Alive() {
				t.Error("what the killed runner had started lives")
			}
			if aside, again := logText(t, dir, 1, 1, ".o.1"), logText(t, dir, 1, 1, ".o"); aside != fmt.Sprintln(first.PID) || again == aside || strings.Count(again, "\n") != 1 {
				t.Errorf("the output of the first try is %q, of the second %q", aside, again)
			}
		})
	}
}

// TestKilledRunner kills a runner with SIGKILL; the next one ends what it left behind and
// delivers what it had not reported.
func TestKilledRunner(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	d := runnertest.New(
		job("trap '' TERM; echo $$ > "+scratch+"/pid; (setsid sleep 1000 & echo $! > "+scratch+"/daemon); while :; do sleep 0.01; done"),
		job("until [ -e "+scratch+"/go ]; do sleep 0.01; done; exit 6"),
	)
	url := serveHTTP(t, d)
	dir := t.TempDir()
	cmd := runnerProcess(t, url, dir, os.Args[0], "-test.run=^$")
	pid, daemon := runnertest.ProcessIn(t, scratch+"/pid"), runnertest.ProcessIn(t, scratch+"/daemon")
	runnertest.Eventually(t, "both starts are known", func() bool {
		return d.Held(1).StartedMS > 0 && d.Held(2).StartedMS > 0
	})
	d.SetDown(true)
	if err := os.WriteFile(scratch+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runnertest.Eventually(t, "the report is in the spool", func() bool {
		files := spoolFiles(t, dir)
		if len(files) != 1 {
			return false
		}
		c, err := spool.Read(files[0])
		return err == nil && len(c.Pending()) == 1
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	d.SetDown(false)
	if !pid.Alive() || !daemon.Alive() {
		t.Fatal("the processes died with their runner; there is nothing to test")
	}
	o := testOptions(t, d)
	o.OutputDir = dir
	// A turn of the dead runner may arrive late, so a report that arrives does not prove
	// that the next runner is running; its first turn does.
	alive := make(chan bool, 1)
	o.Client = &firstTurn{Daemon: d, hook: func() { alive <- pid.Alive() || daemon.Alive() }}
	r := start(t, o)
	if <-alive {
		t.Error("leftovers live when jobs are requested")
	}
	runnertest.Eventually(t, "the report is delivered", func() bool { return len(d.Job(2).Attempts) == 1 })
	if e := d.Job(2).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 6 {
		t.Errorf("evidence %+v", e)
	}
	r.Stop(StopKill)
	r.wait(t)
	if left, _ := filepath.Glob(filepath.Join(dir, output.SpoolDir, "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestLeftoversOfALivingRunnerAreLeftAlone(t *testing.T) {
	scratch := t.TempDir()
	d := runnertest.New(job("echo $$ > " + scratch + "/pid; exec sleep 1000"))
	o := testOptions(t, d)
	r := start(t, o)
	pid := runnertest.ProcessIn(t, scratch+"/pid")
	runnertest.Eventually(t, "the start is known", func() bool { return d.Held(1).StartedMS > 0 })
	if n, err := process.EndLeftovers(o.OutputDir, r.log); n != 0 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
	if !pid.Alive() {
		t.Error("the job was killed")
	}
	r.Stop(StopKill)
	r.wait(t)
}

// TestRunnersAreKilledOverAndOver: every job comes to its end, whatever happens to its
// runners, and nothing is left behind.
func TestRunnersAreKilledOverAndOver(t *testing.T) {
	t.Parallel()
	const n, kills = 120, 6
	var jobs []runnertest.Job
	for i := range n {
		j := job([]string{"true", "sleep 0.02", "(setsid sleep 1000 &) ; sleep 0.01", "exit 3"}[i%4])
		jobs = append(jobs, j)
	}
	d := runnertest.New(jobs...)
	url, dir := serveHTTP(t, d), t.TempDir()
	ended := func() int {
		ended := 0
		for id := range int64(n) {
			if d.Job(id + 1).Status.IsComplete() {
				ended++
			}
		}
		return ended
	}
	for round := range kills {
		cmd := runnerProcess(t, url, dir, os.Args[0], "-test.run=^$")
		before := ended()
		runnertest.Eventually(t, "a few jobs have ended", func() bool { return ended() >= min(n, before+5+round) })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		d.ForgetRunners()
	}
	o := testOptions(t, d)
	o.OutputDir = dir
	s := run(t, o)
	if ended() != n || !s.Complete || s.Undelivered != 0 {
		t.Errorf("%d of %d jobs ended, %+v", ended(), n, s)
	}
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environs {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), envOutputDir+"="+dir+"\x00") {
			t.Errorf("%s: the process is left", path)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, output.SpoolDir, "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	noViolations(t, d)
}
