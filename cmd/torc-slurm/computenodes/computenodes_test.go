package computenodes

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

const (
	active = `{"id": 4, "workflow_id": 12, "hostname": "n1", "pid": 99, "start_time": "2026-03-14T11:58:30Z", "is_active": true, "num_cpus": 8, "memory_gb": 31.25,
		"num_gpus": 1, "num_nodes": 1, "compute_node_type": "slurm", "labels": ["a", "b"], "scheduler": {"type": "slurm", "slurm_job_id": "812"},
		"peak_cpu_percent": 90.25, "time_limit": "2026-03-14T13:00:00Z"}`
	gone = `{"id": 5, "workflow_id": 12, "hostname": "n2", "pid": 1, "start_time": "2026-03-14T11:00:00Z", "is_active": false, "num_cpus": 1, "memory_gb": 2,
		"num_gpus": 0, "num_nodes": 1, "compute_node_type": "local", "scheduler": "free", "duration_seconds": 90,
		"peak_memory_bytes": 2048, "avg_memory_bytes": 1024}`
	header = "ID,Hostname,Scheduler,Scheduler Job ID,Labels,PID,CPUs,Memory (GB),GPUs,Active,Start Time,Duration,CPU peak/avg,Mem peak/avg\n"
)

func TestList(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args:   `-f csv compute-nodes list 12 --scheduled-compute-node 2 -s pid`,
			Routes: clitest.Routes{"GET /compute_nodes": {Body: `{"items": [` + active + "," + gone + `], "count": 2, "total_count": 2}`}},
			Want: clitest.Result{
				Stdout: header + "4,n1,slurm,812,\"a, b\",99,8,31.25,1,yes,2026-03-14T11:58:30Z,1m30s,90.2% / ?,\n" +
					"5,n2,local,,,1,1,2.00,0,no,2026-03-14T11:00:00Z,1m30s,,2.00 KiB / 1.00 KiB\n",
				Requests: []string{"GET /compute_nodes?scheduled_compute_node_id=2&sort_by=pid&workflow_id=12"},
			},
		},
		clitest.Case{
			Args: `-f csv compute-nodes list 12`, Routes: clitest.Routes{"GET /compute_nodes": {Body: `{"items": []}`}},
			Want: clitest.Result{Stdout: header, Requests: []string{"GET /compute_nodes?workflow_id=12"}},
		},
		clitest.Case{
			Args: `compute-nodes list 12 --offset -3`,
			Want: clitest.Result{Status: 2, Stderr: "error: --offset -3: it cannot be negative\n"},
		},
	)
}

func TestGet(t *testing.T) {
	clitest.Check(
		t, New,
		clitest.Case{
			Args: `compute-nodes get 4`, Routes: clitest.Routes{"GET /compute_nodes/4": {Body: active}},
			Want: clitest.Result{
				Stdout: `Workflow:          12
ID:                4
Hostname:          n1
Scheduler:         slurm
Scheduler Job ID:  812
Labels:            a, b
PID:               99
CPUs:              8
Memory (GB):       31.25
GPUs:              1
Active:            yes
Start Time:        2026-03-14T11:58:30Z
Duration:          1m30s
CPU peak/avg:      90.2% / ?
Time limit:        2026-03-14T13:00:00Z
`,
				Requests: []string{"GET /compute_nodes/4"},
			},
		},
	)
}
