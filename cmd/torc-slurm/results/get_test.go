package results

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestGet(t *testing.T) {
	const get = "GET /results/31"
	canceled := `{"id":31,"job_id":41,"workflow_id":12,"run_id":2,"attempt_id":3,"compute_node_id":9,"return_code":-1,"exec_time_minutes":1.5,
		"completion_time":"2026-03-14T11:00:00Z","status":"canceled","job_name":"sim","cause":"dependency","cause_text":"prep failed",
		"peak_memory_bytes":3221225472,"avg_memory_bytes":1073741824,"peak_cpu_percent":250,"avg_cpu_percent":99.96}`
	clitest.Check(t, New,
		clitest.Case{Args: "results get 31", Routes: clitest.Routes{get: {Body: canceled}}, Want: clitest.Result{
			Stdout: `Workflow:         12
Compute node:     9
ID:               31
Job ID:           41
Job Name:         sim
Run ID:           2
Attempt:          3
Return Code:      -1
Exec Time:        1m30s
Peak Mem:         3.00 GiB
Peak CPU %:       250.0
Completion Time:  2026-03-14T11:00:00Z
Status:           canceled
Cause:            prep failed
Average Mem:      1.00 GiB
Average CPU %:    100.0
`,
			Requests: []string{"GET /results/31"},
		}},
		clitest.Case{Args: "results get 31 -f json", Routes: clitest.Routes{get: {Body: result("31", "41", "0", "completed")}}, Want: clitest.Result{
			Stdout: `{
  "id": 31,
  "job_id": 41,
  "workflow_id": 12,
  "run_id": 1,
  "attempt_id": 1,
  "compute_node_id": 9,
  "return_code": 0,
  "exec_time_minutes": 0,
  "completion_time": "2026-03-14T11:00:00Z",
  "status": "completed",
  "job_name": "sim"
}
`,
			Requests: []string{"GET /results/31"},
		}},
		clitest.Case{Args: "results get 31", Routes: clitest.Routes{get: {Status: 404, Body: `{"error":{"message":"there is no result 31"}}`}}, Want: clitest.Result{Status: 3, Stderr: "error: there is no result 31\n", Requests: []string{"GET /results/31"}}},
		clitest.Case{Args: "results get 0", Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: \"0\" is not the id of a result: ids are numbers from 1\n"}},
		clitest.Case{Args: "results get 31 32", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: accepts 1 arg(s), received 2; usage: torc-slurm results get RESULT [flags]\n",
		}},
	)
}

// TestListWithLogs: those log files are named that are there.
func TestListWithLogs(t *testing.T) {
	routes := clitest.Routes{
		"GET /workflows/12":  {Body: `{"id":12,"name":"w","user":"ann"}`},
		"GET /results":       {Body: `{"items":[` + result("1", "41", "0", "completed") + "," + result("2", "42", "1", "failed") + `]}`},
		"GET /compute_nodes": {Body: `{"items":[{"id":9,"workflow_id":12,"hostname":"n1","compute_node_type":"local"}]}`},
	}
	files := map[string]string{
		"out/job_stdio/job_wf12_j41_r1_a1.o": "", "out/job_stdio/job_wf12_j41_r1_a1.e": "", "out/job_stdio/job_wf12_j42_r1_a1.log": "", "out/job_runner_n1_wf12_r1.log": "",
	}
	clitest.Check(t, New,
		clitest.Case{Args: "results list 12 --include-logs -o out", Files: files, Routes: routes, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "workflow_name": "w",
  "workflow_user": "ann",
  "all_runs": false,
  "total_results": 2,
  "items": [
    {
      "job_id": 41,
      "job_name": "sim",
      "status": "completed",
      "run_id": 1,
      "attempt_id": 1,
      "return_code": 0,
      "completion_time": "2026-03-14T11:00:00Z",
      "exec_time_minutes": 0,
      "compute_node_id": 9,
      "job_stdout": "$DIR/out/job_stdio/job_wf12_j41_r1_a1.o",
      "job_stderr": "$DIR/out/job_stdio/job_wf12_j41_r1_a1.e",
      "compute_node_type": "local",
      "job_runner_log": "$DIR/out/job_runner_n1_wf12_r1.log"
    },
    {
      "job_id": 42,
      "job_name": "sim",
      "status": "failed",
      "run_id": 1,
      "attempt_id": 1,
      "return_code": 1,
      "completion_time": "2026-03-14T11:00:00Z",
      "exec_time_minutes": 0,
      "compute_node_id": 9,
      "job_stdout": "$DIR/out/job_stdio/job_wf12_j42_r1_a1.log",
      "job_stderr": "$DIR/out/job_stdio/job_wf12_j42_r1_a1.log",
      "compute_node_type": "local",
      "job_runner_log": "$DIR/out/job_runner_n1_wf12_r1.log"
    }
  ]
}
`,
			Requests: []string{"GET /results?attempts=true&workflow_id=12", "GET /workflows/12", "GET /compute_nodes?workflow_id=12"},
		}},
		// --run-id implies --all-runs: the results are not only the latest ones.
		clitest.Case{Args: "results list 12 --include-logs -r 1 -o none", Routes: routes.With(clitest.Routes{"GET /results": {Body: `{"items":[]}`}}), Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "workflow_name": "w",
  "workflow_user": "ann",
  "all_runs": true,
  "total_results": 0,
  "items": []
}
`,
			Requests: []string{"GET /results?all_runs=true&attempts=true&run_id=1&workflow_id=12", "GET /workflows/12", "GET /compute_nodes?workflow_id=12"},
		}},
		clitest.Case{Args: "-f csv results list 12 --include-logs", Routes: routes, Want: clitest.Result{
			Status:   cli.ExitUsage,
			Stderr:   "error: results with logs are written as JSON only\n",
			Requests: []string{"GET /results?attempts=true&workflow_id=12"},
		}},
	)
	clitest.Check(t, NewReport,
		clitest.Case{Args: "results 12 --failed -l 1 -o none", Files: files, Routes: routes, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "workflow_name": "w",
  "workflow_user": "ann",
  "all_runs": false,
  "total_results": 1,
  "items": [
    {
      "job_id": 42,
      "job_name": "sim",
      "status": "failed",
      "run_id": 1,
      "attempt_id": 1,
      "return_code": 1,
      "completion_time": "2026-03-14T11:00:00Z",
      "exec_time_minutes": 0,
      "compute_node_id": 9,
      "compute_node_type": "local"
    }
  ]
}
`,
			Requests: []string{"GET /results?attempts=true&workflow_id=12", "GET /workflows/12", "GET /compute_nodes?workflow_id=12"},
		}},
	)
}
