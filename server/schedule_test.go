package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/scheduler"
	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// takesAll is a Slurm that accepts every request.
type takesAll struct{ store *store.Store }

func (s takesAll) Submit(ctx context.Context, want allocation.Want) (compute.Allocation, error) {
	w, err := s.store.Workflows.Get(ctx, want.WorkflowID)
	if err != nil {
		return compute.Allocation{}, err
	}
	_, err = s.store.Allocations.Intend(ctx, store.AllocationIntent{WorkflowID: w.ID, RunID: w.RunID, IntentID: "a", JobName: "a", Request: want.Request, Why: want.Why})
	if err != nil {
		return compute.Allocation{}, err
	}
	return s.store.Allocations.Adopt(ctx, store.FoundJob{IntentID: "a", Cluster: "c", SlurmJobID: 7})
}

// withSlurm gives a server a Slurm with one partition, whose nodes have four CPUs.
func withSlurm(s *Server) {
	s.Scheduler = scheduler.New(scheduler.Options{
		Store: s.Store, Submitter: takesAll{s.Store}, Now: s.Now, Log: s.Log,
		Site: func(context.Context) (*siteconfigs.Site, error) {
			return &siteconfigs.Site{Name: "here", DefaultAccount: "me", Partitions: []siteconfigs.Partition{{Name: "std", CPUsPerNode: 4, MemoryMB: 4096, Shared: true}}}, nil
		},
	})
}

func TestSubmitAndPlan(t *testing.T) {
	a := newAPI(t, withSlurm)
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	a.must("POST", "/resource_requirements", `{"workflow_id":1,"name":"huge","num_cpus":1,"num_gpus":0,"num_nodes":1,"memory":"2t","runtime":"PT1M"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"small","command":"true"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"huge","command":"true","resource_requirements_id":2}`)
	a.must("POST", "/workflows/1/initialize_jobs", "")

	a.send("POST", "/workflows/1/submit", `{"output_dir":"out"}`).want(http.StatusUnprocessableEntity, "not absolute")
	a.send("POST", "/workflows/1/plan", `{"auto_schedule":{"max_ready_age":"soon"}}`).want(http.StatusUnprocessableEntity, "max_ready_age")
	a.send("POST", "/workflows/1/plan", `{"prefer":"speed"}`).want(http.StatusUnprocessableEntity, "it must be one of time, balanced, cost")
	a.send("POST", "/workflows/9/plan", `{}`).want(http.StatusNotFound)
	a.send("POST", "/workflows/1/plan", `{}`).want(http.StatusOK, `"pool":"partition std"`, `"asked":[]`, `"choices":[]`)
	a.send("GET", "/workflows/1/actions", "").want(http.StatusOK, "[]")
	// A submission with a job that can never run is rejected, and changes nothing.
	const never = `huge: needs 2.00 TiB of memory, the largest node of partition std has 3.88 GiB`
	a.send("POST", "/workflows/1/plan", `{}`).want(http.StatusOK, `"unfit":[{"first":"huge","jobs":1,`, never)
	a.send("POST", "/workflows/1/submit", `{"output_dir":"/out"}`).want(http.StatusUnprocessableEntity, `"error":"Unfit"`, "jobs of workflow 1 can never run", never, "skip_checks")
	a.send("GET", "/workflows/1/actions", "").want(http.StatusOK, "[]")
	a.send("POST", "/workflows/1/submit", `{"output_dir":"/out","skip_checks":true,"auto_schedule":{"max_allocations":2}}`).
		want(http.StatusOK, never, `"slurm_job_id":7`, `"auto_schedule":true`, "fits no partition: std: memory: needs 2.00 TiB")

	a.send("GET", "/workflows/1/actions/pending", "").want(http.StatusOK, "[]")
	a.send("POST", "/workflows/1/actions/1/claim", "{}").want(http.StatusConflict, `"claimed":false`)
	for path, words := range map[string]string{
		"/jobs/1/why":      "1 requested; Slurm's reason for waiting: not known yet",
		"/jobs/2/why":      "1 ready job: no allocation, fits no partition: ",
		"/workflows/1/why": "1 ready job: room in allocations that Slurm has not started yet",
	} {
		if text := a.send("GET", path, "").text; !strings.Contains(text, words) {
			t.Errorf("%s does not contain %q: %s", path, words, text)
		}
	}
}

// TestSpawnedJobsThatNeverRunAreRefused: they are rejected, with what they need, once the
// workflow is submitted; a runner that is large enough counts.
func TestSpawnedJobsThatNeverRunAreRefused(t *testing.T) {
	a := newAPI(t, withSlurm)
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	a.must("POST", "/resource_requirements", `{"workflow_id":1,"name":"wide","num_cpus":64,"num_gpus":0,"num_nodes":1,"memory":"1m","runtime":"PT1M"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"caller","command":"true"}`)
	a.must("POST", "/workflows/1/initialize_jobs", "")
	r := a.runner(1, "small", 1)
	ref := r.turn(func(q *lease.TurnRequest) { q.Free.Slots = 1 }).Grants[0].LeaseRef
	r.turn(func(q *lease.TurnRequest) {
		q.Free.Slots, q.Held = 0, []lease.Held{{LeaseRef: ref, StartedMS: a.now.UnixMilli(), PID: 7}}
	})
	const spawn = `{"jobs":[{"name":"ok","command":"true"},{"name":"train","command":"true","resource_requirements":"wide"}]}`
	a.must("POST", "/workflows/1/submit", `{"output_dir":"/out"}`)
	a.send("POST", "/jobs/1/spawn_jobs", spawn).
		want(http.StatusUnprocessableEntity, `"error":"Unfit"`, `train: needs 64 CPUs, the largest node of partition std has 4`)
	a.send("GET", "/jobs?workflow_id=1", "").want(http.StatusOK, `"total_count":1`)
	a.must("POST", "/workflows/1/runners", `{"key":"large","hostname":"n2","pid":1,"boot_id":"boot","start_time":"2026-11-21T10:00:00Z","num_cpus":64,
		"memory_bytes":8589934592,"num_gpus":0,"num_nodes":1,"compute_node_type":"local","output_dir":"/out"}`)
	a.send("POST", "/jobs/1/spawn_jobs", spawn).want(http.StatusOK, `"spawned_job_ids"`)
}

// TestAllocationsByHandAreNotForJobsThatFitNone: such a request is rejected.
func TestAllocationsByHandAreNotForJobsThatFitNone(t *testing.T) {
	a := newAPI(t, func(s *Server) {
		withSlurm(s)
		s.Cluster = takesAll{s.Store}
	})
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	a.must("POST", "/resource_requirements", `{"workflow_id":1,"name":"long","num_cpus":1,"num_gpus":0,"num_nodes":1,"memory":"1m","runtime":"PT2H"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"train","command":"true","resource_requirements_id":2}`)
	a.must("POST", "/slurm_schedulers", `{"workflow_id":1,"name":"short","account":"me","nodes":1,"walltime":"01:00:00","partition":"std"}`)
	a.must("POST", "/workflows/1/initialize_jobs", "")
	a.send("POST", "/workflows/1/allocations", `{"scheduler_config_id":1,"output_dir":"/out"}`).
		want(http.StatusUnprocessableEntity, `"error":"Unfit"`, "train: needs 2h, the longest allocation of scheduler short is 1h")
	const dryRun = `{"scheduler_config_id":1,"output_dir":"/out","count":3,"dry_run":true`
	a.send("POST", "/workflows/1/allocations", dryRun+`}`).want(http.StatusUnprocessableEntity, `"error":"Unfit"`)
	a.send("POST", "/workflows/1/allocations", dryRun+`,"skip_checks":true}`).
		want(http.StatusOK, `"items":[]`, `"pool":"short"`, `"count":3`, `"account":"me"`, `"partition":"std"`, `"node_seconds":10800`)
	a.send("GET", "/workflows/1/allocations", "").want(http.StatusOK, `"total_count":0`)
	a.send("POST", "/workflows/1/allocations", `{"scheduler_config_id":1,"output_dir":"/out","skip_checks":true}`).want(http.StatusOK, `"slurm_job_id":7`)
	a.send("GET", "/allocations/1/cancellation", "").want(http.StatusOK, `"is_canceling":false`, `"jobs":[]`, `"node_seconds_left":3600`)
	a.must("POST", "/allocations/1/cancel", "")
	a.send("GET", "/allocations/1/cancellation", "").want(http.StatusOK, `"is_canceling":true`)
	a.send("GET", "/allocations/99/cancellation", "").want(http.StatusNotFound)
}

func TestSubmitNeedsSlurm(t *testing.T) {
	a := newAPI(t)
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	for _, path := range []string{"submit", "plan"} {
		a.send("POST", "/workflows/1/"+path, `{"output_dir":"/out"}`).want(http.StatusConflict, "without Slurm")
	}
}
