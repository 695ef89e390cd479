package slurmtest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// site is a cluster under test: the fake one or the real one.
type site struct {
	user, root *slurm.Client
	programs   slurm.Executor // of the user
	dir        func(*testing.T) string
	// eventually waits for a condition, at most for a time of the cluster's clock.
	eventually func(t *testing.T, within time.Duration, what string, condition func() bool)
	kill       func(t *testing.T, node string) // kills its slurmd
	restore    func(t *testing.T, node string)
	admin      func(t *testing.T, words ...string) // runs scontrol
	since      time.Time
	pin        []string // options of jobs that may run anywhere
	noMemory   bool     // no memory limits
}

// fakeClock is a clock that stands still between steps.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (f *fakeClock) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fakeClock) set(to time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = to
}

// newClock returns a clock with a fixed start.
func newClock() *fakeClock { return &fakeClock{now: time.Unix(1_800_000_000, 0)} }

// step advances the clock and with it the cluster.
func step(clock *fakeClock, c *slurmtest.Cluster, d time.Duration) {
	clock.set(clock.Now().Add(d))
	c.Advance()
}

func fakeSite() *site {
	clock := newClock()
	c := slurmtest.New(slurmtest.Options{Now: clock.Now, Completing: time.Second, Lag: 2 * time.Second})
	options := slurm.Options{Executor: c, Now: clock.Now}
	asRoot := slurm.Options{Executor: c.Root(), Now: clock.Now}
	return &site{
		user: slurm.New(options), root: slurm.New(asRoot), programs: c, since: clock.Now(),
		dir: func(*testing.T) string { return "/home/torctest" },
		eventually: func(t *testing.T, within time.Duration, what string, condition func() bool) {
			t.Helper()
			for end := clock.Now().Add(within); !condition(); step(clock, c, 500*time.Millisecond) {
				if clock.Now().After(end) {
					t.Fatalf("waited %v in vain: %s", within, what)
				}
			}
		},
		kill:    func(_ *testing.T, node string) { c.KillNode(node, false) },
		restore: func(_ *testing.T, node string) { c.RestoreNode(node) },
		admin:   func(t *testing.T, words ...string) { scontrol(t, c.Root(), words...) },
	}
}

func realSite(t *testing.T) *site {
	r := slurmtest.UseReal(t)
	return &site{
		user: slurm.New(slurm.Options{Executor: r.User()}), root: slurm.New(slurm.Options{Executor: r.Root()}), programs: r.User(),
		dir:        func(t *testing.T) string { return r.Dir(t) },
		since:      time.Now().Add(-time.Minute),
		eventually: func(t *testing.T, d time.Duration, what string, f func() bool) { slurmtest.Eventually(t, d, what, f) },
		kill:       func(t *testing.T, node string) { r.Kill(t, node) },
		restore:    func(t *testing.T, node string) { r.Start(t, node) },
		admin:      func(t *testing.T, words ...string) { scontrol(t, r.Root(), words...) },
		// n2 to n4 are for jobs that need a node exclusively or lose it.
		pin:      []string{"--nodelist=n1"},
		noMemory: !r.CanLimitMemory(),
	}
}

func scontrol(t *testing.T, x slurm.Executor, words ...string) {
	t.Helper()
	out, err := x.Run(context.WithoutCancel(t.Context()), slurm.Command{Program: slurm.Scontrol, Args: words}) // also when a test ends
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("scontrol %v: %v %s", words, err, out.Stderr)
	}
}

func TestFakeConforms(t *testing.T) {
	for name, test := range conformanceAlone {
		t.Run(name, func(t *testing.T) { test(t, fakeSite()) })
	}
	for name, test := range conformance {
		t.Run(name, func(t *testing.T) { test(t, fakeSite()) })
	}
}

// TestMain makes this binary the programs of the fake cluster, too, and runs the tests on
// the real one in parallel: they wait more than they compute.
func TestMain(m *testing.M) {
	if code, called := slurmtest.Program(os.Getenv, os.Args, os.Stdin, os.Stdout, os.Stderr); called {
		os.Exit(code)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "32"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// TestRealConforms takes as long as the slowest of its tests, about 75 seconds, since the
// shortest possible time limit is one minute.
func TestRealConforms(t *testing.T) {
	s := realSite(t)
	for name, test := range conformanceAlone {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
	t.Run("group", func(t *testing.T) {
		for name, test := range conformance {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, s)
			})
		}
	})
}

// submit submits a script to the cluster, and cancels its job when the test ends.
func (s *site) submit(t *testing.T, lines string, args ...string) slurm.JobID {
	t.Helper()
	id, err := s.try(t, lines, args...)
	if err != nil {
		t.Fatalf("submit %q: %v", args, err)
	}
	t.Cleanup(func() {
		if err := s.root.Cancel(context.Background(), id); err != nil {
			t.Errorf("cancel %s: %v", id, err)
		}
	})
	return id
}

func (s *site) try(t *testing.T, lines string, args ...string) (slurm.JobID, error) {
	t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--node") {
		args = append(args, s.pin...)
	}
	job, err := s.user.Submit(t.Context(), slurm.Submission{
		Script: []byte("#!/bin/bash\n" + lines + "\n"), Dir: s.dir(t), Args: args,
	})
	return job.ID, err
}

// find returns the job as it is in the queue.
func (s *site) find(t *testing.T, id slurm.JobID) slurm.Job {
	t.Helper()
	queue, err := s.user.Queue(t.Context(), slurm.QueueQuery{User: slurmtest.TestUser})
	if err != nil {
		t.Fatalf("queue: %v", err)
	}
	if queue.Skipped > 0 {
		t.Errorf("%d rows of the queue could not be read", queue.Skipped)
	}
	job, _ := queue.Find(id)
	return job
}

// until waits for a state in the queue.
func (s *site) until(t *testing.T, id slurm.JobID, state slurm.State) slurm.Job {
	t.Helper()
	var job slurm.Job
	s.eventually(t, 100*time.Second, fmt.Sprintf("job %s becomes %s", id, state), func() bool {
		job = s.find(t, id)
		if job.State.Over() && !state.Over() {
			t.Fatalf("job %s is %s (%s)", id, job.State, job.Reason)
		}
		return job.State == state
	})
	return job
}

// accounted waits until accounting has the last restart of a job in a state.
func (s *site) accounted(t *testing.T, id slurm.JobID, state slurm.State) slurm.Accounting {
	t.Helper()
	var records slurm.Accounting
	s.eventually(t, time.Minute, fmt.Sprintf("accounting has job %s as %s", id, state), func() bool {
		var err error
		records, err = s.user.Accounting(t.Context(), slurm.AccountingQuery{
			IDs: []slurm.JobID{id}, Since: s.since, Duplicates: true,
		})
		if err != nil {
			t.Fatalf("accounting: %v", err)
		}
		for _, r := range records.Restarts(id) {
			// A job's end may reach slurmdbd before its start, which has the job's name.
			if r.State == state && r.Name != "allocation" {
				return true
			}
		}
		return false
	})
	return records
}

// conformanceAlone are tests that need nodes for which those below compete.
var conformanceAlone = map[string]func(*testing.T, *site){
	"EstimateBusy": testEstimateBusy,
	"Load":         testLoad,
	"Reservation":  testReservation,
}

var conformance = map[string]func(*testing.T, *site){
	"Completed":         testCompleted,
	"Failed":            testFailed,
	"Signaled":          testSignaled,
	"OutOfMemory":       testOutOfMemory,
	"OutOfMemoryHidden": testOutOfMemoryHidden,
	"TimeLimit":         testTimeLimit,
	"Warning":           testWarning,
	"Signal":            testSignal,
	"CancelRunning":     testCancelRunning,
	"CancelWaiting":     testCancelWaiting,
	"CancelAdmin":       testCancelAdmin,
	"PreemptCancel":     testPreemptCancel,
	"PreemptRequeue":    testPreemptRequeue,
	"PreemptNoRequeue":  testPreemptNoRequeue,
	"NodeFail":          testNodeFail,
	"Suspend":           testSuspend,
	"Requeue":           testRequeue,
	"Refused":           testRefused,
	"Limits":            testLimits,
	"Estimate":          testEstimate,
	"ReservedFor":       testReservedFor,
	"SetTimeLimit":      testSetTimeLimit,
	"Absent":            testAbsent,
	"Dependency":        testDependency,
	"Names":             testNames,
	"Comment":           testComment,
	"Nodes":             testTwoNodes,
	"Site":              testSite,
	"Refused step":      testRefusedStep,
}

// testRefusedStep: srun's own errors have the requested exit code, and both clusters say
// in the same way why it started nothing.
func testRefusedStep(t *testing.T, s *site) {
	out, err := s.programs.Run(t.Context(), slurm.Command{
		Program: slurm.Srun, Args: []string{"--jobid=999999", "--ntasks=1", "true"},
		Env: []string{slurm.SrunErrorVariable + "=" + strconv.Itoa(slurm.SrunErrorCode)},
	})
	if err != nil || out.ExitCode != slurm.SrunErrorCode {
		t.Fatalf("%+v, %v", out, err)
	}
	refusal, refused := slurm.RefusedStep(string(out.Stderr))
	if want := (slurm.StepRefusal{Text: "Unable to confirm allocation for job 999999: Invalid job id specified", Class: slurm.NotFound}); !refused || refusal != want {
		t.Errorf("%+v, %v of %q", refusal, refused, out.Stderr)
	}
}

func testSite(t *testing.T, s *site) {
	config, err := s.user.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if config.Cluster != "torctest" || config.MinJobAge != time.Minute || config.KillWait != 3*time.Second ||
		config.SlurmdTimeout != 10*time.Second || !config.Accounted() || !config.JobRequeue || config.Version == "" {
		t.Errorf("config: %+v", config)
	}
	partitions, err := s.user.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var modes []string
	for _, p := range partitions {
		modes = append(modes, p.Name+" "+p.PreemptMode)
		if p.MaxTime != 24*time.Hour || p.DefaultTime != 10*time.Minute || p.TotalCPUs != 16 || p.State != "UP" || p.MaxNodes != 0 {
			t.Errorf("partition: %+v", p)
		}
	}
	if got := strings.Join(modes, ", "); got != "debug OFF, standby REQUEUE, scavenge CANCEL" {
		t.Errorf("preemption: %s", got)
	}
	if !partitions[0].Default || partitions[1].Default {
		t.Error("debug should be the default partition")
	}
	s.testNodes(t)
	s.testAccounts(t)
}

func (s *site) testNodes(t *testing.T) {
	groups, err := s.user.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count, gpus := 0, int64(0)
	for _, g := range groups {
		if g.Partition != "debug" {
			continue
		}
		count += g.Count
		for _, r := range g.GRES {
			gpus += r.Count * int64(g.Count)
		}
		if g.CPUs != 4 || g.Memory != 4000*slurm.MiB {
			t.Errorf("nodes: %+v", g)
		}
	}
	if count != 4 || gpus != 2 {
		t.Errorf("%d nodes with %d GPUs, want 4 with 2", count, gpus)
	}
}

func (s *site) testAccounts(t *testing.T) {
	associations, err := s.user.Associations(t.Context(), slurmtest.TestUser)
	if err != nil {
		t.Fatal(err)
	}
	var accounts []string
	for _, a := range associations {
		accounts = append(accounts, a.Account+"/"+strings.Join(a.QOS, "+"))
	}
	if got := strings.Join(accounts, " "); got != "limited/small research/normal" {
		t.Errorf("accounts: %s", got)
	}
	if account, err := s.user.DefaultAccount(t.Context(), slurmtest.TestUser); err != nil || account != slurmtest.DefaultAccount {
		t.Errorf("default account: %q, %v", account, err)
	}
	all, err := s.user.QOS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		if q.Name == "small" && (q.MaxSubmitPerUser != 4 || q.MaxJobsPerUser != 2 || q.MaxWall != 30*time.Minute) {
			t.Errorf("qos: %+v", q)
		}
	}
}
