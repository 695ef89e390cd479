// Package runner runs jobs on a node: it polls the daemon for jobs that fit, starts,
// measures, limits and ends their processes, and reports with evidence how they ended.
package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/runner/oom"
	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// Turner connects a runner with the daemon; a client.Runners is one.
type Turner interface {
	Register(ctx context.Context, workflowID int64, req *lease.RegisterRequest) (*lease.RegisterResponse, error)
	Turn(ctx context.Context, runnerID int64, req *lease.TurnRequest) (*lease.TurnResponse, error)
	Leave(ctx context.Context, runnerID int64, req *lease.LeaveRequest) (*lease.LeaveResponse, error)
	// FailedWorkflow returns what the jobs of a compensation are told about the run.
	FailedWorkflow(ctx context.Context, workflowID int64) (*stage.FailedWorkflow, error)
}

// Options configure a runner. Client, WorkflowID and OutputDir are required.
type Options struct {
	Client     Turner
	WorkflowID int64
	// OutputDir holds the attempts' files; it is created if it does not exist.
	OutputDir string
	// Database is the name of the database that has the workflow. Reports that dead
	// runners have left in OutputDir and in OtherDirs are delivered if they are for it.
	Database  string
	OtherDirs []string
	// Resources are what jobs may use; zero values mean what the node has.
	Resources Resources
	// MaxParallelJobs, if not zero, is the number of jobs at a time. Resources are
	// then ignored.
	MaxParallelJobs int64
	Labels          []string
	// TimeLimit is how long Run may take; EndTime, which takes precedence, is when it
	// must have ended. Zero for no end.
	TimeLimit time.Duration
	EndTime   time.Time
	// Nodes are the names of the nodes for jobs, the runner's own first; each has
	// Resources. Nil for this one alone.
	Nodes []string
	// Steps starts jobs as Slurm steps, if the workflow is configured so; nil outside
	// of allocations.
	Steps *steps.Starter
	// KillWait is the time between SIGTERM and SIGKILL of Slurm.
	KillWait time.Duration
	// IdleTimeout, if not zero, is how long to wait for work. It overrides that of the
	// workflow.
	IdleTimeout time.Duration
	// Patience is how long registering is retried while the daemon does not answer.
	Patience time.Duration
	// Persistent has the runner wait without limit for jobs that it may be able to run
	// later.
	Persistent bool

	APIURL string // in the jobs' environment
	// APIURLOn, if not nil, returns the URL for steps on another node; empty if there is
	// none. It may take some seconds.
	APIURLOn func(node string) string
	Environ  []string // what jobs inherit; nil for the environment of this process
	WorkDir  string   // where jobs start; empty for the directory of this process
	NodeType string   // "local" (default) or "slurm"
	Hostname string   // os.Hostname if empty
	// SchedulerConfigID, StrictScheduler and Scheduler are sent when registering.
	SchedulerConfigID *int64
	StrictScheduler   bool
	Scheduler         any
	// Allocation is the allocation of the runner, if the daemon has requested it.
	Allocation *lease.AllocationMember
	// OnlyLogin has the runner take only jobs that must run on the daemon's host. It
	// must be this host.
	OnlyLogin bool

	Executor process.Executor // nil for processes
	// Key identifies this Run, and Random, in [0, 1), spreads its calls; both have
	// defaults.
	Key      string
	Random   func() float64
	Actions  ActionClient // nil for no actions
	Accounts StepAccounts // nil to account no steps
	Log      *slog.Logger // nil for none
	// Failpoint, if not nil, is called at places where tests kill the runner.
	Failpoint func(name string)
	// RestoreOutput, if not nil, recreates the caller's files in an OutputDir that was
	// removed: its lock, and the log.
	RestoreOutput func() error
	// OnEvent, if not nil, is called for each event, in order. It must not block.
	OnEvent func(Event)
}

// Runner runs the jobs of one workflow on this node. Make one with New.
//
// The goroutine of Run owns all fields below "owned by Run"; others send it
// messages through the mailbox.
type Runner struct {
	opts      Options
	log       *slog.Logger
	shell     string // path of bash
	executor  process.Executor
	ender     process.Ender // executor, if its commands are not processes; else nil
	restore   restorer
	box       *mailbox
	pool      *pool
	keeper    *process.Keeper
	monitor   *monitor // nil if nothing is to be recorded
	oom       *oom.Tracker
	failed    failedWorkflow
	stopping  chan StopKind
	abandon   sync.Once
	abandoned chan struct{}
	requests  sync.WaitGroup // calls under way

	// Set when registering, constant afterwards.
	key          string
	registration *lease.RegisterRequest
	about        *lease.RegisterResponse
	detector     *failure.Detector // of failure patterns
	policy       policy
	steps        *steps.Mode // nil unless jobs are steps
	env          environment
	spool        *delivery
	leftover     *process.Journal

	// Owned by Run.
	id           int64 // changes when the runner registers again
	began        time.Time
	shares       bool // shares its host with other runners
	schedule     schedule
	room         room
	queue        queue
	work         work
	pace         pace
	turns        turns
	repairs      repairs
	slurmReasons slurmReasons
	pause        launchPause
	accounts     stepAccounts
	leaving      leaving
	actions      actions
	active       time.Time // of the last grant or end of a job
	summary      Summary
}

// New returns a runner for Run. It returns an error if a required option is missing, or
// bash.
func New(o Options) (*Runner, error) {
	if o.Client == nil || o.WorkflowID <= 0 || o.OutputDir == "" {
		return nil, errors.New("runner: client, workflow and output directory are required")
	}
	dir, err := filepath.Abs(o.OutputDir)
	if err != nil {
		return nil, fmt.Errorf("runner: output directory: %w", err)
	}
	o.OutputDir = dir
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Environ == nil {
		o.Environ = inheritedEnvironment()
	}
	if o.Random == nil {
		o.Random = mathrand.Float64
	}
	if o.NodeType == "" {
		o.NodeType = compute.SchedulerLocal
	}
	if o.Hostname == "" {
		if o.Hostname, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("runner: host name: %w", err)
		}
	}
	shell, err := exec.LookPath("bash")
	if err != nil {
		return nil, workflow.Errorf(workflow.CodeInvalid, "bash is not on the PATH").
			WithHint("jobs are run with bash -c; install bash")
	}
	shares := o.sharesHost()
	o.Resources = o.Resources.orDetected(o.Environ, o.Log)
	r := &Runner{
		opts: o, log: o.Log, shell: shell,
		key:       cmp.Or(o.Key, rand.Text()),
		box:       newMailbox(),
		stopping:  make(chan StopKind, 4),
		abandoned: make(chan struct{}),
		failed:    newFailedWorkflow(),
		shares:    shares,
		room:      room{total: o.Resources.capacity(), hosts: newHosts(&o), gpus: newGPUPool(o.Resources.devices())},
		work:      work{attempts: make(map[lease.LeaseRef]*attempt), byJob: make(map[int64]*attempt)},
	}
	return r.linkParts(), nil
}

// linkParts sets the references of its parts to the runner.
func (r *Runner) linkParts() *Runner {
	r.restore.runner, r.room.runner, r.queue.runner, r.work.runner = r, r, r, r
	r.turns.runner, r.repairs.runner, r.actions.runner, r.leaving.runner = r, r, r, r
	r.slurmReasons.runner, r.pause.runner, r.accounts.runner = r, r, r
	return r
}

// Run registers, runs jobs until none is left or it is told to stop, and deregisters.
// It may be called once. When ctx is done it stops as by StopCancel. It returns what
// was done, also with an error.
func (r *Runner) Run(ctx context.Context) (Summary, error) {
	r.began = time.Now()
	if err := r.prepare(); err != nil {
		return r.summary, err
	}
	if err := r.register(ctx); err != nil {
		return r.summary, err
	}
	release, err := r.open()
	if err != nil {
		r.sendLeave(&lease.LeaveRequest{Reason: "the runner could not start: " + err.Error()})
		return r.summary, err
	}
	if err = r.loop(ctx); !errors.Is(err, errAbandoned) {
		r.deregister()
	}
	r.restore.checkAtEnd()
	return r.summary, errors.Join(err, release())
}

// prepare creates the directories that attempts write to.
func (r *Runner) prepare() error {
	for _, name := range []string{output.StdioDir, output.TerminationDir, output.SpoolDir} {
		dir := filepath.Join(r.opts.OutputDir, name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return output.Unwritable(err)
		}
		if err := trustedfile.CheckLink(dir); err != nil {
			return output.Unwritable(err)
		}
	}
	return nil
}

// minWorkers is how many files may hang on a file system before starts hang, too.
const minWorkers = 4

// open starts the goroutines that work for the loop. release ends them.
func (r *Runner) open() (release func() error, err error) {
	var closers []func() error
	release = func() error {
		var errs []error
		for i := len(closers) - 1; i >= 0; i-- {
			errs = append(errs, closers[i]())
		}
		return errors.Join(errs...)
	}
	if r.executor = r.opts.Executor; r.executor == nil {
		e, err := process.NewSpawner(r.log)
		if err != nil {
			return nil, err
		}
		r.executor = e
		closers = append(closers, func() error { e.Close(); return nil })
	}
	r.ender, _ = r.executor.(process.Ender)
	r.oom = oom.New(oom.MemoryGroups(), r.opts.Allocation == nil, r.log)
	closers = append(closers, r.oom.Close)
	if err := r.openSpool(&closers); err != nil {
		return nil, errors.Join(err, release())
	}
	r.openMonitor(&closers)
	r.pool = newPool(max(minWorkers, runtime.GOMAXPROCS(0)))
	closers = append(closers, func() error { return r.pool.close(endPatience) })
	return release, nil
}

// openMonitor starts the keeper and the monitor.
func (r *Runner) openMonitor(closers *[]func() error) {
	r.keeper = process.NewKeeper(r.log, monitorInterval(r.about.ResourceMonitor), r.oom)
	r.monitor = newMonitor(r.about.ResourceMonitor, r.metricsPath(), r.log)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	if r.monitor != nil {
		wg.Go(func() { r.monitor.run(ctx) })
	}
	wg.Go(func() { r.keeper.Run(ctx) })
	*closers = append(*closers, func() error { cancel(); wg.Wait(); return nil })
}

// register registers the runner and takes over the settings of the workflow.
func (r *Runner) register(ctx context.Context) error {
	end := r.opts.EndTime
	if end.IsZero() && r.opts.TimeLimit > 0 {
		end = r.began.Add(r.opts.TimeLimit)
	}
	req := &lease.RegisterRequest{
		Key: r.key, Hostname: r.opts.Hostname, PID: int64(os.Getpid()), BootID: process.BootID(),
		StartTime: r.began.Format(time.RFC3339Nano),
		NumCPUs:   r.room.total.cpus, MemoryBytes: r.room.total.memory, NumGPUs: r.room.total.gpus, NumNodes: int64(len(r.room.hosts)),
		Labels: r.opts.Labels, NodeType: r.opts.NodeType, OutputDir: r.opts.OutputDir,
		MaxParallelJobs:   r.opts.MaxParallelJobs,
		SchedulerConfigID: r.opts.SchedulerConfigID, StrictScheduler: r.opts.StrictScheduler,
		Scheduler: r.opts.Scheduler, Allocation: r.opts.Allocation, OnlyLogin: r.opts.OnlyLogin,
		SharesHost: r.shares,
	}
	if !end.IsZero() {
		req.EndTime = end.Format(time.RFC3339)
	}
	resp, err := r.registerWithRetry(ctx, req)
	if err != nil {
		return fmt.Errorf("register with workflow %d: %w", r.opts.WorkflowID, err)
	}
	r.registration = req
	r.id, r.about = resp.RunnerID, resp
	r.policy = newPolicy(resp.ExecutionConfig, resp.EnforceRuntime)
	if r.steps, err = steps.ModeOf(resp.ExecutionConfig, r.opts.Steps); err != nil {
		r.sendLeave(&lease.LeaveRequest{Reason: err.Error()})
		return err
	}
	r.schedule = r.policy.schedule(r.began, end)
	r.env = newEnvironment(r.opts.Environ, resp.Env, r.sharedVariables())
	r.summary = Summary{
		RunnerID: resp.RunnerID, RunID: resp.RunID, Workflow: resp.WorkflowName,
		ByStatus: make(map[workflow.JobStatus]int64), ByCause: make(map[workflow.CauseKind]int64),
		Offer: r.room.wholeOffer(),
	}
	r.log = r.log.With("workflow_id", r.opts.WorkflowID, "compute_node_id", r.id)
	r.log.Info("registered", "run_id", resp.RunID, "num_cpus", r.room.total.cpus,
		"memory_bytes", r.room.total.memory, "num_gpus", r.room.total.gpus)
	r.emit(Event{Kind: EventRegistered})
	return nil
}

func (r *Runner) failpoint(name string) {
	if r.opts.Failpoint != nil {
		r.opts.Failpoint(name)
	}
}

// emit passes an event to OnEvent.
func (r *Runner) emit(e Event) {
	if r.opts.OnEvent != nil {
		e.Time = time.Now()
		r.opts.OnEvent(e)
	}
}

func (r *Runner) emitFor(a *attempt, e Event) {
	if r.opts.OnEvent != nil {
		e.JobID, e.JobName, e.Attempt = a.grant.JobID, a.grant.Name, a.grant.Attempt
		r.emit(e)
	}
}
