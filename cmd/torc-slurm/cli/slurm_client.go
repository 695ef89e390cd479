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
	// LeastCalls is the smallest budget: a daemon makes nine calls before its first
	// allocation, and commands make six to read the cluster, within their half.
	LeastCalls = 20
	// CommandCalls is the budget if none is configured. Commands may use half of it;
	// the daemon is not limited then.
	CommandCalls = 60
)

// SlurmClient returns the client of this machine's cluster. A process has one. A command
// may make few calls, so that the daemon's calls come first however often it is repeated.
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

// DaemonSlurm is SlurmClient for a daemon, whose calls are limited only by configuration.
func (a *Factory) DaemonSlurm() *slurm.Client {
	o := a.slurmOptions()
	o.Ledger = a.slurmLedger()
	a.slurm = slurm.New(o)
	return a.slurm
}

// RunnerSlurm is SlurmClient for a runner on a compute node, which has its own budget.
func (a *Factory) RunnerSlurm() *slurm.Client {
	if a.slurm == nil {
		a.slurm = slurm.New(a.slurmOptions())
	}
	return a.slurm
}

// slurmLedger returns the file in which the user's processes on this host record their
// calls.
func (a *Factory) slurmLedger() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown" // any name will do
	}
	_ = os.MkdirAll(a.Home(), 0o700) // without a ledger each process has its own budget
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
