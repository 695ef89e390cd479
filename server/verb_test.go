package server

import (
	"fmt"
	"testing"
)

// aSite is a cluster as requests describe it.
const aSite = `{"name":"small","default_account":"me","charge_factor_cpu":1,"partitions":[{"name":"debug","cpus_per_node":8,"memory_mb":16384,"max_walltime_secs":14400,"total_nodes":4}]}`

func TestAllocationPlan(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	path := fmt.Sprintf("/workflows/%d/allocation_plan", w)
	a.send("POST", path, `{"site":`+aSite+`}`).want(409, "none needs an allocation")
	a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"j","command":"true"}`, w))
	a.send("POST", path, `{}`).want(409, "without Slurm")
	a.send("POST", path, `{"site":`+aSite+`,"group_by":"size"}`).want(422, "group_by")
	a.send("POST", path, `{"site":7}`).want(422, "expected an object")
	a.send("POST", path, `{"site":`+aSite+`,"account":"other","walltime_seconds":3600}`).
		want(200, `"account":"other"`, `"num_allocations":1`, `"node_seconds":3600`, `"cluster_state":[]`)
	a.send("POST", "/workflows/999/allocation_plan", `{"site":`+aSite+`}`).want(404)
}

func TestCancellation(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	path := fmt.Sprintf("/workflows/%d/", w)
	a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"j","command":"true"}`, w))
	a.send("GET", path+"cancellation", "").want(200, `"is_canceled":false`, `"not_started":1`, `"jobs":[]`, `"allocations":[]`)
	a.must("PUT", path+"cancel", "")
	a.send("GET", path+"cancellation", "").want(200, `"is_canceled":true`, `"not_started":0`)
	a.send("GET", "/workflows/999/cancellation", "").want(404)
}

func TestStartRun(t *testing.T) {
	a := newAPI(t)
	w := a.workflow()
	path := fmt.Sprintf("/workflows/%d/start_run", w)
	a.send("POST", path, `{}`).want(409, "has no jobs")
	a.must("POST", "/jobs", fmt.Sprintf(`{"workflow_id":%d,"name":"j","command":"true"}`, w))
	a.send("POST", path, `{"dry_run":true}`).want(200, `"dry_run":true`, `"started":true`, `"run_id":1`, `"new_run":true`, `"ready":1`)
	a.send("POST", path, `{}`).want(200, `"dry_run":false`, `"started":true`, `"run_id":1`)
	a.send("POST", path, `{}`).want(200, `"started":false`, `"run_id":1`, "has already started")
	a.send("POST", path, `{"dry_run":1}`).want(422)
	a.send("POST", "/workflows/999/start_run", `{}`).want(404)
}
