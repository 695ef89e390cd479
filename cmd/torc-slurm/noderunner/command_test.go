package noderunner

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// inAllocation are the variables of a batch script.
var inAllocation = []string{"SLURM_JOB_ID=812", "SLURM_JOB_NODELIST=n1", "SLURMD_NODENAME=n1", "SLURM_CPUS_ON_NODE=2", "SLURM_JOB_END_TIME=1773496800"}

const runnerArgs = "runner --endpoint $DIR/endpoint.json --secret $DIR/secret --workflow 12 -o out --patience 1ns"

// TestRunnerExits: a batch script sees by the exit status why its runner did not start.
func TestRunnerExits(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "runner --workflow 12", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: required flag(s) \"endpoint\", \"output-dir\", \"secret\" not set\n",
		}},
		clitest.Case{Args: runnerArgs, Want: clitest.Result{
			Status: cli.ExitUsage, Stderr: "error: SLURM_JOB_ID is not set: this is not a Slurm allocation\n",
		}},
		clitest.Case{Args: runnerArgs, Environ: inAllocation, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: "error: reach the daemon: cannot read the secret of this allocation: lstat $DIR/secret: no such file or directory\n" +
				"hint: the daemon removes the secret when it considers the allocation ended\n",
		}},
		clitest.Case{Args: runnerArgs, Environ: inAllocation, Files: map[string]string{"secret": "hidden"}, Want: clitest.Result{
			Status: cli.ExitUnreachable,
			Stderr: "error: reach the daemon: cannot find the daemon: read endpoint file: lstat $DIR/endpoint.json: no such file or directory\n",
		}},
		clitest.Case{Args: runnerArgs, Environ: inAllocation, Files: map[string]string{"secret": "hidden", "endpoint.json": `{"url":"http://127.0.0.1:1"}`}, Want: clitest.Result{
			Status: cli.ExitUnreachable,
			Stderr: "error: reach the daemon: the daemon does not listen for compute nodes\n",
		}},
	)
}

// TestTorcRunnerExits: torc's clients start a runner with arguments instead of flags.
func TestTorcRunnerExits(t *testing.T) {
	clitest.Check(t, NewTorc,
		clitest.Case{Args: "torc-slurm-job-runner http://127.0.0.1:1 twelve out", Want: clitest.Result{
			Status: cli.ExitUsage, Stderr: "error: \"twelve\" is not the id of a workflow: ids are numbers from 1\n",
		}},
		clitest.Case{Args: "torc-slurm-job-runner http://127.0.0.1:1 12 out", Want: clitest.Result{
			Status: cli.ExitUsage, Stderr: "error: SLURM_JOB_ID is not set: this is not a Slurm allocation\n",
		}},
	)
}

// TestGatewayRuns: a gateway says where it listens, and ends with its standard input.
func TestGatewayRuns(t *testing.T) {
	got := clitest.Run(t, NewGateway, clitest.Case{Args: "node-gateway --workflow 12 --endpoint $DIR/endpoint.json --secret $DIR/secret"})
	if got.Status != 0 || !strings.Contains(got.Stdout, "http://127.0.0.1:") || !strings.Contains(got.Stdout, api.BasePath) {
		t.Errorf("a gateway: %+v", got)
	}
	clitest.Check(t, NewGateway, clitest.Case{Args: "node-gateway", Want: clitest.Result{
		Status: cli.ExitUsage, Stderr: "error: required flag(s) \"workflow\" not set\n",
	}})
}
