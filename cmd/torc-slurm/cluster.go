package main

import (
	"os/exec"

	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// clusterOptions are those of a daemon that can ask Slurm for allocations: one
// on a host that has sbatch.
func (a *app) clusterOptions() server.ClusterOptions {
	sbatch := (&slurm.OS{Paths: slurm.FakePaths(a.getenv)}).Path(slurm.Sbatch)
	if _, err := exec.LookPath(sbatch); err != nil {
		return server.ClusterOptions{}
	}
	config := &a.config.Server.Slurm
	memory := &siteMemory{app: a}
	return server.ClusterOptions{
		Slurm: a.daemonSlurm(), Name: slurm.ClusterName(a.getenv), Program: a.Executable, Site: memory.site, Facts: memory.facts, Settings: config.allocation(), Scheduling: config.scheduling(),
		SignalLead: seconds(config.SignalLeadSecs), DaemonPatience: seconds(config.DaemonPatienceSecs), Requeue: config.Requeue,
	}
}

// spooled reads what a runner that is over wrote down.
func spooled(outputDir, database string, runnerID int64) ([]server.Spooled, error) {
	lives, err := runner.ReadSpooled(outputDir, database, func(h *spool.Header) bool { return h.RunnerID == runnerID })
	left := make([]server.Spooled, len(lives))
	for i, life := range lives {
		left[i] = server.Spooled{RunID: life.RunID, Reports: life.Reports, Started: life.Started, Delivered: life.Delivered}
	}
	return left, err
}
