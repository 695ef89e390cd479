package runner

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// sleeper is an executor without processes: a command says how long it takes. A command
// of 2s counts twice.
type sleeper struct {
	mu      sync.Mutex
	started []string
	running int
	most    int
}

func (s *sleeper) Start(c *process.Command, exited func(process.Exit)) (int, error) {
	command := c.Argv[2]
	d, err := time.ParseDuration(command)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, command)
	size := 1
	if command == "2s" {
		size = 2
	}
	s.running += size
	s.most = max(s.most, s.running)
	time.AfterFunc(d, func() {
		s.mu.Lock()
		s.running -= size
		s.mu.Unlock()
		exited(process.Exit{At: time.Now()})
	})
	return 0, nil
}

func (s *sleeper) starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.started)
}

// bubble runs a runner under a virtual clock.
func bubble(t *testing.T, d func() *runnertest.Daemon, change func(*Options), check func(Summary, error, *runnertest.Daemon, *sleeper)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		daemon, executor := d(), &sleeper{}
		o := Options{
			Client: daemon, WorkflowID: 1, OutputDir: dir, Executor: executor,
			Resources: Resources{CPUs: 2, MemoryBytes: 1 << 30, GPUDevices: []string{"0"}},
		}
		if change != nil {
			change(&o)
		}
		r, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Run(context.Background())
		check(s, err, daemon, executor)
		noViolations(t, daemon)
	})
}

func jobsOf(commands ...string) func() *runnertest.Daemon {
	return func() *runnertest.Daemon {
		var jobs []runnertest.Job
		for _, c := range commands {
			jobs = append(jobs, job(c))
		}
		return runnertest.New(jobs...)
	}
}

func TestIdleRunnerLeaves(t *testing.T) {
	unfit := func() *runnertest.Daemon {
		big := job("1s")
		big.CPUs = 99
		d := runnertest.New(job("1s"), big)
		d.Welcome.WaitForNewJobs = 90
		return d
	}
	bubble(t, unfit, nil, func(s Summary, err error, d *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.Duration < 90*time.Second || s.Duration > 100*time.Second {
			t.Errorf("%+v, %v", s, err)
		}
		if s.Reason != "no work for 1m30s" || s.OpenJobs != 1 || s.Complete {
			t.Errorf("summary %+v", s)
		}
	})
}

// The hold of the claims ends by itself: a user's runner waits for that, one in an
// allocation no longer than for other work.
func TestRunnerWaitsForTheEndOfAHold(t *testing.T) {
	for nodeType, want := range map[string]string{"local": "the workflow is complete", "slurm": "no work for 1m30s"} {
		held := func() *runnertest.Daemon {
			d := runnertest.New(job("1s"))
			d.HeldFor, d.Welcome.WaitForNewJobs = 10*time.Minute, 90
			return d
		}
		change := func(o *Options) { o.NodeType = nodeType }
		bubble(t, held, change, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
			if err != nil || s.Reason != want {
				t.Errorf("%s: %+v, %v", nodeType, s, err)
			}
		})
	}
}

func TestRunnerWithNothingToHopeForLeavesAtOnce(t *testing.T) {
	hopeless := func() *runnertest.Daemon {
		d := runnertest.New(job("1s"))
		d.NoMoreWork = true
		d.Welcome.WaitForNewJobs = 90
		return d
	}
	bubble(t, hopeless, nil, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.Duration > time.Second {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestNobodyWaitsForADecision(t *testing.T) {
	held := func() *runnertest.Daemon {
		d := runnertest.New(job("1s"))
		d.AllHeld = true
		d.Welcome.WaitForNewJobs = 90
		time.AfterFunc(time.Hour, func() { d.Void(1) }) // it fails: no job is open
		return d
	}
	bubble(t, held, nil, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.Duration > time.Second || s.Reason != "jobs that are held wait for a decision" {
			t.Errorf("%+v, %v", s, err)
		}
	})
	persistent := func(o *Options) { o.Persistent = true }
	bubble(t, held, persistent, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.Duration < time.Hour || !s.Complete {
			t.Errorf("a persistent one: %+v, %v", s, err)
		}
	})
}

func TestPersistentRunnerWaits(t *testing.T) {
	later := func() *runnertest.Daemon {
		big := job("1s")
		big.CPUs = 99
		d := runnertest.New(big)
		d.Welcome.WaitForNewJobs = 90
		time.AfterFunc(time.Hour, func() { d.Void(1) }) // it fails: no job is open
		return d
	}
	persistent := func(o *Options) { o.Persistent = true }
	bubble(t, later, persistent, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.Duration < time.Hour || s.Duration > time.Hour+time.Minute || !s.Complete {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestIgnoreCompletion(t *testing.T) {
	ignoring := func() *runnertest.Daemon {
		d := runnertest.New(job("1s"))
		d.Welcome.IgnoreCompletion, d.Welcome.WaitForNewJobs = true, 30
		return d
	}
	bubble(t, ignoring, nil, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.Duration < 30*time.Second || s.Duration > 50*time.Second {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestLongJobIsKeptAlive checks how often a runner without news sends a turn: often
// enough for its lease, rarely enough for the daemon.
func TestLongJobIsKeptAlive(t *testing.T) {
	bubble(t, jobsOf("10m"), nil, func(s Summary, err error, d *runnertest.Daemon, _ *sleeper) {
		if err != nil || !s.Complete {
			t.Errorf("%+v, %v", s, err)
		}
		if n := d.Calls(); n < 60 || n > 100 {
			t.Errorf("%d turns in ten minutes", n)
		}
	})
}

func TestNewWorkReachesAWaitingRunner(t *testing.T) {
	var added time.Time
	later := func() *runnertest.Daemon {
		d := runnertest.New(job("20s"))
		time.AfterFunc(5*time.Second, func() {
			added = time.Now()
			d.Add(job("1s"))
		})
		return d
	}
	var started time.Time
	watch := func(o *Options) {
		o.OnEvent = func(e Event) {
			if e.Kind == EventStarted && e.JobID == 2 {
				started = e.Time
			}
		}
	}
	bubble(t, later, watch, func(_ Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if delay := started.Sub(added); err != nil || delay < 0 || delay > 20*time.Millisecond {
			t.Errorf("started after %s, %v", delay, err)
		}
	})
}

// TestDaemonThatDoesNotWait: such a daemon is polled less and less often.
func TestDaemonThatDoesNotWait(t *testing.T) {
	impatient := func() *runnertest.Daemon {
		d := runnertest.New(job("10m"))
		d.NoLongPoll = true
		return d
	}
	bubble(t, impatient, nil, func(_ Summary, err error, d *runnertest.Daemon, _ *sleeper) {
		if n := d.Calls(); err != nil || n > 700 {
			t.Errorf("%d turns in ten minutes, %v", n, err)
		}
	})
}

func TestGivesUpAfterTheOutage(t *testing.T) {
	gone := func() *runnertest.Daemon {
		d := runnertest.New(job("30s"), job("1h"))
		d.Welcome.WaitForHealthyMins = 20
		time.AfterFunc(time.Second, func() { d.SetDown(true) })
		return d
	}
	bubble(t, gone, nil, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		// The runner waits for the longer job although its patience is over before that.
		if workflow.CodeOf(err) != workflow.CodeUnavailable || s.Duration < time.Hour || s.Duration > time.Hour+time.Minute {
			t.Errorf("%+v, %v", s, err)
		}
		if s.Undelivered != 2 {
			t.Errorf("%d undelivered", s.Undelivered)
		}
	})
}

// TestNothingIsStartedWithoutALease: after the end of the lease another runner may have
// the job.
func TestNothingIsStartedWithoutALease(t *testing.T) {
	gone := func() *runnertest.Daemon {
		commands := []string{"10ms", "10ms", "10ms", "10ms", "10ms", "2m", "2m", "1m", "1m"}
		d := jobsOf(commands...)()
		d.Welcome.WaitForHealthyMins = 60
		time.AfterFunc(time.Second, func() { d.SetDown(true) })
		time.AfterFunc(10*time.Minute, func() { d.SetDown(false) })
		return d
	}
	var late []time.Duration
	began := time.Time{}
	watch := func(o *Options) {
		o.OnEvent = func(e Event) {
			switch e.Kind {
			case EventRegistered:
				began = e.Time
			case EventStarted:
				if at := e.Time.Sub(began); at > time.Minute && at < 10*time.Minute {
					late = append(late, at)
				}
			}
		}
	}
	bubble(t, gone, watch, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || !s.Complete || len(late) != 0 {
			t.Errorf("%+v, %v; started without a lease at %v", s, err, late)
		}
	})
}

// TestJobsTakenTooEarlyAreGivenBack: long jobs follow short ones.
func TestJobsTakenTooEarlyAreGivenBack(t *testing.T) {
	commands := []string{}
	for range 20 {
		commands = append(commands, "5ms")
	}
	for range 10 {
		commands = append(commands, "1m")
	}
	var granted int
	watch := func(o *Options) {
		o.OnEvent = func(e Event) {
			if e.Kind == EventGranted {
				granted++
			}
		}
	}
	bubble(t, jobsOf(commands...), watch, func(s Summary, err error, d *runnertest.Daemon, e *sleeper) {
		if err != nil || s.ByStatus[workflow.Completed] != 30 || e.starts() != 30 {
			t.Errorf("%+v, %v", s, err)
		}
		if granted <= 30 || granted > 60 {
			t.Errorf("%d grants: none, or the same ones again and again, were returned", granted)
		}
		if e.most > 2 {
			t.Errorf("%d jobs at a time", e.most)
		}
	})
}

// TestRunnerTakenForDead registers again and continues.
func TestRunnerTakenForDead(t *testing.T) {
	forgetful := func() *runnertest.Daemon {
		d := runnertest.New(job("1m"), job("1s"))
		time.AfterFunc(30*time.Second, d.ForgetRunners)
		return d
	}
	bubble(t, forgetful, nil, func(s Summary, err error, d *runnertest.Daemon, e *sleeper) {
		if err != nil || !s.Complete || len(d.Registered()) != 2 {
			t.Errorf("%+v, %v, registered %d times", s, err, len(d.Registered()))
		}
		// Without processes the lost attempt cannot be ended; it ends by itself.
		if j := d.Job(1); len(j.Attempts) != 1 || e.starts() != 3 {
			t.Errorf("job %+v, %d starts", j, e.starts())
		}
	})
}

// TestJobsThatDoNotEnd: the runner does not wait forever for jobs that it has killed.
func TestJobsThatDoNotEnd(t *testing.T) {
	stop := func(o *Options) { o.TimeLimit = time.Minute }
	bubble(t, jobsOf("1000h"), stop, func(s Summary, err error, d *runnertest.Daemon, _ *sleeper) {
		contains(t, "error", fmt.Sprint(err), "1 job was killed and does not end")
		if s.Duration > 3*time.Minute || len(d.Left()) != 1 {
			t.Errorf("%+v, left %+v", s, d.Left())
		}
	})
}

func TestPoolThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(1)
		hang := make(chan struct{})
		p.do(func() { <-hang })
		if err := p.close(time.Minute); err == nil {
			t.Error("no error")
		}
		close(hang)
	})
}

func TestMaxParallelJobs(t *testing.T) {
	commands := strings.Split(strings.Repeat("1s,", 9)+"1s", ",")
	five := func(o *Options) { o.MaxParallelJobs = 5 }
	bubble(t, jobsOf(commands...), five, func(s Summary, err error, _ *runnertest.Daemon, e *sleeper) {
		if err != nil || e.most != 5 || s.ByStatus[workflow.Completed] != 10 {
			t.Errorf("%d at a time, %+v, %v", e.most, s, err)
		}
	})
}

// workRequests records the turns that request work, until a report is sent.
type workRequests struct {
	*runnertest.Daemon
	mu      sync.Mutex
	reports int
	turns   int
}

func (a *workRequests) Turn(ctx context.Context, id int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	a.mu.Lock()
	if a.reports += len(req.Reports); a.reports == 0 && req.Free.Slots > 0 {
		a.turns++
	}
	a.mu.Unlock()
	return a.Daemon.Turn(ctx, id, req)
}

// TestReportsPrecedeClaims: the end of a job may have the daemon hold the next
// claims.
func TestReportsPrecedeClaims(t *testing.T) {
	a := &workRequests{}
	one := func(o *Options) {
		a.Daemon = o.Client.(*runnertest.Daemon)
		o.MaxParallelJobs, o.Client = 1, a
	}
	bubble(t, jobsOf("1s", "1s"), one, func(s Summary, err error, _ *runnertest.Daemon, _ *sleeper) {
		if err != nil || s.ByStatus[workflow.Completed] != 2 || a.turns != 1 {
			t.Errorf("%d turns requested work before the first report; %+v, %v", a.turns, s, err)
		}
	})
}

func TestResourcesAreRespected(t *testing.T) {
	jobs := func() *runnertest.Daemon {
		var list []runnertest.Job
		for i := range 8 {
			j := job("1s")
			j.CPUs, j.MemoryBytes, j.GPUs = 1, 300<<20, int64(i%2)
			if i%4 == 0 {
				j.CPUs, j.Command = 2, "2s"
			}
			list = append(list, j)
		}
		return runnertest.New(list...)
	}
	bubble(t, jobs, nil, func(s Summary, err error, _ *runnertest.Daemon, e *sleeper) {
		if err != nil || s.ByStatus[workflow.Completed] != 8 || e.most > 2 {
			t.Errorf("%d CPUs at a time, %+v, %v", e.most, s, err)
		}
	})
}

// flaky has calls fail before or after they take effect.
type flaky struct {
	*runnertest.Daemon
	mu    sync.Mutex
	fates []int
}

func (f *flaky) fate() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.fates) == 0 {
		return 0
	}
	fate := f.fates[0]
	f.fates = f.fates[1:]
	return fate
}

func (f *flaky) Turn(ctx context.Context, id int64, req *lease.TurnRequest) (*lease.TurnResponse, error) {
	switch f.fate() {
	case 1:
		return nil, runnertest.ErrDown
	case 2:
		if _, err := f.Daemon.Turn(ctx, id, req); err != nil {
			return nil, err
		}
		return nil, runnertest.ErrDown
	}
	return f.Daemon.Turn(ctx, id, req)
}

// TestEveryJobRunsOnce, whatever calls and answers get lost.
func TestEveryJobRunsOnce(t *testing.T) {
	root := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		fates := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 20).Draw(rt, "fates")
		n := rapid.IntRange(1, 25).Draw(rt, "jobs")
		slots := rapid.Int64Range(0, 4).Draw(rt, "slots")
		var jobs []runnertest.Job
		for i := range n {
			j := job(fmt.Sprintf("%dms", rapid.SampledFrom([]int{0, 3, 40, 900, 5000}).Draw(rt, "ms")))
			if i > 0 && rapid.Bool().Draw(rt, "chained") {
				j.After = []int64{int64(rapid.IntRange(1, i).Draw(rt, "after"))}
			}
			jobs = append(jobs, j)
		}
		dir := fmt.Sprintf("%s/%d", root, round)
		var fault string
		synctest.Test(t, func(t *testing.T) {
			d, e := runnertest.New(jobs...), &sleeper{}
			d.Welcome.WaitForHealthyMins = 60
			r, err := New(Options{
				Client: &flaky{Daemon: d, fates: fates}, WorkflowID: 1, OutputDir: dir, Executor: e,
				Resources: Resources{CPUs: 2, MemoryBytes: 1 << 30, GPUDevices: []string{"0"}}, MaxParallelJobs: slots,
			})
			if err != nil {
				t.Fatal(err)
			}
			s, err := r.Run(context.Background())
			if err != nil || !s.Complete || s.Undelivered != 0 || e.starts() != n || len(d.Violations()) > 0 {
				fault = fmt.Sprintf("%v, %+v, %d starts of %d jobs, %v", err, s, e.starts(), n, d.Violations())
			}
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}
