package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func ptr[T any](v T) *T { return &v }

// quick has jobs killed after a short lead.
func quick(d *runnertest.Daemon, leadSeconds int64) {
	d.Welcome.ExecutionConfig = &workflow.ExecutionConfig{SigtermLeadSecs: &leadSeconds}
}

func TestStopCancelGivesJobsAGrace(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("trap 'echo bye; exit 0' TERM; echo $$ > " + dir + "/pid; while :; do sleep 0.01; done"))
	o := testOptions(t, d)
	r := start(t, o)
	pid := runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopCancel)
	r.wait(t)
	if pid.Alive() {
		t.Error("the job lives")
	}
	if out := logText(t, o.OutputDir, 1, 1, ".o"); out != "bye\n" {
		t.Errorf("output %q", out)
	}
	j := d.Job(1)
	if e := j.Attempts[0].Evidence; e.KilledBy != workflow.KilledByDrain || e.ExitCode == nil || *e.ExitCode != 0 {
		t.Errorf("evidence %+v", e)
	}
	if j.Status != workflow.Ready {
		t.Errorf("job is %v", j.Status)
	}
	noViolations(t, d)
}

func TestStopCancelKillsWhatIgnoresTheSignal(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("trap '' TERM; echo $$ > " + dir + "/pid; while :; do sleep 0.01; done"))
	quick(d, 0)
	r := start(t, testOptions(t, d))
	pid := runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopCancel)
	r.wait(t)
	if pid.Alive() {
		t.Error("the job lives")
	}
	if e := d.Job(1).Attempts[0].Evidence; e.Signal != int(unix.SIGKILL) || e.KilledBy != workflow.KilledByDrain {
		t.Errorf("evidence %+v", e)
	}
}

func TestStopKillOvertakes(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("trap '' TERM; echo $$ > " + dir + "/pid; while :; do sleep 0.01; done"))
	quick(d, 3600)
	r := start(t, testOptions(t, d))
	runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopCancel)
	r.Stop(StopKill)
	if s := r.wait(t); s.Duration > patience {
		t.Errorf("took %s", s.Duration)
	}
}

func TestStopDrainLetsJobsEnd(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > "+dir+"/pid; until [ -e "+dir+"/go ]; do sleep 0.01; done"),
		runnertest.Job{Grant: lease.Grant{Command: "true"}, After: []int64{1}})
	r := start(t, testOptions(t, d))
	runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopDrain)
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	if a, b := d.Job(1), d.Job(2); a.Status != workflow.Completed || b.Status != workflow.Ready {
		t.Errorf("jobs are %v and %v", a.Status, b.Status)
	}
}

// eager is an executor whose processes end before their start is known.
type eager struct {
	*process.Spawner
	stopped chan struct{}
}

func (e *eager) Start(c *process.Command, exited func(process.Exit)) (int, error) {
	ended := make(chan process.Exit, 1)
	pid, err := e.Spawner.Start(c, func(x process.Exit) { ended <- x })
	if err != nil {
		return 0, err
	}
	exited(<-ended)
	<-e.stopped
	return pid, nil
}

func TestStopWhileAJobStarts(t *testing.T) {
	d := runnertest.New(job("true"))
	o := testOptions(t, d)
	real, err := process.NewSpawner(testLog())
	if err != nil {
		t.Fatal(err)
	}
	defer real.Close()
	e := &eager{real, make(chan struct{})}
	o.Executor = e
	granted := make(chan struct{})
	o.OnEvent = func(ev Event) {
		switch ev.Kind {
		case EventGranted:
			close(granted)
		case EventStopping:
			close(e.stopped)
		}
	}
	r := start(t, o)
	<-granted
	r.Stop(StopCancel)
	r.wait(t)
	if a := d.Job(1).Attempts; len(a) != 1 {
		t.Errorf("attempts %+v", a)
	}
}

func TestOrderCancel(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > " + dir + "/pid; exec sleep 1000"))
	r := start(t, testOptions(t, d))
	runnertest.ProcessIn(t, dir+"/pid")
	d.Order(lease.OrderCancel)
	r.wait(t)
	if j := d.Job(1); j.Status != workflow.Canceled || j.Attempts[0].Evidence.KilledBy != workflow.KilledByCancel {
		t.Errorf("job %+v", j)
	}
}

// One job is ended and reported, the other continues.
func TestCancelOfOneJob(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("trap 'exit 7' TERM; echo $$ > "+dir+"/pid; while :; do sleep 0.01; done"), job("until [ -e "+dir+"/go ]; do sleep 0.01; done"))
	r := start(t, testOptions(t, d))
	runnertest.ProcessIn(t, dir+"/pid")
	runnertest.Eventually(t, "the start is known", func() bool { return d.Held(1).StartedMS > 0 })
	d.Cancel(1)
	runnertest.Eventually(t, "the job is canceled", func() bool { return d.Job(1).Status == workflow.Canceled })
	if e := d.Job(1).Attempts[0].Evidence; e.KilledBy != workflow.KilledBySibling || e.ExitCode == nil || *e.ExitCode != 7 {
		t.Errorf("evidence %+v", e)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.wait(t)
	if j := d.Job(2); j.Status != workflow.Completed {
		t.Errorf("the other job: %+v", j)
	}
}

func TestVoidedAttemptIsKilledAndNotReported(t *testing.T) {
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > " + dir + "/pid; exec sleep 1000"))
	r := start(t, testOptions(t, d))
	pid := runnertest.ProcessIn(t, dir+"/pid")
	runnertest.Eventually(t, "the start is known", func() bool { return d.Held(1).StartedMS > 0 })
	d.Void(1)
	r.wait(t)
	if pid.Alive() {
		t.Error("the job lives")
	}
	if j := d.Job(1); len(j.Attempts)+len(j.Late) != 0 {
		t.Errorf("reported %+v, late %+v", j.Attempts, j.Late)
	}
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()
	j := job("trap 'exit 7' TERM; while :; do sleep 0.01; done")
	j.RunTimeout = &workflow.RunTimeout{AfterSeconds: 1, GraceSeconds: 10}
	d := runnertest.New(j)
	run(t, testOptions(t, d))
	e := d.Job(1).Attempts[0].Evidence
	if e.KilledBy != workflow.KilledByTimeout || e.RunLimitSeconds != 1 || e.ExitCode == nil || *e.ExitCode != 7 {
		t.Errorf("evidence %+v", e)
	}
}

func TestRuntimeIsEnforcedOnlyOnRequest(t *testing.T) {
	for _, c := range []struct {
		name, requirements string
		enforce            bool
		want               time.Duration
	}{
		{"requested", "small", true, time.Minute},
		{"not requested", "small", false, 0},
		{"default requirement", workflow.DefaultRequirements, true, 0},
	} {
		p := newPolicy(nil, c.enforce)
		got, _ := p.runLimit(&lease.Grant{Requirements: c.requirements, RuntimeSeconds: 60})
		if got != c.want {
			t.Errorf("%s: limit %s, want %s", c.name, got, c.want)
		}
	}
}

// hog is a command that uses about 200 MB and keeps running.
const hog = `exec awk 'BEGIN { s = "x"; while (length(s) < 200000000) s = s s; while (1) system("sleep 1") }'`

func TestMemoryLimit(t *testing.T) {
	limited := job(hog)
	limited.Requirements, limited.MemoryBytes = "small", 100<<20
	d := runnertest.New(limited)
	run(t, testOptions(t, d))
	e := d.Job(1).Attempts[0].Evidence
	if e.KilledBy != workflow.KilledByMemoryLimit || e.MemoryLimitBytes != 100<<20 || e.PeakMemoryBytes <= 100<<20 {
		t.Errorf("evidence %+v", e)
	}
	if e.Signal != int(unix.SIGKILL) {
		t.Errorf("signal %d", e.Signal)
	}
}

func TestMemoryLimitDoesNotConcernTheDefaultRequirement(t *testing.T) {
	for _, c := range []struct {
		requirements string
		limit        *bool
		want         int64
	}{
		{workflow.DefaultRequirements, nil, 0},
		{"small", nil, 5},
		{"small", ptr(false), 0},
	} {
		p := newPolicy(&workflow.ExecutionConfig{LimitResources: c.limit}, false)
		if got := p.memoryLimit(&lease.Grant{Requirements: c.requirements, MemoryBytes: 5}); got != c.want {
			t.Errorf("%+v: limit %d", c, got)
		}
	}
}

func TestDaemonsOfJobsAreEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, command string }{
		{"background child", "sleep 1000 & echo $! > PID"},
		{"own session", "setsid sleep 1000 & echo $! > PID; sleep 0.05"},
		{"double fork", "(setsid bash -c 'echo $$ > PID; trap \"\" TERM; while :; do sleep 0.01; done' >/dev/null 2>&1 &); until [ -s PID ]; do sleep 0.01; done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pid")
			d := runnertest.New(job(strings.ReplaceAll(c.command, "PID", path)))
			quick(d, 1)
			run(t, testOptions(t, d))
			if pid := runnertest.ProcessIn(t, path); pid.Alive() {
				t.Errorf("process %d lives", pid.PID)
			}
			if j := d.Job(1); j.Status != workflow.Completed {
				t.Errorf("job %+v", j)
			}
		})
	}
}

func TestTimeLimitDrains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := runnertest.New(job("echo $$ > " + dir + "/pid; exec sleep 1000"))
	o := testOptions(t, d)
	o.TimeLimit = 2 * time.Second
	s := run(t, o)
	if s.Duration > 2*time.Second {
		t.Errorf("the runner lived for %s", s.Duration)
	}
	if e := d.Job(1).Attempts[0].Evidence; e.KilledBy != workflow.KilledByDrain {
		t.Errorf("evidence %+v", e)
	}
}

func TestScheduleShrinksMargins(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	p := newPolicy(nil, false)
	long := p.schedule(now, now.Add(10*time.Hour))
	if got := long.end.Sub(long.drainAt); got != 90*time.Second || long.lead != 30*time.Second {
		t.Errorf("long: margin %s, lead %s", got, long.lead)
	}
	short := p.schedule(now, now.Add(time.Minute))
	if got := short.end.Sub(short.drainAt); got != 6*time.Second || short.lead != 2*time.Second {
		t.Errorf("short: margin %s, lead %s", got, short.lead)
	}
	if left := short.left(now); *left != 54 {
		t.Errorf("left %d", *left)
	}
	if left := p.schedule(now, time.Time{}).left(now); left != nil {
		t.Errorf("left %d without end", *left)
	}
	past := p.schedule(now, now.Add(-time.Minute))
	if left := past.left(now); *left != 0 || past.lead < 0 {
		t.Errorf("past: left %d, lead %s", *left, past.lead)
	}
}
