package jobs

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	heldJob  = `{"id":42,"workflow_id":12,"name":"sim","command":"./sim","status":"pending_failed"}`
	readyJob = `{"id":43,"workflow_id":12,"name":"merge","command":"./merge","status":"ready","priority":7}`
)

// page is a whole list.
func page(items string) clitest.Reply {
	return clitest.Reply{Body: `{"items":[` + items + `],"has_more":false}`}
}

// wrong is a case of wrong usage that asks the server for nothing.
func wrong(args, message string) clitest.Case {
	return clitest.Case{Args: args, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: " + message + "\n"}}
}

func TestList(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{
			Args: "jobs list 12 -s ready --sort-by name --reverse-sort -l 2 -x priority", Routes: clitest.Routes{"GET /jobs": page(readyJob)},
			Want: clitest.Result{Stdout: `╭────┬───────┬────────┬──────────────┬─────────┬─────────╮
│ ID │ Name  │ Status │ Compute Node │ Elapsed │ Command │
├────┼───────┼────────┼──────────────┼─────────┼─────────┤
│ 43 │ merge │ ready  │              │         │ ./merge │
╰────┴───────┴────────┴──────────────┴─────────┴─────────╯
Total: 1 jobs
`, Requests: []string{"GET /jobs?limit=2&reverse_sort=true&sort_by=name&status=ready&workflow_id=12"}},
		},
		clitest.Case{
			Args: "jobs list 12 --format csv",
			Routes: clitest.Routes{
				"GET /jobs":          page(`{"id":1,"workflow_id":12,"name":"a","command":"./a","status":"running","compute_node_id":5,"start_time":"2026-03-14T11:00:00Z"}`),
				"GET /compute_nodes": page(`{"id":5,"workflow_id":12,"hostname":"node17"}`),
			},
			Want: clitest.Result{Stdout: "ID,Name,Status,Priority,Compute Node,Elapsed,Command\n1,a,running,,node17,1h,./a\n",
				Requests: []string{"GET /jobs?workflow_id=12", "GET /compute_nodes?is_active=true&workflow_id=12"}},
		},
		clitest.Case{
			Args: "jobs list 12 --upstream-job-id 4 -f json", Routes: clitest.Routes{"GET /jobs": page("")},
			Want: clitest.Result{Stdout: "{\n  \"items\": []\n}\n", Requests: []string{"GET /jobs?upstream_job_id=4&workflow_id=12"}},
		},
		wrong("jobs list 12 -s broken", `unknown job status "broken": the statuses are uninitialized, blocked, ready, pending, running, completed, failed, canceled, terminated, disabled, pending_failed`),
		wrong("jobs list 12 --sort-by size", "--sort-by size: the fields are id, name, command, status, resource_requirements_id, scheduler_id, failure_handler_id, attempt_id"),
		wrong("jobs list 12 -x size", `unknown column "size": the columns are ID, Name, Status, Priority, Compute Node, Elapsed, Command`),
		wrong("jobs list 12 --offset -3", "--offset -3: it cannot be negative"),
	)
}

func TestGet(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{
			Args: "jobs get 42",
			Routes: clitest.Routes{"GET /jobs/42": {Body: `{"id":42,"workflow_id":12,"name":"sim","command":"./sim","status":"ready","attempt_id":2,
				"retries":{"io/busy":{"counted":2},"default/preempted":{"free":1}},"depends_on_job_ids":[1,2],"env":{"B":"2","A":"1"}}`}},
			Want: clitest.Result{Stdout: `ID:               42
Workflow:         12
Name:             sim
Status:           ready
Command:          ./sim
Attempt:          2
Retries:          default/preempted 1 free, io/busy 2
Depends on jobs:  1, 2
Environment:      A=1, B=2
`, Requests: []string{"GET /jobs/42"}},
		},
		clitest.Case{
			Args: "jobs get sim -w 12", Routes: clitest.Routes{"GET /jobs": page("")},
			Want: clitest.Result{Status: 3, Stderr: "error: workflow 12 has no job \"sim\"\nhint: `torc-slurm jobs list 12` lists them; -w chooses another workflow\n",
				Requests: []string{"GET /jobs?name=sim&workflow_id=12"}},
		},
		clitest.Case{
			Args: "jobs running 12", Routes: clitest.Routes{"GET /workflows/12/running_jobs": page("")},
			Want: clitest.Result{Stdout: `╭────────┬──────────┬──────────────┬─────────┬────────┬───────────┬──────────────────╮
│ Job ID │ Job Name │ Compute Node │ Elapsed │ Silent │ Scheduler │ Scheduler Job ID │
├────────┼──────────┼──────────────┼─────────┼────────┼───────────┼──────────────────┤
╰────────┴──────────┴──────────────┴─────────┴────────┴───────────┴──────────────────╯
Total: 0 running jobs
`, Requests: []string{"GET /workflows/12/running_jobs"}},
		},
	)
}

func TestCreate(t *testing.T) {
	files := map[string]string{"commands.txt": "# two\n./a 1\n\n./a 2\n", "none.txt": "# none\n"}
	created := clitest.Routes{
		"GET /jobs":                   page(`{"id":1,"workflow_id":12,"name":"job7","command":"x"},{"id":2,"workflow_id":12,"name":"jobless","command":"x"}`),
		"POST /resource_requirements": {Body: `{"id":3,"workflow_id":12,"name":"jobs_from_8"}`},
		"POST /bulk_jobs":             {Body: `{"jobs":[{"id":8,"workflow_id":12,"name":"job8","command":"./a 1"},{"id":9,"workflow_id":12,"name":"job9","command":"./a 2"}]}`},
	}
	clitest.Check(t, New,
		wrong("jobs create 12 -n merge", `required flag(s) "command" not set`),
		clitest.Case{
			Args: "jobs create 12 -n merge -c './merge all' -b 41,42 -i 7 -o 8 -r 3", Routes: clitest.Routes{"POST /jobs": {Body: readyJob}},
			Want: clitest.Result{Stdout: "Created job 43\n", Requests: []string{
				`POST /jobs {"workflow_id":12,"name":"merge","command":"./merge all","depends_on_job_ids":[41,42],"input_file_ids":[7],"output_file_ids":[8],"resource_requirements_id":3}`}},
		},
		clitest.Case{
			Args: "jobs create-from-file 12 commands.txt --memory-per-job 2g", Files: files, Routes: created,
			Want: clitest.Result{Stdout: "Created 2 jobs in workflow 12\n", Requests: []string{
				"GET /jobs?workflow_id=12",
				`POST /resource_requirements {"workflow_id":12,"name":"jobs_from_8","num_cpus":1,"memory":"2g","runtime":"PT1M"}`,
				`POST /bulk_jobs {"jobs":[{"workflow_id":12,"name":"job8","command":"./a 1","resource_requirements_id":3},{"workflow_id":12,"name":"job9","command":"./a 2","resource_requirements_id":3}]}`,
			}},
		},
		clitest.Case{Args: "jobs create-from-file 12 none.txt", Files: files, Want: clitest.Result{Status: cli.ExitUsage, Stderr: "error: none.txt contains no commands\n"}},
	)
}

func TestUpdate(t *testing.T) {
	routes := clitest.Routes{
		"GET /jobs/43": {Body: readyJob}, "PUT /jobs/43": {Body: `{"id":43,"workflow_id":12,"name":"merge","command":"./merge","resource_requirements_id":3}`},
		"GET /resource_requirements/3": {Body: `{"id":3,"workflow_id":12,"name":"big","runtime":"PT1M"}`},
		"PUT /resource_requirements/3": {Body: `{"id":3,"workflow_id":12,"name":"big","runtime":"PT2H"}`},
	}
	clitest.Check(t, New,
		wrong("jobs update 43", "at least one of the flags in the group [name command runtime resource-requirements-id priority label clear-labels] is required"),
		wrong("jobs update 43 --label gpu --clear-labels", "if any flags in the group [label clear-labels] are set none of the others can be; [clear-labels label] were all set"),
		wrong("jobs update 43 --priority -1", "--priority -1: it cannot be negative"),
		clitest.Case{Args: "jobs update 43 --priority 0 --label gpu,big", Routes: routes, Want: clitest.Result{Stdout: "Updated job 43\n", Requests: []string{
			"GET /jobs/43", `PUT /jobs/43 {"workflow_id":12,"name":"merge","command":"./merge","priority":0,"labels":["gpu","big"]}`}}},
		clitest.Case{Args: "jobs update 43 --runtime PT2H", Routes: routes, Want: clitest.Result{Stdout: "Updated job 43\n", Requests: []string{
			"GET /jobs/43", `PUT /jobs/43 {"workflow_id":12,"name":"merge","command":"./merge"}`,
			"GET /resource_requirements/3", `PUT /resource_requirements/3 {"id":3,"workflow_id":12,"name":"big","runtime":"PT2H"}`}}},
	)
}

func TestDelete(t *testing.T) {
	all := clitest.Routes{"GET /workflows/12/job_ids": {Body: `{"job_ids":[42,43],"count":2}`}, "DELETE /jobs": {Body: `{"count":2}`}}
	const ids, drop = "GET /workflows/12/job_ids", "DELETE /jobs?workflow_id=12"
	clitest.Check(t, New,
		clitest.Case{Args: "jobs delete 42,42", Routes: clitest.Routes{"DELETE /jobs/42": {Body: heldJob}}, Want: clitest.Result{
			Stdout: "Deleted 1 job\n", Requests: []string{"DELETE /jobs/42"}}},
		clitest.Case{
			Args:   "jobs delete 42 43",
			Routes: clitest.Routes{"DELETE /jobs/42": {Body: heldJob}, "DELETE /jobs/43": {Status: 409, Body: `{"error":{"message":"job 43 is running"}}`}},
			Want: clitest.Result{Status: cli.ExitRefused, Stderr: "error: stopped after deleting 1 job: job 43 is running\n",
				Requests: []string{"DELETE /jobs/42", "DELETE /jobs/43"}},
		},
		clitest.Case{Args: "jobs delete-all 12", Routes: all, Stdin: "n\n", Want: clitest.Result{
			Stderr: "Delete 2 jobs of workflow 12? [y/N] Nothing was done.\n", Requests: []string{ids}}},
		clitest.Case{Args: "jobs delete-all 12", Routes: all, Stdin: "y\n", Want: clitest.Result{
			Stdout: "Deleted 2 jobs\n", Stderr: "Delete 2 jobs of workflow 12? [y/N] ", Requests: []string{ids, drop}}},
		clitest.Case{Args: "jobs delete-all 12", Routes: all, Want: clitest.Result{Status: cli.ExitUsage,
			Stderr: "Delete 2 jobs of workflow 12? [y/N] \nerror: cannot ask without a terminal; confirm with --no-prompts\n", Requests: []string{ids}}},
		clitest.Case{Args: "jobs delete-all 12 -f json", Routes: all, Want: clitest.Result{Stdout: "{\n  \"count\": 2\n}\n", Requests: []string{ids, drop}}},
	)
}

func TestFail(t *testing.T) {
	routes := clitest.Routes{"GET /jobs/42": {Body: heldJob}, "PUT /jobs/42": {Body: heldJob}, "GET /jobs/43": {Body: readyJob}}
	const decided = `PUT /jobs/42 {"workflow_id":12,"name":"sim","command":"./sim","status":"failed"}`
	clitest.Check(t, New,
		clitest.Case{Args: "jobs fail 42", Routes: routes, Want: clitest.Result{
			Stdout: "Job 42 (sim) has failed\n", Requests: []string{"GET /jobs/42", decided}}},
		clitest.Case{Args: "jobs fail 42 43", Routes: routes, Want: clitest.Result{Status: cli.ExitRefused,
			Stderr:   "error: stopped after marking 1 job as failed: job 43 is ready: only held jobs (pending_failed) can be marked as failed\nhint: `torc-slurm jobs list -s pending_failed 12` lists them\n",
			Requests: []string{"GET /jobs/42", decided, "GET /jobs/43"}}},
	)
}

func TestRequirementsOfJobs(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{
			Args: "jobs list-resource-requirements 12 --format csv",
			Routes: clitest.Routes{
				"GET /jobs":                  page(`{"id":1,"workflow_id":12,"name":"a","command":"x","resource_requirements_id":3},{"id":2,"workflow_id":12,"name":"b","command":"x"}`),
				"GET /resource_requirements": page(`{"id":3,"workflow_id":12,"name":"big","num_cpus":4,"num_gpus":0,"num_nodes":1,"memory":"2g","runtime":"PT1H"}`),
			},
			Want: clitest.Result{
				Stdout:   "Job ID,Job Name,RR ID,RR Name,CPUs,GPUs,Nodes,Memory,Runtime\n1,a,3,big,4,0,1,2g,PT1H\n2,b,,,,,,,\n",
				Requests: []string{"GET /jobs?workflow_id=12", "GET /resource_requirements?workflow_id=12"},
			},
		},
		clitest.Case{Args: "jobs list-resource-requirements 11 -j 43", Routes: clitest.Routes{"GET /jobs/43": {Body: readyJob}}, Want: clitest.Result{
			Status: 3, Stderr: "error: job 43 belongs to workflow 12, not to workflow 11\n", Requests: []string{"GET /jobs/43"}}},
		clitest.Case{
			Args:   "jobs list-failure-handlers 12 -f json",
			Routes: clitest.Routes{"GET /jobs": page(readyJob), "GET /workflows/12/failure_handlers": page("")},
			Want:   clitest.Result{Stdout: "{\n  \"items\": []\n}\n", Requests: []string{"GET /jobs?workflow_id=12", "GET /workflows/12/failure_handlers"}},
		},
	)
}

func TestDependencies(t *testing.T) {
	clitest.Check(t, NewDependencies,
		clitest.Case{
			Args:   "job-dependencies job-job 12 -f csv -l 1",
			Routes: clitest.Routes{"GET /workflows/12/job_dependencies": page(`{"job_id":43,"job_name":"merge","depends_on_job_id":42,"depends_on_job_name":"sim"}`)},
			Want: clitest.Result{Stdout: "Job ID,Job Name,Blocked By Job ID,Blocked By Job Name\n43,merge,42,sim\n",
				Requests: []string{"GET /workflows/12/job_dependencies?limit=1"}},
		},
		clitest.Case{
			Args:   "job-dependencies job-file 12 -f csv",
			Routes: clitest.Routes{"GET /workflows/12/job_file_relationships": page(`{"file_id":1,"file_name":"a.txt","producer_job_id":42,"producer_job_name":"sim"}`)},
			Want: clitest.Result{Stdout: "File ID,File Name,Producer Job ID,Producer Job Name,Consumer Job ID,Consumer Job Name\n1,a.txt,42,sim,,\n",
				Requests: []string{"GET /workflows/12/job_file_relationships"}},
		},
	)
}
