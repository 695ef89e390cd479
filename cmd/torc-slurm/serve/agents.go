package serve

import (
	"cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/server"
	"github.com/torc-slurm/torc-slurm/server/agent"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// agentOptions returns the agents that the daemon can ask about held jobs. It returns an error
// if the configuration describes one wrongly.
func agentOptions(a *cli.Factory) (server.AgentOptions, error) {
	o := server.AgentOptions{
		Agents: agent.Agents{}, Environ: a.Environ,
		Server: func(url, key, outputDir string) agent.Server {
			// The program may have been started under another name, which has other commands.
			args := []string{"-c", `exec -a torc-slurm "$0" "$@"`, a.Executable, "--url", url, "mcp", "--mode", "propose", "--call", key}
			if outputDir != "" {
				args = append(args, "--output-dir", outputDir)
			}
			return agent.Server{Program: "bash", Args: args}
		},
	}
	for name, c := range a.Config.Agents {
		o.Agents[name] = agent.Agent{Command: c.Command, Environ: c.Environ, File: cmp.Or(c.File, agent.ServersFile)}
	}
	if err := o.Agents.Check(); err != nil {
		return o, workflow.Errorf(workflow.CodeInvalid, "configuration: %v", err)
	}
	return o, nil
}
