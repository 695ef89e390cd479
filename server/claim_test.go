package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/api"
)

// run creates a workflow with n ready jobs, and a compute node.
func (a *testAPI) run(n int) (workflowID, nodeID int64) {
	a.t.Helper()
	id := a.workflow()
	jobs := make([]string, n)
	for i := range jobs {
		jobs[i] = fmt.Sprintf(`{"workflow_id":%d,"name":"j%d","command":"true"}`, id, i)
	}
	a.must("POST", "/bulk_jobs", `{"jobs":[`+strings.Join(jobs, ",")+`]}`)
	a.must("POST", fmt.Sprintf("/workflows/%d/reset_status", id), "")
	a.must("POST", fmt.Sprintf("/workflows/%d/initialize_jobs", id), "")
	node := a.must("POST", "/compute_nodes", fmt.Sprintf(`{"workflow_id":%d,"hostname":"n1","pid":1,"start_time":"2026-11-21T10:00:00+00:00",
		"is_active":true,"num_cpus":4,"memory_gb":8,"num_gpus":0,"num_nodes":1,"compute_node_type":"local"}`, id))
	nodeID, err := node["id"].(json.Number).Int64()
	if err != nil {
		a.t.Fatal(err)
	}
	return id, nodeID
}

func TestNoJobIsClaimedTwice(t *testing.T) {
	a := newAPI(t)
	const jobs = 150
	id, _ := a.run(jobs)
	var mu sync.Mutex
	claimed := map[int64]int{}
	var claimers sync.WaitGroup
	for i := range 6 {
		path, body := fmt.Sprintf("/workflows/%d/claim_next_jobs?limit=7", id), ""
		if i%2 == 0 {
			path, body = fmt.Sprintf("/workflows/%d/claim_jobs_based_on_resources/5", id), `{"num_cpus":4,"memory_gb":8,"num_gpus":0,"num_nodes":1}`
		}
		claimers.Go(func() {
			for {
				got := a.send("POST", path, body)
				var answer api.ClaimedJobs
				if err := json.Unmarshal([]byte(got.text), &answer); err != nil || got.status != 200 {
					t.Errorf("%d %s, error %v", got.status, got.text, err)
					return
				}
				if len(answer.Jobs) == 0 {
					return
				}
				mu.Lock()
				for _, j := range answer.Jobs {
					claimed[*j.ID]++
				}
				mu.Unlock()
			}
		})
	}
	claimers.Wait()
	if len(claimed) != jobs {
		t.Errorf("%d jobs were claimed, want %d", len(claimed), jobs)
	}
	for job, times := range claimed {
		if times != 1 {
			t.Errorf("job %d was claimed %d times", job, times)
		}
	}
}

func TestCanceledWorkflowGivesNoJobs(t *testing.T) {
	a := newAPI(t)
	id, _ := a.run(1)
	a.must("PUT", fmt.Sprintf("/workflows/%d/cancel", id), "")
	a.send("POST", fmt.Sprintf("/workflows/%d/claim_next_jobs", id), "").want(200, `{"jobs":[]`)
	a.send("POST", fmt.Sprintf("/workflows/%d/claim_jobs_based_on_resources/5", id), `{"num_cpus":4,"memory_gb":8,"num_gpus":0,"num_nodes":1}`).
		want(200, `{"jobs":[],"reason":"Workflow is canceled"}`)
}

func TestDeactivatedNodeLosesItsJobs(t *testing.T) {
	a := newAPI(t)
	id, node := a.run(1)
	a.must("POST", fmt.Sprintf("/workflows/%d/claim_next_jobs", id), "")
	a.must("PUT", fmt.Sprintf("/jobs/1/start_job/1/%d", node), "")
	a.send("DELETE", fmt.Sprintf("/compute_nodes/%d", node), "").want(422, "still holds 1 job")
	a.must("PUT", fmt.Sprintf("/compute_nodes/%d", node), fmt.Sprintf(`{"workflow_id":%d,"hostname":"n1","pid":1,"start_time":"2026-11-21T10:00:00+00:00",
		"is_active":false,"num_cpus":4,"memory_gb":8,"num_gpus":0,"num_nodes":1,"compute_node_type":"local"}`, id))
	a.send("GET", "/jobs/1", "").want(200, `"status":"ready"`, `"attempt_id":2`)
	a.send("GET", "/jobs/1/attempts", "").want(200, `"cause":"lost"`, "deactivated")
}
