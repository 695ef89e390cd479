package server

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestAsyncInitializeIsOneTask(t *testing.T) {
	const callers = 4
	a := newAPI(t, func(s *Server) { s.InitializeBarrier = callers })
	id := a.workflow()
	a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"a","command":"true"}`, id))
	path := fmt.Sprintf("/workflows/%d/initialize_jobs?only_uninitialized=true&async=true", id)
	tasks := make([]string, callers)
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() {
			got := a.send("POST", path, "")
			got.want(http.StatusAccepted, `"operation":"initialize_jobs"`)
			tasks[i] = fmt.Sprint(got.object()["id"])
		})
	}
	calls.Wait()
	for _, task := range tasks {
		if task != tasks[0] {
			t.Errorf("tasks %v, want one", tasks)
		}
	}
	a.Close()
	a.send("GET", "/tasks/"+tasks[0], "").want(200, `"status":"succeeded"`, `"started_at_ms"`, `"finished_at_ms"`)
	a.send("GET", fmt.Sprintf("/workflows/%d/active_task", id), "").want(200, `{"task":null}`)
	a.send("GET", "/jobs/1", "").want(200, `"status":"ready"`)
	a.send("GET", fmt.Sprintf("/events?workflow_id=%d&category=tasks", id), "").want(200, `"task_completed"`, `"total_count":1`)
}

func TestAsyncInitializeConflicts(t *testing.T) {
	a := newAPI(t)
	id := a.workflow()
	active, _, err := a.Store.Tasks.Queue(t.Context(), id, workflow.OperationInitializeJobs, "only_uninitialized=true")
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/workflows/%d/initialize_jobs?async=true", id)
	a.send("POST", path, "").want(http.StatusConflict, `"error":"Conflict"`, "different parameters",
		fmt.Sprintf(`"existing_task_id":%d`, active.ID), `"existing_operation":"initialize_jobs"`)
	a.send("POST", path+"&only_uninitialized=true", "").want(http.StatusAccepted, fmt.Sprintf(`"id":%d`, active.ID))
	a.send("GET", fmt.Sprintf("/workflows/%d/active_task", id), "").want(200, `"status":"queued"`)
}
