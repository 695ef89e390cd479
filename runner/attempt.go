package runner

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// phase is how far an attempt has come on the runner.
type phase uint8

const (
	queued     phase = iota // granted, waits for room
	starting                // its process starts
	running                 // its process runs
	ending                  // its leader has ended, other processes of its tree have not
	finishing               // evidence is being gathered
	reported                // its report waits for the daemon's answer
	repairing               // its recovery script waits to be started
	discarding              // to be given back
)

// attempt is a lease and the process that runs for it: the job, or the recovery
// script of its failed attempt. The goroutine of Run owns it; grant and key never
// change.
type attempt struct {
	grant lease.Grant
	key   string

	phase    phase
	granted  time.Time
	pid      int
	started  time.Time
	exit     *process.Exit
	spawnErr *process.SpawnError
	killed   workflow.KillReason
	void     bool // the lease is lost; nothing is reported
	note     string
	files    output.Files
	gpus     []string // to give back
	taken    bool     // holds capacity
	hosts    []*host  // of which it takes some
	alone    bool     // no other attempt of this runner ran at the same time
	stuck    bool     // some of its processes could not be ended
	watch    *process.Watch
	timer    *time.Timer // run time limit
	runLimit time.Duration
	// How to kill it once its start is complete.
	killSignal unix.Signal
	killLead   time.Duration
	// Of a step: whether it has been signaled, and the timer that kills it.
	signaled bool
	endTimer *time.Timer
	recovery *lease.Recovery // the script to run instead of the job, else nil
	// shortSince is since when Slurm has had no resources for the step; zero if it has.
	shortSince time.Time
}

func (a *attempt) ref() lease.LeaseRef { return a.grant.LeaseRef }

// displayName returns the job's name, marked if it is for its recovery script.
func (a *attempt) displayName() string {
	if a.recovery != nil {
		return "the recovery script of " + a.grant.Name
	}
	return a.grant.Name
}

// live reports whether processes of the attempt may exist.
func (a *attempt) live() bool {
	switch a.phase {
	case starting, running, ending, finishing:
		return true
	}
	return false
}

// Messages from the workers to the loop.
type (
	startedMsg struct {
		attempt *attempt
		pid     int
		at      time.Time
		files   output.Files
		err     error
	}
	exitedMsg struct {
		attempt *attempt
		exit    process.Exit
	}
	// goneMsg says that no process of the attempt's tree is left, except for `left`
	// processes that could not be ended.
	goneMsg struct {
		attempt *attempt
		left    int
	}
	finishedMsg struct {
		attempt *attempt
		report  lease.Report
		strays  bool // it still has processes; nothing else is set
		// refused is why Slurm did not start the step, and there is no report; nil if
		// it was started.
		refused *slurm.StepRefusal
	}
	overdueMsg struct{ attempt *attempt }
)
