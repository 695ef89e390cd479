package cli

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// Calls of Slurm's programs per minute.
const (
	// LeastCalls is the smallest budget: a daemon asks nine times before its first
	// allocation, and commands six times what a cluster offers, within their half.
	LeastCalls = 20
	// CommandCalls is the budget where none is configured. Commands may use half
	// of it, the daemon is not limited then.
	CommandCalls = 60
)

// SlurmClient talks to the cluster that this machine belongs to, if to any. A
// process has one. That of a command is modest: whatever it is repeated by, the
// daemon's calls come first.
func (a *Factory) SlurmClient() *slurm.Client {
	if a.slurm == nil {
		o := a.slurmOptions()
		o.Ledger, o.Modest = a.slurmLedger(), true
		if o.Budget == 0 {
			o.Budget = CommandCalls
		}
		a.slurm = slurm.New(o)
	}
	return a.slurm
}

// DaemonSlurm is slurmClient for a daemon, whose calls are its own business as
// long as nothing is configured.
func (a *Factory) DaemonSlurm() *slurm.Client {
	o := a.slurmOptions()
	o.Ledger = a.slurmLedger()
	a.slurm = slurm.New(o)
	return a.slurm
}

// RunnerSlurm is slurmClient for a runner on a compute node, which counts for
// itself.
func (a *Factory) RunnerSlurm() *slurm.Client {
	if a.slurm == nil {
		a.slurm = slurm.New(a.slurmOptions())
	}
	return a.slurm
}

// slurmLedger is the file in which the user's processes on this host note their
// calls.
func (a *Factory) slurmLedger() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // as good as any name
	}
	_ = os.MkdirAll(a.Home(), 0o700) // without a ledger a process counts for itself
	return filepath.Join(a.Home(), "slurm-calls-"+strings.ReplaceAll(host, "/", "_"))
}

func (a *Factory) slurmOptions() slurm.Options {
	o := slurm.Options{Executor: &slurm.OS{Paths: slurm.FakePaths(a.Getenv)}, Now: a.Now, OpenLedger: trustedfile.OpenOwn}
	c := &a.Config.Server.Slurm
	if c.CallsPerMinute > 0 {
		o.Budget = max(int(c.CallsPerMinute), LeastCalls)
	}
	if c.CallTimeoutSecs != 0 {
		o.Timeouts = map[string]time.Duration{}
		for _, program := range []string{slurm.Sbatch, slurm.Squeue, slurm.Sacct, slurm.Scontrol, slurm.Scancel, slurm.Sinfo, slurm.Sacctmgr} {
			o.Timeouts[program] = Seconds(c.CallTimeoutSecs)
		}
	}
	return o
}
