package runner

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func spoolFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := spool.Files(filepath.Join(dir, spoolDir))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestGoesOnWhileTheDaemonIsAbsent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > "+dir+"/pid; until [ -e "+dir+"/go ]; do sleep 0.01; done; exit 5"), job("true"))
	o := testOptions(t, d)
	outage := make(chan struct{}, 1)
	o.OnEvent = func(e Event) {
		if e.Kind == EventOutage {
			outage <- struct{}{}
		}
	}
	r := start(t, o)
	pidIn(t, dir+"/pid")
	eventually(t, "the short job is done", func() bool { return d.Job(2).Status == workflow.Completed })
	d.SetDown(true)
	<-outage
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the report is in the spool", func() bool {
		files := spoolFiles(t, o.OutputDir)
		if len(files) != 1 {
			return false
		}
		c, err := spool.Read(files[0])
		return err == nil && len(c.Pending()) == 1
	})
	d.SetDown(false)
	s := r.wait(t)
	if s.Undelivered != 0 || !s.Complete {
		t.Errorf("summary %+v", s)
	}
	if a := d.Job(1).Attempts; len(a) != 1 || *a[0].Evidence.ExitCode != 5 {
		t.Errorf("attempts %+v", a)
	}
	if files := spoolFiles(t, o.OutputDir); len(files) != 0 {
		t.Errorf("spool files left: %v", files)
	}
	noViolations(t, d)
}

func TestGivesUpAndLeavesTheSpool(t *testing.T) {
	d := runnertest.New(job("true"))
	d.Welcome.WaitForHealthyMins = 0
	o := testOptions(t, d)
	o.Client = &mute{Daemon: d}
	s, err := tryRun(t, o)
	if workflow.CodeOf(err) != workflow.CodeUnavailable || s.Undelivered != 1 {
		t.Errorf("error %v, summary %+v", err, s)
	}
	if !d.Job(1).Status.IsLive() {
		t.Fatalf("job is %v", d.Job(1).Status)
	}
	// The next runner on the host delivers it.
	o.Client = d
	s = run(t, o)
	if j := d.Job(1); j.Status != workflow.Completed || len(j.Attempts) != 1 {
		t.Errorf("job %+v", j)
	}
	if s.Started != 0 {
		t.Errorf("the job ran again: %+v", s)
	}
	if files := spoolFiles(t, o.OutputDir); len(files) != 0 {
		t.Errorf("spool files left: %v", files)
	}
}

// mute is a daemon that goes away when the first report comes.
type mute struct{ *runnertest.Daemon }

func (m *mute) Turn(ctx context.Context, id int64, req *api.TurnRequest) (*api.TurnResponse, error) {
	if len(req.Reports) > 0 {
		m.SetDown(true)
		defer m.SetDown(false)
		return nil, errors.Join(runnertest.ErrDown, ctx.Err())
	}
	if req.Turn > 2 {
		return nil, runnertest.ErrDown
	}
	return m.Daemon.Turn(ctx, id, req)
}

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	var jobs []runnertest.Job
	for range 30 {
		jobs = append(jobs, job("true"))
	}
	d := runnertest.New(jobs...)
	o := testOptions(t, d)
	o.Client = &lossy{Daemon: d}
	s := run(t, o)
	if !s.Complete {
		t.Errorf("summary %+v", s)
	}
	for id := range int64(30) {
		if n := len(d.Job(id + 1).Attempts); n != 1 {
			t.Errorf("job %d has %d attempts", id+1, n)
		}
	}
	noViolations(t, d)
}

// lossy loses every third answer.
type lossy struct{ *runnertest.Daemon }

func (l *lossy) Turn(ctx context.Context, id int64, req *api.TurnRequest) (*api.TurnResponse, error) {
	resp, err := l.Daemon.Turn(ctx, id, req)
	if req.Turn%3 == 0 && req.Turn < 20 {
		return nil, runnertest.ErrDown
	}
	return resp, err
}

func TestRefusedRunnerEnds(t *testing.T) {
	t.Parallel()
	d := runnertest.New(job("true"))
	o := testOptions(t, d)
	o.Client = &stranger{Daemon: d}
	if _, err := tryRun(t, o); workflow.CodeOf(err) != workflow.CodeUnavailable {
		t.Errorf("error %v", err)
	}
}

// stranger is a daemon that does not know the runner after it registered.
type stranger struct{ *runnertest.Daemon }

func (s *stranger) Turn(ctx context.Context, _ int64, req *api.TurnRequest) (*api.TurnResponse, error) {
	return s.Daemon.Turn(ctx, 999, req)
}

// runnerProcess starts a runner in a process of its own.
func runnerProcess(t testing.TB, url, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "RUNNER_TEST_HELPER="+url+" "+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
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
	cmd := runnerProcess(t, url, dir)
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
	r := start(t, o)
	eventually(t, "the report is delivered", func() bool { return len(d.Job(2).Attempts) == 1 })
	if isAlive(pid) || isAlive(daemon) {
		t.Error("leftovers live")
	}
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
		if err := os.WriteFile(path, []byte(c.boot+" "+host+"\n"+journalLine(p.pid, c.start, "some.key")), 0o600); err != nil {
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
