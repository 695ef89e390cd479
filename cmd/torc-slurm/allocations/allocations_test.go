package allocations

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestList(t *testing.T) {
	const nodes = `{"items": [{"id": 4, "workflow_id": 12, "scheduler_id": 812, "scheduler_config_id": 2, "scheduler_type": "slurm", "status": "active"}]}`
	clitest.Check(
		t, New,
		clitest.Case{
			Args:   `-f csv scheduled-compute-nodes list 12 --scheduler-id 812 --scheduler-config-id 2 -s active`,
			Routes: clitest.Routes{"GET /scheduled_compute_nodes": {Body: nodes}},
			Want: clitest.Result{
				Stdout:   "ID,Scheduler ID,Config ID,Type,Status\n4,812,2,slurm,active\n",
				Requests: []string{"GET /scheduled_compute_nodes?scheduler_config_id=2&scheduler_id=812&status=active&workflow_id=12"},
			},
		},
		clitest.Case{
			Args: `scheduled-compute-nodes list 12 --sort-by age`,
			Want: clitest.Result{Status: 2, Stderr: "error: --sort-by age: the fields are id, scheduler_id, scheduler_config_id, scheduler_type, status\n"},
		},
	)
}

// TestListJobs: jobs count that have a result of a runner in the allocation, or run on
// one.
func TestListJobs(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `-f csv scheduled-compute-nodes list-jobs 4`,
			Routes: clitest.Routes{
				"GET /scheduled_compute_nodes/4":                    {Body: `{"id": 4, "workflow_id": 12, "scheduler_id": 812, "scheduler_config_id": 2, "scheduler_type": "slurm", "status": "active"}`},
				"GET /compute_nodes":                                {Body: `{"items": [{"id": 9, "workflow_id": 12, "hostname": "n1", "is_active": true}]}`},
				"GET /results":                                      {Body: `{"items": [{"id": 1, "job_id": 31, "workflow_id": 12}]}`},
				"GET /jobs?active_compute_node_id=9&workflow_id=12": {Body: `{"items": [{"id": 32, "workflow_id": 12, "name": "b", "command": "echo b"}]}`},
				"GET /jobs?workflow_id=12": {Body: `{"items": [{"id": 31, "workflow_id": 12, "name": "a", "command": "echo a", "status": "completed"},
					{"id": 32, "workflow_id": 12, "name": "b", "command": "echo b", "status": "running", "compute_node_id": 9}, {"id": 33, "workflow_id": 12, "name": "c", "command": "echo c"}]}`},
			},
			Want: clitest.Result{
				Stdout: "ID,Name,Status,Priority,Compute Node,Elapsed,Command\n31,a,completed,,,,echo a\n32,b,running,,n1,,echo b\n",
				Requests: []string{
					"GET /scheduled_compute_nodes/4", "GET /compute_nodes?scheduled_compute_node_id=4&workflow_id=12",
					"GET /results?all_runs=true&compute_node_id=9&workflow_id=12", "GET /jobs?active_compute_node_id=9&workflow_id=12",
					"GET /jobs?workflow_id=12", "GET /compute_nodes?is_active=true&workflow_id=12",
				},
			},
		},
	)
}

func TestQueue(t *testing.T) {
	const (
		header = "ID,Slurm ID,Workflow,Partition,State,Nodes,Node List,Time Left,Starts,Running,Done,Failed,Why,Account,QOS,Job Name,Scheduler ID\n"
		// 1773489600000 is the time of the test, noon.
		queue = `{"looked_ms": 1773489570000, "items": [
			{"id": 1, "workflow_id": 12, "workflow_name": "w", "state": "active", "slurm_job_id": 812, "restart_count": 1, "slurm_state": "RUNNING", "partition": "short", "nodes": 2,
				"node_list": "n[1-2]", "start_ms": 1773489000000, "limit_ms": 1773493201500, "jobs_running": 3, "attempts_completed": 4, "account": "ours", "qos": "high", "job_name": "j", "scheduler_config_id": 2},
			{"id": 2, "workflow_id": 12, "state": "pending", "slurm_job_id": 813, "slurm_state": "PENDING", "walltime_seconds": 5400, "reason_text": "others go first", "estimated_start_ms": 1773576000000, "expected_start_ms": 1773576000000},
			{"id": 5, "workflow_id": 12, "state": "pending", "slurm_job_id": 814, "slurm_state": "PENDING", "expected_start_ms": 1773489610000},
			{"id": 3, "workflow_id": 12, "state": "intent", "cancel_ms": 1, "cancel_why": "no job needs it"},
			{"id": 4, "workflow_id": 12, "state": "ended", "slurm_job_id": 811, "start_ms": 1, "limit_ms": 2, "attempts_failed": 1, "cause": "timeout", "cause_text": "its time was up"}]}`
	)
	clitest.Check(
		t, NewQueue,
		clitest.Case{
			Args: `-f csv sq 12 --ended`, Routes: clitest.Routes{"GET /allocations": {Body: queue}},
			Want: clitest.Result{
				Stdout: header +
					"1,812 (restart 1),12 w,short,RUNNING,2,n[1-2],1:00:01,,3,4,0,,ours,high,j,2\n" +
					"2,813,12,,PENDING,1,,1:30:00,2026-03-15 12:00,,,,others go first,,,,\n" +
					"5,814,12,,PENDING,1,,,~12:00:10,,,,,,,,\n" +
					"3,,12,,canceling,1,,,,,,,no job needs it,,,,\n" +
					"4,811,12,,ended (timeout),1,,,,0,0,1,its time was up,,,,\n",
				Requests: []string{"GET /allocations?ended=true&max_age_seconds=60&workflow_id=12"},
			},
		},
		clitest.Case{
			Args: `-f csv sq --fresh`, Routes: clitest.Routes{"GET /allocations": {Body: `{"items": [], "looked_ms": 1773489570000, "stale": "squeue does not answer"}`}},
			Want: clitest.Result{
				Stdout: header, Stderr: "warning: squeue does not answer; the data is from 11:59:30\n", Requests: []string{"GET /allocations?max_age_seconds=0"},
			},
		},
		clitest.Case{
			Args: `-f json sq`, Routes: clitest.Routes{"GET /allocations": {Body: `{"items": [], "stale": "there is no Slurm"}`}},
			Want: clitest.Result{
				Stdout: "{\n  \"items\": []\n}\n", Stderr: "warning: there is no Slurm; Slurm has not been polled yet\n", Requests: []string{"GET /allocations?max_age_seconds=60"},
			},
		},
		clitest.Case{Args: `sq w`, Want: clitest.Result{Status: 2, Stderr: "error: \"w\" is not the id of a workflow: ids are numbers from 1\n"}},
	)
}
