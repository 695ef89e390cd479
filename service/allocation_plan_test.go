package service

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestPlanDefinition plans the same for a definition as for the workflow that it becomes, and
// creates nothing.
func TestPlanDefinition(t *testing.T) {
	w := newWorld(t)
	w.onCluster()
	create := func(ctx context.Context, st *store.Store) (int64, error) {
		wf, err := st.Workflows.Create(ctx, workflow.Workflow{Name: "later", User: "me"})
		if err != nil {
			return 0, err
		}
		rr, err := st.Requirements.Create(ctx, workflow.ResourceRequirements{WorkflowID: wf.ID, Name: "two", NumCPUs: 2, NumNodes: 1, Memory: "1g", Runtime: "PT10M"})
		if err != nil {
			return 0, err
		}
		_, err = st.Jobs.Create(ctx, []workflow.Job{
			{WorkflowID: wf.ID, Name: "a", Command: "true", ResourceRequirementsID: &rr.ID},
			{WorkflowID: wf.ID, Name: "b", Command: "true", ResourceRequirementsID: &rr.ID},
		})
		return wf.ID, err
	}
	q := &api.AllocationPlanRequest{Prefer: "cost"}
	var planned api.AllocationPlan
	w.unchanged(func() (err error) {
		planned, err = PlanDefinition(t.Context(), w.Service, q, create)
		return err
	})
	_, total, err := w.store.Workflows.List(t.Context(), store.WorkflowFilter{}, store.Page{Limit: 10})
	w.must(err)
	if total != 1 {
		t.Errorf("there are %d workflows", total)
	}
	id, err := create(t.Context(), w.store)
	w.must(err)
	w.must(w.store.Workflows.Initialize(t.Context(), id, store.InitializeOptions{}))
	of, err := w.PlanAllocations(t.Context(), id, q)
	w.must(err)
	of.WorkflowID = 0
	if diff := cmp.Diff(of, planned); diff != "" {
		t.Errorf("-workflow +definition:\n%s", diff)
	}
	if planned.Analysis.TotalJobs != 2 || len(planned.Recommendations) != 1 {
		t.Errorf("planned %+v", planned)
	}

	_, err = PlanDefinition(t.Context(), w.Service, q, func(context.Context, *store.Store) (int64, error) {
		return 0, workflow.Errorf(workflow.CodeInvalid, "no such definition")
	})
	if workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a definition that is not valid: %v", err)
	}
}

// TestPlanForAnotherSite: the daemon knows the queue of its own cluster alone.
func TestPlanForAnotherSite(t *testing.T) {
	w := newWorld(t)
	w.onCluster()
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	here, err := smallSite(t.Context())
	w.must(err)
	there := *here
	there.Name, there.DisplayName = "elsewhere", "Elsewhere"
	site, err := json.Marshal(there)
	w.must(err)
	plan, err := w.PlanAllocations(t.Context(), w.id, &api.AllocationPlanRequest{SchedulerOptions: api.SchedulerOptions{Site: site}})
	w.must(err)
	if want := "the daemon is on " + here.Title() + " and does not know the queue of Elsewhere"; plan.NoForecast != want || len(plan.Choices) > 0 {
		t.Errorf("%q %+v, want %q", plan.NoForecast, plan.Choices, want)
	}
}
