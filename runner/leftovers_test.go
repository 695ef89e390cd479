package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/spool"
)

// runnerProcess starts a runner in a process of its own: argv runs this test
// binary.
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

func (f *firstTurn) Turn(ctx context.Context, id int64, req *api.TurnRequest) (*api.TurnResponse, error) {
	f.once.Do(f.hook)
	return f.Daemon.Turn(ctx, id, req)
}

// TestKilledAtAStart kills a runner just before it starts a job, and just after.
// That it did is in writing, the next runner tells the daemon, and the output of
// the next try is kept apart.
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
			var first processID
			spawned := point == "runner.started"
			if spawned {
				first = pidIn(t, scratch+"/pid")
			}
			left, err := ReadSpooled(dir, "", func(*spool.Header) bool { return true })
			if err != nil || len(left) != 1 || len(left[0].Started) != 1 || left[0].Started[0].JobID != 1 || left[0].Started[0].StartedMS == 0 {
				t.Fatalf("in writing is %+v, %v", left, err)
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
			if isAlive(first) {
				t.Error("what the killed runner had started lives")
			}
			if aside, again := logText(t, dir, 1, 1, ".o.1"), logText(t, dir, 1, 1, ".o"); aside != fmt.Sprintln(first.pid) || again == aside || strings.Count(again, "\n") != 1 {
				t.Errorf("the output of the first try is %q, of the second %q", aside, again)
			}
		})
	}
}

// TestKilledRunner kills a runner the hard way; the next one ends what it left
// behind and delivers what it had not said.
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
	pid, daemon := pidIn(t, scratch+"/pid"), pidIn(t, scratch+"/daemon")
	eventually(t, "both starts are known", func() bool {
		return d.Held(1).StartedMS > 0 && d.Held(2).StartedMS > 0
	})
	d.SetDown(true)
	if err := os.WriteFile(scratch+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report is in the spool", func() bool {
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
	if !isAlive(pid) || !isAlive(daemon) {
		t.Fatal("the processes died with their runner; there is nothing to test")
	}
	o := testOptions(t, d)
	o.OutputDir = dir
	// A turn that the dead runner has sent may be heard late, so a report that
	// arrives says nothing about the next runner; its first turn does.
	alive := make(chan bool, 1)
	o.Client = &firstTurn{Daemon: d, hook: func() { alive <- isAlive(pid) || isAlive(daemon) }}
	r := start(t, o)
	if <-alive {
		t.Error("leftovers live when jobs are asked for")
	}
	eventually(t, "the report is delivered", func() bool { return len(d.Job(2).Attempts) == 1 })
	if e := d.Job(2).Attempts[0].Evidence; e.ExitCode == nil || *e.ExitCode != 6 {
		t.Errorf("evidence %+v", e)
	}
	r.Stop(StopHurry)
	r.wait(t)
	if left, _ := filepath.Glob(filepath.Join(dir, spoolDir, "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}

func TestLeftoversOfALivingRunnerAreLeftAlone(t *testing.T) {
	scratch := t.TempDir()
	d := runnertest.New(job("echo $$ > " + scratch + "/pid; exec sleep 1000"))
	o := testOptions(t, d)
	r := start(t, o)
	pid := pidIn(t, scratch+"/pid")
	eventually(t, "the start is known", func() bool { return d.Held(1).StartedMS > 0 })
	if n, err := EndLeftovers(o.OutputDir, r.log); n != 0 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
	if !isAlive(pid) {
		t.Error("the job was killed")
	}
	r.Stop(StopHurry)
	r.wait(t)
}

// TestJournal notes processes, forgets them, and is begun anew when it has grown.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, spoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(dir, 1, "host", "key", testLog())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, spoolDir, "wf1_host_key"+journalEnding)
	j.started(os.Getpid(), "key.stays")
	for j.size < journalLimit {
		j.started(os.Getpid(), "key.ends")
	}
	j.ended("key.ends")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want := journalHead("host", "key") + journalLine(p.pid, p.start, "key.stays")
	if string(data) != want {
		t.Errorf("journal is %q, want %q", data[:min(len(data), 200)], want)
	}
	j.started(os.Getpid(), "key.more")
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil || string(data) != want+journalLine(p.pid, p.start, "key.more") {
		t.Errorf("journal is %q, %v", data, err)
	}
}

func TestLeftoversNeedTheSameProcess(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, spoolDir), 0o777); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	p, err := readProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	log := testLog()
	for _, c := range []struct {
		name, boot string
		start      uint64
		want       int
	}{
		{"another start time", bootID(), p.start + 1, 0},
		{"another boot", "another", p.start, 0},
		{"the same", bootID(), p.start, 1},
	} {
		path := filepath.Join(dir, spoolDir, "x"+journalEnding)
		if err := os.WriteFile(path, []byte(c.boot+" "+host+" some 1 1\n"+journalLine(p.pid, c.start, "some.key")), 0o600); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if n, err := EndLeftovers(dir, log); n != c.want || err != nil {
			t.Errorf("%s: ended %d, %v", c.name, n, err)
		}
		if isAlive(p.id()) != (c.want == 0) {
			t.Errorf("%s: alive %v", c.name, isAlive(p.id()))
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the journal is still there", c.name)
		}
		if time.Since(began) > patience {
			t.Errorf("%s: took %s", c.name, time.Since(began))
		}
	}
}

// TestRunnersAreKilledOverAndOver: every job comes to its end, whatever happens
// to those who run it, and nothing is left behind.
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
		eventually(t, "a few jobs have ended", func() bool { return ended() >= min(n, before+5+round) })
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
	table, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for i := range table {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", table[i].pid))
		if err == nil && strings.Contains(string(data), envOutputDir+"="+dir+"\x00") {
			t.Errorf("process %d is left", table[i].pid)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, spoolDir, "*")); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
	noViolations(t, d)
}
