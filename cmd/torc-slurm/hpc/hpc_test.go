package hpc

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const mineFile = `[client.hpc.custom_profiles.mine]
display_name = "Mine"
[[client.hpc.custom_profiles.mine.partitions]]
name = "short"
cpus_per_node = 8
memory_mb = 16384
max_walltime_secs = 3600
`

func TestMatch(t *testing.T) {
	files := map[string]string{".config/torc/config.toml": mineFile}
	wrong := func(args, message string) clitest.Case {
		return clitest.Case{Args: args, Files: files, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
	}
	clitest.Check(t, New,
		wrong("hpc match mine --cpus -1", "the numbers of CPUs, GPUs and nodes cannot be negative"),
		wrong("hpc match mine --nodes -1", "the numbers of CPUs, GPUs and nodes cannot be negative"),
		wrong("hpc match mine --walltime soon", `--walltime "soon" is not a duration such as 4h, 04:00:00, 2-00:00:00 or PT4H`),
		clitest.Case{Args: "hpc match mine --cpus 4 --walltime PT30M", Files: files, Want: clitest.Result{Stdout: `╭───────────┬──────┬────────────────────────╮
│ Partition │ Fits │ Why                    │
├───────────┼──────┼────────────────────────┤
│ short     │ yes  │ the only one that fits │
╰───────────┴──────┴────────────────────────╯
Best: short, the only one that fits
`}},
		clitest.Case{Args: "hpc match mine --cpus 16 -f json", Files: files, Want: clitest.Result{Status: cli.ExitFailed, Stdout: `{
  "profile_name": "mine",
  "items": [
    {
      "partition": "short",
      "fits": false,
      "best": false,
      "reason": "16 CPUs are needed, a node has 8"
    }
  ]
}
`}},
	)
}

func TestPartitions(t *testing.T) {
	files := map[string]string{".config/torc/config.toml": mineFile}
	const header = "Name,CPUs/Node,Memory,Max Walltime,Max Nodes,GPUs,Shared,Explicit,Notes\n"
	clitest.Check(t, New,
		clitest.Case{Args: "hpc partitions mine -f csv", Files: files, Want: clitest.Result{Stdout: header + "short,8,16 GiB,01:00:00,-,-,no,no,\n"}},
		clitest.Case{Args: "hpc partitions mine -f csv --gpu", Files: files, Want: clitest.Result{Stdout: header}},
		clitest.Case{Args: "hpc partitions mine -f csv --shared", Files: files, Want: clitest.Result{Stdout: header}},
		clitest.Case{Args: "hpc show other", Files: files, Want: clitest.Result{Status: 3,
			Stderr: "error: there is no HPC profile other\nhint: known profiles: dane, kestrel, mine\n"}},
	)
}
