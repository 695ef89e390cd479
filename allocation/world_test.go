package allocation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// world is a daemon's loop with its database and a cluster, under a clock that the test
// advances.
type world struct {
	*testing.T
	now      time.Time
	clock    func() time.Time // now, unless a test replaces it
	store    *store.Store
	cluster  *slurmtest.Cluster
	client   *slurm.Client
	loop     *Loop
	random   *rand.ChaCha8
	settings Settings
	workflow workflow.Workflow
	jobs     []int64

	scripts []*script // every start of a batch script
	stopped []int64   // runners that were ordered to stop
	ordered func(runner int64)
	spool   func([]store.AllocationRunner) error
}

// script is one start of a batch script in the cluster.
type script struct {
	*slurmtest.Restart
	world       *world
	ignoresTerm bool // ignores SIGTERM
	over        bool
	gone        time.Time
	runner      int64
	silence     time.Duration // of the runner; while zero it calls all the time
}

// Signal ends the script, as the runner would.
func (l *script) Signal(name string, _ slurmtest.Target) {
	if l.over || name != "KILL" && (name != "TERM" || l.ignoresTerm) {
		return
	}
	l.over, l.gone = true, l.world.clock()
	signal := 15
	if name == "KILL" {
		signal = 9
	}
	l.world.cluster.After(0, func() { l.Exit(slurm.ExitCode{Signal: signal}) })
}

// vanish ends the script by SIGKILL.
func (w *world) vanish(l *script) {
	l.over, l.gone = true, w.clock()
	l.Exit(slurm.ExitCode{Signal: 9})
}

func newWorld(t *testing.T, jobs int, change ...func(*slurmtest.Options)) *world {
	t.Helper()
	w := &world{T: t, now: time.UnixMilli(1_795_255_200_000), random: rand.NewChaCha8([32]byte{1}), settings: Settings{User: slurmtest.TestUser, Owner: "999"}}
	opts := slurmtest.Options{Now: func() time.Time { return w.now }, Launch: func(_ *slurmtest.Cluster, l *slurmtest.Restart) slurmtest.Process {
		started := &script{Restart: l, world: w}
		w.scripts = append(w.scripts, started)
		return started
	}}
	for _, c := range change {
		c(&opts)
	}
	w.clock = opts.Now
	w.cluster = slurmtest.New(opts)
	s, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "torc.db"), Now: opts.Now,
		Beat: 24 * time.Hour, // a heartbeat would read the clock while the test sets it
	})
	w.must(err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.store = s
	w.workflow, err = s.Workflows.Create(t.Context(), workflow.Workflow{Name: "sweep", User: "me"})
	w.must(err)
	var all []workflow.Job
	for i := range jobs {
		all = append(all, workflow.Job{WorkflowID: w.workflow.ID, Name: fmt.Sprintf("j%d", i), Command: "true"})
	}
	all, err = s.Jobs.Create(t.Context(), all)
	w.must(err)
	for _, j := range all {
		w.jobs = append(w.jobs, j.ID)
	}
	w.must(s.Workflows.Initialize(t.Context(), w.workflow.ID, store.InitializeOptions{}))
	w.boot(t.TempDir())
	return w
}

// boot starts or restarts the daemon.
func (w *world) boot(secrets string) {
	w.client = slurm.New(slurm.Options{Executor: w.cluster, Now: w.clock})
	w.loop = New(Options{
		Store: w.store, Slurm: w.client, Runners: w, Spool: w, SecretDir: secrets, Settings: w.settings,
		Now: w.clock, Random: w.random,
		Log: slog.New(slog.DiscardHandler),
		Script: Script{OutputDir: w.TempDir(), Runner: func(_ compute.Allocation, secret string) []string {
			return []string{"runner", "--secret-file", secret}
		}},
	})
}

// Silence, Stop and Deliver are what the daemon does.
func (w *world) Silence(runner int64) time.Duration {
	for _, l := range w.scripts {
		if l.runner == runner {
			if !l.gone.IsZero() {
				return w.clock().Sub(l.gone)
			}
			return l.silence
		}
	}
	return 24 * time.Hour
}

func (w *world) Stop(runner int64, _ string) {
	w.stopped = append(w.stopped, runner)
	if w.ordered != nil {
		w.ordered(runner)
	}
}

func (w *world) Deliver(_ context.Context, runners []store.AllocationRunner) error {
	if w.spool == nil {
		return nil
	}
	return w.spool(runners)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// submit requests an allocation.
func (w *world) submit() compute.Allocation {
	w.Helper()
	a, err := w.loop.Submitter().Submit(w.Context(), w.want())
	w.must(err)
	return a
}

func (w *world) want() Want {
	return Want{WorkflowID: w.workflow.ID, Why: "jobs are ready",
		Request: compute.AllocationRequest{Account: "research", Partition: "debug", Nodes: 1, CPUsPerNode: 4, WalltimeS: 1800}}
}

// advance has time pass, without a poll.
func (w *world) advance(d time.Duration) {
	w.now = w.now.Add(d)
	w.cluster.Advance()
}

// pollOnce has the loop poll once and returns when the next poll is due.
func (w *world) pollOnce() time.Duration {
	w.Helper()
	next, err := w.loop.runOnce(w.Context())
	w.must(err)
	return next
}

// run has the loop poll at its own intervals for some time.
func (w *world) run(d time.Duration) {
	w.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.advance(w.pollOnce())
	}
	w.pollOnce()
}

// allocations returns all allocations, oldest first.
func (w *world) allocations() []compute.Allocation {
	w.Helper()
	all, _, err := w.store.Allocations.List(w.Context(), store.AllocationFilter{WorkflowID: w.workflow.ID}, store.Page{Limit: 100})
	w.must(err)
	return all
}

// only returns the only allocation.
func (w *world) only() compute.Allocation {
	w.Helper()
	all := w.allocations()
	if len(all) != 1 {
		w.Fatalf("there are %d allocations: %+v", len(all), all)
	}
	return all[0]
}

// ended checks that an allocation has ended with a cause.
func (w *world) ended(a compute.Allocation, cause compute.AllocationCause) {
	w.Helper()
	a, err := w.store.Allocations.Get(w.Context(), a.ID)
	w.must(err)
	if a.State != compute.AllocationEnded || a.Cause != cause {
		w.Errorf("the allocation is %s (%s: %s), want %s", a.State, a.Cause, a.CauseText, cause)
	}
}

var secretFile = regexp.MustCompile(`--secret-file (\S+)`)

// register registers the runner of a script, with the secret that its script names.
func (w *world) register(l *script) error {
	w.Helper()
	match := secretFile.FindSubmatch(l.Script)
	secret, err := os.ReadFile(string(match[1]))
	if err != nil {
		return err
	}
	a, err := w.store.Allocations.OfSecret(w.Context(), HashSecret(strings.TrimSpace(string(secret))))
	if err != nil {
		return err
	}
	known, err := w.store.Runners.Register(w.Context(), store.Registration{WorkflowID: w.workflow.ID, IntentID: a.IntentID, RegisterRequest: lease.RegisterRequest{
		Key: fmt.Sprintf("%s/%d", l.ID, l.Number), Hostname: l.Nodes[0], StartTime: "2026-11-21T10:00:00+00:00",
		NumCPUs: 4, MemoryBytes: 1 << 32, NumNodes: 1, NodeType: compute.SchedulerSlurm, MaxParallelJobs: 4,
		Allocation: &lease.AllocationMember{SlurmJobID: l.ID.Number, RestartCount: int64(l.Number)},
	}})
	l.runner = known.RunnerID
	return err
}

// work has the runner of a script claim all jobs and start the first n of them.
func (w *world) work(l *script, n int) []lease.LeaseRef {
	w.Helper()
	w.must(w.register(l))
	answer, err := w.store.Runners.Turn(w.Context(), l.runner, lease.TurnRequest{Turn: 1, RunID: w.workflow.RunID, Free: lease.Free{Slots: 4}})
	w.must(err)
	var refs []lease.LeaseRef
	var held []lease.Held
	for i, g := range answer.Grants {
		h := lease.Held{LeaseRef: g.LeaseRef}
		if i < n {
			h.StartedMS = w.now.UnixMilli()
		}
		held, refs = append(held, h), append(refs, g.LeaseRef)
	}
	_, err = w.store.Runners.Turn(w.Context(), l.runner, lease.TurnRequest{Turn: 2, RunID: w.workflow.RunID, Held: held})
	w.must(err)
	return refs
}

// leave has the runner of a script deregister and the script end.
func (w *world) leave(l *script, code int) {
	w.Helper()
	_, err := w.store.Runners.Leave(w.Context(), l.runner, lease.LeaveRequest{})
	w.must(err)
	l.over, l.gone = true, w.clock()
	l.Exit(slurm.ExitCode{Code: code})
}

// statuses compares the statuses of the jobs.
func (w *world) statuses(want ...workflow.JobStatus) {
	w.Helper()
	for i, id := range w.jobs {
		j, err := w.store.Jobs.Get(w.Context(), id)
		w.must(err)
		if j.Status != want[i] {
			w.Errorf("job %d is %s, want %s", i, j.Status, want[i])
		}
	}
}

// calls returns the number of runs of a program.
func (w *world) calls(program string) (n int) {
	for _, c := range w.cluster.Calls() {
		if c.Program == program {
			n++
		}
	}
	return n
}

// sound checks the invariants of the database, and that nothing unwanted is left in
// Slurm.
func (w *world) sound() {
	w.Helper()
	findings, err := check.Deep(w.Context(), w.store.Path(), check.Witness{})
	w.must(err)
	for _, f := range findings {
		w.Error(f)
	}
}
