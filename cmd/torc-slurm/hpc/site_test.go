package hpc

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// detectedFile describes a cluster that this machine belongs to, by a variable.
const detectedFile = mineFile + "[client.hpc.custom_profiles.other]\ndisplay_name = \"Other\"\ndetect_env_var = \"CLUSTER=other\"\npartitions = []\n"

func TestList(t *testing.T) {
	files := map[string]string{".config/torc/config.toml": detectedFile}
	clitest.Check(t, New,
		clitest.Case{Args: "hpc list", Files: files, Environ: []string{"CLUSTER=other"}, Want: clitest.Result{
			Stdout: `╭─────────┬──────────────┬────────────┬──────────╮
│ Name    │ Display Name │ Partitions │ Detected │
├─────────┼──────────────┼────────────┼──────────┤
│ dane    │ LLNL Dane    │ 6          │ no       │
│ kestrel │ NLR Kestrel  │ 15         │ no       │
│ mine    │ Mine         │ 1          │ no       │
│ other   │ Other        │ 0          │ yes      │
╰─────────┴──────────────┴────────────┴──────────╯
Total: 4 clusters
`,
		}},
		clitest.Case{Args: "hpc list -f csv", Files: files, Want: clitest.Result{
			Stdout: `Name,Display Name,Partitions,Detected
dane,LLNL Dane,6,no
kestrel,NLR Kestrel,15,no
mine,Mine,1,no
other,Other,0,no
`,
		}},
		// A file of the user's goes before what is shipped, and one that is wrong is told of.
		clitest.Case{
			Args: "hpc list -f csv", Want: clitest.Result{
				Stdout: `Name,Display Name,Partitions,Detected
dane,Our Dane,6,no
kestrel,NLR Kestrel,15,no
`,
			},
			Files: map[string]string{".config/torc/sites/dane.yaml": "name: dane\ndisplay_name: Our Dane\npartitions: []\n"},
		},
		clitest.Case{Args: "hpc list", Files: map[string]string{".config/torc/sites/dane.yaml": "name: dane\npartitions: 3\n"}, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: $DIR/.config/torc/sites/dane.yaml:2:13: expected a list of partitions\n",
		}},
	)
}

// TestDetect: a cluster is recognised by signs, else by what Slurm says.
func TestDetect(t *testing.T) {
	files := map[string]string{".config/torc/config.toml": detectedFile}
	clitest.Check(t, New,
		clitest.Case{Args: "hpc detect", Files: files, Environ: []string{"CLUSTER=other"}, Want: clitest.Result{
			Stdout: `Name:                  other
Display name:          Other
Charge per node-hour:  1, with GPUs 10
╭──────┬───────────┬────────┬──────────────┬───────────┬──────┬────────┬──────────┬───────╮
│ Name │ CPUs/Node │ Memory │ Max Walltime │ Max Nodes │ GPUs │ Shared │ Explicit │ Notes │
├──────┼───────────┼────────┼──────────────┼───────────┼──────┼────────┼──────────┼───────┤
╰──────┴───────────┴────────┴──────────────┴───────────┴──────┴────────┴──────────┴───────╯
`,
		}},
		clitest.Case{Args: "hpc detect", Files: files, Want: clitest.Result{
			Status: 3,
			Stderr: "error: no HPC profile specified and no system detected\n" +
				"hint: choose one of `torc-slurm hpc list`, or run it on a host with Slurm\n",
		}},
		clitest.Slurm(t, clitest.Case{Args: "hpc detect", Terminal: 90, Want: clitest.Result{
			Stdout: `Name:                  torctest
Display name:          torctest
Description:           as Slurm describes it
Default account:       research
Slurm:                 22.05.8
Charge per node-hour:  1, with GPUs 10
╭──────────┬──────────┬─────────┬──────────┬──────────┬──────────┬────────┬──────────┬──────────╮
│ Name     │ CPUs/No… │ Memory  │ Max Wal… │ Max Nod… │ GPUs     │ Shared │ Explicit │ Notes    │
├──────────┼──────────┼─────────┼──────────┼──────────┼──────────┼────────┼──────────┼──────────┤
│ debug    │ 4        │ 3.9 GiB │ 1-00:00… │ -        │ 2 x test │ yes    │ no       │ default  │
│ standby  │ 4        │ 3.9 GiB │ 1-00:00… │ -        │ 2 x test │ yes    │ no       │ jobs ma… │
│ scavenge │ 4        │ 3.9 GiB │ 1-00:00… │ -        │ 2 x test │ yes    │ no       │ jobs ma… │
╰──────────┴──────────┴─────────┴──────────┴──────────┴──────────┴────────┴──────────┴──────────╯
`,
		}}),
		clitest.Slurm(t, clitest.Case{Args: "hpc partitions torctest --gpu -f csv", Want: clitest.Result{
			Stdout: `Name,CPUs/Node,Memory,Max Walltime,Max Nodes,GPUs,Shared,Explicit,Notes
debug,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,default
standby,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,jobs may be preempted
scavenge,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,jobs may be preempted
`,
		}}),
		clitest.Slurm(t, clitest.Case{Args: "hpc partitions -f csv", Want: clitest.Result{
			Stdout: `Name,CPUs/Node,Memory,Max Walltime,Max Nodes,GPUs,Shared,Explicit,Notes
debug,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,default
standby,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,jobs may be preempted
scavenge,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,jobs may be preempted
`,
		}}),
		clitest.Slurm(t, clitest.Case{
			Args: "hpc show", Files: map[string]string{".config/torc/sites/torctest.yaml": "name: torctest\ndisplay_name: Ours\ndefault_account: ours\n"}, Want: clitest.Result{
				Stdout: `Name:                  torctest
Display name:          Ours
Description:           as Slurm describes it
Default account:       ours
Slurm:                 22.05.8
Charge per node-hour:  1, with GPUs 10
╭──────────┬───────────┬─────────┬──────────────┬───────────┬──────────┬────────┬──────────┬───────────────────────╮
│ Name     │ CPUs/Node │ Memory  │ Max Walltime │ Max Nodes │ GPUs     │ Shared │ Explicit │ Notes                 │
├──────────┼───────────┼─────────┼──────────────┼───────────┼──────────┼────────┼──────────┼───────────────────────┤
│ debug    │ 4         │ 3.9 GiB │ 1-00:00:00   │ -         │ 2 x test │ yes    │ no       │ default               │
│ standby  │ 4         │ 3.9 GiB │ 1-00:00:00   │ -         │ 2 x test │ yes    │ no       │ jobs may be preempted │
│ scavenge │ 4         │ 3.9 GiB │ 1-00:00:00   │ -         │ 2 x test │ yes    │ no       │ jobs may be preempted │
╰──────────┴───────────┴─────────┴──────────────┴───────────┴──────────┴────────┴──────────┴───────────────────────╯
`,
			},
		}),
	)
}

// TestGenerate: what Slurm says becomes a file, which is not overwritten.
func TestGenerate(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "hpc generate", Want: clitest.Result{
			Status: 3,
			Stderr: "error: query the configuration of the cluster: scontrol: scontrol could not be started: fork/exec /nonexistent/scontrol: no such file or directory\n",
		}},
		clitest.Slurm(t, clitest.Case{Args: "hpc generate -o mine.yaml", Files: map[string]string{"mine.yaml": "mine"}, Read: []string{"mine.yaml"}, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: mine.yaml already exists
hint: remove it first
`,
			Files: map[string]string{"mine.yaml": "mine"},
		}}),
		clitest.Slurm(t, clitest.Case{Args: "hpc generate -o away/mine.yaml -f json", Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `{
  "status": "error",
  "message": "open $DIR/away/mine.yaml: no such file or directory",
  "exit_status": 5
}
`,
		}}),
	)
	made := clitest.Run(t, New, clitest.Slurm(t, clitest.Case{Args: "hpc generate -n mine -d 'My cluster' -o mine.yaml", Read: []string{"mine.yaml"}}))
	if made.Status != 0 || made.Stdout != "Wrote mine.yaml\n" {
		t.Fatalf("%+v", made)
	}
	printed := clitest.Run(t, New, clitest.Slurm(t, clitest.Case{Args: "hpc generate -n mine -d 'My cluster'"}))
	if printed.Stdout != made.Files["mine.yaml"] {
		t.Errorf("printed is %q, written %q", printed.Stdout, made.Files["mine.yaml"])
	}
	// In the folder of sites it is used instead of asking.
	clitest.Check(t, New, clitest.Case{
		Args: "hpc partitions mine -f csv", Files: map[string]string{".config/torc/sites/mine.yaml": made.Files["mine.yaml"]}, Want: clitest.Result{
			Stdout: `Name,CPUs/Node,Memory,Max Walltime,Max Nodes,GPUs,Shared,Explicit,Notes
debug,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,default
standby,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,jobs may be preempted
scavenge,4,3.9 GiB,1-00:00:00,-,2 x test,yes,no,jobs may be preempted
`,
		},
	})
}
