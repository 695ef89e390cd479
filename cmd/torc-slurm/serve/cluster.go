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

// clusterOptions returns the options with which a daemon requests allocations from Slurm;
// they are empty on a host without sbatch.
func clusterOptions(a *cli.Factory) server.ClusterOptions {
	sbatch := (&slurm.OS{Paths: slurm.FakePaths(a.Getenv)}).Path(slurm.Sbatch)
	if _, err := exec.LookPath(sbatch); err != nil {
		return server.ClusterOptions{}
	}
	config := &a.Config.Server.Slurm
	memory := &sites.Memory{App: a}
	return server.ClusterOptions{
		Slurm: a.DaemonSlurm(), Name: slurm.ClusterName(a.Getenv), StateDir: a.Home(), Program: a.Executable, Site: memory.Site, Facts: memory.Facts, Settings: config.Allocation(), Scheduling: config.Scheduling(),
		SignalLead: cli.Seconds(config.SignalLeadSecs), DaemonPatience: cli.Seconds(config.DaemonPatienceSecs), Requeue: config.Requeue, NoForecast: !config.Forecast,
	}
}

// spooled returns the reports that a runner that has ended left in its output directory, or
// the error of reading them.
func spooled(outputDir, database string, runnerID int64) ([]server.Spooled, error) {
	spools, err := runner.ReadSpooled(outputDir, database, func(h *spool.Header) bool { return h.RunnerID == runnerID })
	all := make([]server.Spooled, len(spools))
	for i, s := range spools {
		all[i] = server.Spooled{RunID: s.RunID, Reports: s.Reports, Started: s.Started, Delivered: s.Delivered}
	}
	return all, err
}
