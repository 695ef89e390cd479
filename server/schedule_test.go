package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/scheduler"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// takesAll is a Slurm that takes every request.
type takesAll struct{ store *store.Store }

func (s takesAll) Submit(ctx context.Context, want allocation.Want) (workflow.Allocation, error) {
	w, err := s.store.Workflow(ctx, want.WorkflowID)
	if err != nil {
		return workflow.Allocation{}, err
	}
	_, err = s.store.IntendAllocation(ctx, store.AllocationIntent{WorkflowID: w.ID, RunID: w.RunID, IntentID: "a", JobName: "a", Request: want.Request, Why: want.Why})
	if err != nil {
		return workflow.Allocation{}, err
	}
	return s.store.AdoptAllocation(ctx, store.FoundJob{IntentID: "a", Cluster: "c", SlurmJobID: 7})
}

func TestSubmitAndPlan(t *testing.T) {
	a := newAPI(t, func(s *Server) {
		s.Scheduler = scheduler.New(scheduler.Options{
			Store: s.Store, Submitter: takesAll{s.Store}, Now: s.Now, Log: s.Log,
			Site: func(context.Context) (*siteconfigs.Site, error) {
				return &siteconfigs.Site{Name: "here", DefaultAccount: "me", Partitions: []siteconfigs.Partition{{Name: "std", CPUsPerNode: 4, MemoryMB: 4096, Shared: true}}}, nil
			},
		})
	})
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	a.must("POST", "/resource_requirements", `{"workflow_id":1,"name":"huge","num_cpus":1,"num_gpus":0,"num_nodes":1,"memory":"2t","runtime":"PT1M"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"small","command":"true"}`)
	a.must("POST", "/jobs", `{"workflow_id":1,"name":"huge","command":"true","resource_requirements_id":2}`)
	a.must("POST", "/workflows/1/initialize_jobs", "")

	a.send("POST", "/workflows/1/submit", `{"output_dir":"out"}`).want(http.StatusUnprocessableEntity, "not absolute")
	a.send("POST", "/workflows/1/plan", `{"auto_schedule":{"max_ready_age":"soon"}}`).want(http.StatusUnprocessableEntity, "max_ready_age")
	a.send("POST", "/workflows/9/plan", `{}`).want(http.StatusNotFound)
	a.send("POST", "/workflows/1/plan", `{}`).want(http.StatusOK, `"pool":"partition std"`, `"asked":[]`)
	a.send("GET", "/workflows/1/actions", "").want(http.StatusOK, "[]")
	a.send("POST", "/workflows/1/submit", `{"output_dir":"/out","auto_schedule":{"max_allocations":2}}`).
		want(http.StatusOK, `"slurm_job_id":7`, `"auto_schedule":true`, "fits no partition: std: memory: needs 2.00 TiB")

	a.send("GET", "/workflows/1/actions/pending", "").want(http.StatusOK, "[]")
	a.send("POST", "/workflows/1/actions/1/claim", "{}").want(http.StatusConflict, `"claimed":false`)
	for path, words := range map[string]string{
		"/jobs/1/why":      "1 asked for, Slurm says nothing of when it starts",
		"/jobs/2/why":      "1 ready job: no allocation, fits no partition: ",
		"/workflows/1/why": "1 ready job: room in allocations that Slurm has not started yet",
	} {
		if text := a.send("GET", path, "").text; !strings.Contains(text, words) {
			t.Errorf("%s does not say %q: %s", path, words, text)
		}
	}
}

func TestSubmitNeedsSlurm(t *testing.T) {
	a := newAPI(t)
	a.must("POST", "/workflows", `{"name":"w","user":"me"}`)
	for _, path := range []string{"submit", "plan"} {
		a.send("POST", "/workflows/1/"+path, `{"output_dir":"/out"}`).want(http.StatusConflict, "no Slurm")
	}
}
