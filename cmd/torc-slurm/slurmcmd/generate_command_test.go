package slurmcmd

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// mine is the configuration of a cluster with one partition.
const mine = `[client.hpc.custom_profiles.mine]
display_name = "Mine"
[[client.hpc.custom_profiles.mine.partitions]]
name = "short"
cpus_per_node = 8
memory_mb = 16384
max_walltime_secs = 14400
`

const (
	twoJobs = `# our sweep
name: w
resource_requirements:
  - {name: small, num_cpus: 2, memory: 1g, runtime: PT30M}
jobs:
  - {name: a, command: ./a, resource_requirements: small}
  - {name: b, command: ./b, resource_requirements: small, depends_on: [a]}
`
	tooLarge = "name: w\nresource_requirements:\n  - {name: big, num_cpus: 64, memory: 1g, runtime: PT30M}\njobs:\n  - {name: a, command: ./a, resource_requirements: big}\n"
)

const (
	onMine = `// Summary: 2 schedulers for 2 jobs, on Mine
//   short_scheduler: 1 job in 1 allocation of 1 node for 00:45:00, partition short (the only one that fits)
//   short_deferred_scheduler: 1 job in 1 allocation of 1 node for 00:45:00, partition short (the only one that fits)
`
)

func TestGenerate(t *testing.T) {
	files := map[string]string{
		".config/torc/config.toml": mine, "w.yaml": twoJobs, "large.yaml": tooLarge,
		"has.yaml": twoJobs + "slurm_schedulers:\n  - {name: s, account: ours, walltime: 01:00:00}\n",
	}
	clitest.Check(t, New,
		wrong("slurm generate --walltime-multiplier 0 w.yaml", "--walltime-multiplier must be from 1 to 1000, not 0"),
		clitest.Case{Args: "slurm generate $DIR/w.yaml --profile mine", Files: files, Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: no account is set; set --account, or account in slurm_defaults\n",
		}},
		clitest.Case{Args: "slurm generate $DIR/w.yaml --profile other -a ours", Files: files, Want: clitest.Result{
			Status: 3,
			Stderr: `error: there is no HPC profile other
hint: known profiles: dane, kestrel, mine
`,
		}},
		clitest.Case{Args: "slurm generate $DIR/has.yaml --profile mine -a ours", Files: files, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: `error: the specification has slurm_schedulers or schedule_nodes actions already
hint: --overwrite replaces them
`,
		}},
		clitest.Case{Args: "slurm generate $DIR/large.yaml --profile mine -a ours", Files: files, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: `error: jobs fit no partition of Mine:
a: needs 64 CPUs, the largest node of partition short has 8
hint: change what these jobs need; --skip-checks leaves them out
`,
		}},
		clitest.Case{Args: "slurm generate $DIR/large.yaml --profile mine -a ours --skip-checks", Files: files, Want: clitest.Result{
			Status: cli.ExitInvalidSpec,
			Stderr: `error: no job is left that a scheduler could be generated for
hint: jobs with the resource requirements big get no scheduler, they fit nowhere: short: 64 CPUs are needed, a node has 8
`,
		}},
		clitest.Case{Args: "slurm generate $DIR/w.yaml --profile mine -a ours --dry-run", Files: files, Want: clitest.Result{
			Stdout: `Summary: 2 schedulers for 2 jobs, on Mine
  short_scheduler: 1 job in 1 allocation of 1 node for 00:45:00, partition short (the only one that fits)
  short_deferred_scheduler: 1 job in 1 allocation of 1 node for 00:45:00, partition short (the only one that fits)
`,
		}},
		clitest.Case{Args: "slurm generate $DIR/w.yaml --profile mine -a ours", Files: files, Want: clitest.Result{
			Stdout: `# our sweep
name: w
resource_requirements:
  - {name: small, num_cpus: 2, memory: 1g, runtime: PT30M}
jobs:
  - {name: a, command: ./a, resource_requirements: small, scheduler: short_scheduler}
  - {name: b, command: ./b, resource_requirements: small, depends_on: [a], scheduler: short_deferred_scheduler}
slurm_schedulers:
  - name: short_scheduler
    account: ours
    nodes: 1
    walltime: 00:45:00
    mem: 16384M
  - name: short_deferred_scheduler
    account: ours
    nodes: 1
    walltime: 00:45:00
    mem: 16384M
actions:
  - trigger_type: on_jobs_ready
    action_type: schedule_nodes
    jobs:
      - a
    scheduler: short_scheduler
    scheduler_type: slurm
    num_allocations: 1
  - trigger_type: on_jobs_ready
    action_type: schedule_nodes
    jobs:
      - b
    scheduler: short_deferred_scheduler
    scheduler_type: slurm
    num_allocations: 1
`,
			Stderr: onMine,
		}},
		clitest.Case{Args: "slurm generate - --profile mine -a ours --no-actions -o out.yaml", Stdin: twoJobs, Files: files, Read: []string{"out.yaml"}, Want: clitest.Result{
			Stderr: onMine,
			Files: map[string]string{"out.yaml": `# our sweep
name: w
resource_requirements:
  - {name: small, num_cpus: 2, memory: 1g, runtime: PT30M}
jobs:
  - {name: a, command: ./a, resource_requirements: small, scheduler: short_scheduler}
  - {name: b, command: ./b, resource_requirements: small, depends_on: [a], scheduler: short_deferred_scheduler}
slurm_schedulers:
  - name: short_scheduler
    account: ours
    nodes: 1
    walltime: 00:45:00
    mem: 16384M
  - name: short_deferred_scheduler
    account: ours
    nodes: 1
    walltime: 00:45:00
    mem: 16384M
`},
		}},
		clitest.Case{Args: "slurm generate $DIR/w.yaml --profile mine -a ours -o away/out.yaml", Files: files, Want: clitest.Result{
			Status: cli.ExitRefused,
			Stderr: onMine + "error: --output: open $DIR/away/out.yaml: no such file or directory\n",
		}},
		clitest.Case{Args: "slurm plan $DIR/w.yaml --profile mine -a ours --offline", Files: files, Want: clitest.Result{
			Stdout: `2 jobs on Mine, account ours: at most 1 at the same time, 2 steps in sequence
short_scheduler: 1 job for 1 allocation of 1 node in partition short, 00:45:00: one node is enough
short_deferred_scheduler: 1 job for 1 allocation of 1 node in partition short, 00:45:00: one node is enough
Cost: at most 1.5 node-hours, for which the site charges 1.5
`,
		}},
	)
}

// sacctFiles has an sacct that is a shell script.
func sacctFiles(script string) map[string]string {
	return map[string]string{"sacct": "#!/bin/sh\n" + script + "\n"}
}

func TestAccounting(t *testing.T) {
	const nodes, stats, usage = "GET /scheduled_compute_nodes", "GET /slurm_stats", "POST /workflows/12/slurm_usage"
	routes := ready.With(clitest.Routes{
		nodes:          {Body: `{"items":[]}`},
		stats:          {Body: `{"items":[{"id":1,"workflow_id":12,"job_id":41,"run_id":1,"attempt_id":2,"slurm_job_id":"812.3","max_rss_bytes":1073741824,"ave_cpu_seconds":30,"node_list":"n1"},{"id":2,"workflow_id":12,"job_id":42,"run_id":1,"attempt_id":1}]}`},
		"GET /results": {Body: `{"items":[{"id":1,"job_id":41,"workflow_id":12,"run_id":1,"attempt_id":2,"exec_time_minutes":1}]}`},
		usage:          {Body: `{"workflow_id":12,"total_slurm_jobs":2,"total_nodes":3,"total_node_time":"02:00:00","total_cpu_time":"16:00:00","errors":["there is no accounting record of Slurm job 814"]}`},
	})
	two := routes.With(clitest.Routes{nodes: {Body: `{"items":[{"id":1,"workflow_id":12,"scheduler_id":813,"scheduler_type":"slurm","status":"active"},{"id":2,"workflow_id":12,"scheduler_id":812,"scheduler_type":"slurm","status":"complete"},{"id":3,"workflow_id":12,"scheduler_id":7,"scheduler_type":"local","status":"complete"}]}`}})
	clitest.Check(t, New,
		clitest.Case{Args: "slurm sacct 12", Routes: routes, Want: clitest.Result{
			Stdout: `╭───────────┬──────────┬───────┬───────────┬─────────┬─────────┬──────────┬───────╮
│ Slurm Job │ Job Step │ State │ Exit Code │ Elapsed │ Max RSS │ CPU Time │ Nodes │
├───────────┼──────────┼───────┼───────────┼─────────┼─────────┼──────────┼───────┤
╰───────────┴──────────┴───────┴───────────┴─────────┴─────────┴──────────┴───────╯
Total: 0 records
`,
			Requests: []string{"GET /workflows/12", "GET /scheduled_compute_nodes?workflow_id=12"},
		}},
		clitest.Case{Args: "slurm stats 12 --job-id 41 --run-id 1 --attempt-id 2", Routes: routes, Want: clitest.Result{
			Stdout: `╭────────┬─────┬─────────┬───────────┬──────────┬────────┬─────────────┬───────┬───────╮
│ Job ID │ Run │ Attempt │ Slurm Job │ Max RSS  │ Max VM │ Ave CPU (s) │ CPU % │ Nodes │
├────────┼─────┼─────────┼───────────┼──────────┼────────┼─────────────┼───────┼───────┤
│ 41     │ 1   │ 2       │ 812.3     │ 1.00 GiB │        │ 30          │ 50.0% │ n1    │
│ 42     │ 1   │ 1       │           │          │        │             │       │       │
╰────────┴─────┴─────────┴───────────┴──────────┴────────┴─────────────┴───────┴───────╯
Total: 2 records
`,
			Requests: []string{
				"GET /slurm_stats?attempt_id=2&job_id=41&run_id=1&workflow_id=12",
				"GET /results?all_runs=true&workflow_id=12",
			},
		}},
		clitest.Case{Args: "slurm usage 12", Routes: routes, Want: clitest.Result{
			Stdout: `Workflow:    12
Slurm jobs:  2
Nodes:       3
Node time:   02:00:00
CPU time:    16:00:00
Not known:   there is no accounting record of Slurm job 814
`,
			Requests: []string{"POST /workflows/12/slurm_usage"},
		}},
		// Where the server has no Slurm, accounting is asked here.
		clitest.Case{Args: "slurm usage 12 -f json", Routes: routes.With(clitest.Routes{usage: {Status: 409, Body: `{"error":{"message":"there is no Slurm"}}`}}), Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "total_slurm_jobs": 0,
  "total_nodes": 0,
  "total_node_time": "00:00:00",
  "total_node_time_seconds": 0,
  "total_cpu_time": "00:00:00",
  "total_cpu_time_seconds": 0,
  "errors": []
}
`,
			Requests: []string{"POST /workflows/12/slurm_usage", "GET /workflows/12", "GET /scheduled_compute_nodes?workflow_id=12"},
		}},
		clitest.Case{Args: "slurm usage 12", Routes: routes.With(clitest.Routes{usage: {Status: 503, Body: `{"error":{"message":"slurmdbd does not answer"}}`}}), Want: clitest.Result{
			Status:   cli.ExitUnreachable,
			Stderr:   "error: slurmdbd does not answer\n",
			Requests: []string{"POST /workflows/12/slurm_usage"},
		}},
	)
	got := clitest.Run(t, New, clitest.Case{Args: "slurm sacct 12", Routes: two, Files: sacctFiles("exit 1"), Environ: []string{"TORC_FAKE_SACCT=$DIR/sacct"}})
	if got.Status != cli.ExitUnreachable || !strings.HasPrefix(got.Stderr, "error: call sacct: ") {
		t.Errorf("when sacct does not answer: %+v", got)
	}
	got = clitest.Run(t, New, clitest.Case{
		Args: "slurm sacct 12", Routes: two, Read: []string{"asked"}, Environ: []string{"TORC_FAKE_SACCT=$DIR/sacct"}, Files: sacctFiles(`echo "$*" > "${0%/*}/asked"; exit 1`),
	})
	if asked := got.Files["asked"]; !strings.Contains(asked, "812,813") || strings.Contains(asked, "7,812") {
		t.Errorf("sacct was asked %q", asked)
	}
}
