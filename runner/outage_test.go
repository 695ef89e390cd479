package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func spoolFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := spool.Files(filepath.Join(dir, output.SpoolDir))
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
	runnertest.ProcessIn(t, dir+"/pid")
	runnertest.Eventually(t, "the short job has ended", func() bool { return d.Job(2).Status == workflow.Completed })
	d.SetDown(true)
	<-outage
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runnertest.Eventually(t, "the report is in the spool", func() bool {
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

// mute is a daemon that goes down when the first report arrives.
type mute struct{ *runnertest.Daemon }

func (m *mute) Turn(ctx context.Context, id int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
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

func (l *lossy) Turn(ctx context.Context, id int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
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
	if _, err := tryRun(t, o); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("error %v", err)
	}
}

// stranger is a daemon that does not know the runner after its registration.
type stranger struct{ *runnertest.Daemon }

func (s *stranger) Turn(ctx context.Context, _ int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	return s.Daemon.Turn(ctx, 999, req)
}
