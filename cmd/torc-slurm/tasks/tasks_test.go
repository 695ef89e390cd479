package tasks

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

func TestWait(t *testing.T) {
	const usage = "error: --timeout and --poll-fallback-interval are seconds, more than 0\n"
	requests := []string{"GET /tasks/3"}
	clitest.Check(
		t, New,
		clitest.Case{
			Args:   `tasks wait 3`,
			Routes: clitest.Routes{"GET /tasks/3": {Body: `{"id": 3, "workflow_id": 12, "operation": "initialize_jobs", "status": "succeeded"}`}},
			Want: clitest.Result{
				Stdout:   "Task:         3\nWorkflow ID:  12\nOperation:    initialize_jobs\nStatus:       succeeded\n",
				Requests: requests,
			},
		},
		clitest.Case{
			Args:   `tasks wait 3 --timeout 5`,
			Routes: clitest.Routes{"GET /tasks/3": {Body: `{"id": 3, "workflow_id": 12, "operation": "initialize_jobs", "status": "failed", "error": "a circle"}`}},
			Want: clitest.Result{
				Status: 1, Stdout: "Task:         3\nWorkflow ID:  12\nOperation:    initialize_jobs\nStatus:       failed\nError:        a circle\n",
				Requests: requests,
			},
		},
		clitest.Case{
			Args: `tasks wait 3`, Routes: clitest.Routes{"GET /tasks/3": {Status: 404, Body: `{"error": {"error": "NotFound", "message": "there is no task 3"}}`}},
			Want: clitest.Result{Status: 3, Stderr: "error: there is no task 3\n", Requests: requests},
		},
		clitest.Case{
			Args: `-f json tasks wait 3`, Routes: clitest.Routes{"GET /tasks/3": {Status: 404, Body: `{"error": {"error": "NotFound", "message": "there is no task 3"}}`}},
			Want: clitest.Result{
				Status: 3, Requests: requests,
				Stderr: "{\n  \"error\": \"ApiError\",\n  \"message\": \"there is no task 3\",\n  \"status\": \"error\",\n  \"task_id\": 3\n}\n",
			},
		},
		clitest.Case{Args: `tasks wait 3 --timeout -1`, Want: clitest.Result{Status: 2, Stderr: usage}},
		clitest.Case{Args: `tasks wait 3 --poll-fallback-interval 0`, Want: clitest.Result{Status: 2, Stderr: usage}},
		clitest.Case{Args: `tasks wait 0`, Want: clitest.Result{Status: 2, Stderr: "error: \"0\" is not the id of a task: ids are numbers from 1\n"}},
	)
}

// TestWaitEnds: a task that goes on is given up when the time is over.
func TestWaitEnds(t *testing.T) {
	got := clitest.Run(t, New, clitest.Case{
		Args: `tasks wait 3 --timeout 0.05 --poll-fallback-interval 0.01`,
		Routes: clitest.Routes{
			"GET /tasks/3":                    {Body: `{"id": 3, "workflow_id": 12, "operation": "initialize_jobs", "status": "running"}`},
			"GET /workflows/12/events/stream": {Status: 403, Body: `{}`},
		},
	})
	if got.Status != 1 || got.Stdout != "" || got.Stderr != "error: task 3 has not ended in time; it goes on\n" {
		t.Errorf("status %d\n%s%s", got.Status, got.Stdout, got.Stderr)
	}
}
