package serve

import (
	"os/exec"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/sites"
	"github.com/torc-slurm/torc-slurm/runner"
	"github.com/torc-slurm/torc-slurm/runner/spool"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/slurm"
)

// clusterOptions are those of a daemon that can ask Slurm for allocations: one
// on a host that has sbatch.
func clusterOptions(a *cli.Factory) server.ClusterOptions {
	sbatch := (&slurm.OS{Paths: slurm.FakePaths(a.Getenv)}).Path(slurm.Sbatch)
	if _, err := exec.LookPath(sbatch); err != nil {
		return server.ClusterOptions{}
	}
	config := &a.Config.Server.Slurm
	memory := &sites.Memory{App: a}
	return server.ClusterOptions{
		Slurm: a.DaemonSlurm(), Name: slurm.ClusterName(a.Getenv), StateDir: a.Home(), Program: a.Executable, Site: memory.Site, Facts: memory.Facts, Settings: config.Allocation(), Scheduling: config.Scheduling(),
		SignalLead: cli.Seconds(config.SignalLeadSecs), DaemonPatience: cli.Seconds(config.DaemonPatienceSecs), Requeue: config.Requeue,
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
