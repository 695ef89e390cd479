package scheduler

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// action adds an action schedule_nodes with a scheduler of its own.
func (w *world) action(trigger string, count int, serialize bool) action.Record {
	w.Helper()
	c, err := w.store.SlurmSchedulers.Create(w.Context(), compute.SlurmScheduler{
		WorkflowID: w.id, Name: "small", Account: "research", Partition: new("std"), Nodes: 1, NtasksPerNode: new(int64(2)), Walltime: "01:00:00", SerializeAllocations: serialize,
	})
	w.must(err)
	a, err := w.store.Actions.Create(w.Context(), action.Record{
		WorkflowID: w.id, TriggerType: trigger, ActionType: action.ScheduleNodes,
		Config: json.RawMessage(fmt.Sprintf(`{"scheduler_id":%d,"scheduler_type":"slurm","num_allocations":%d,"max_parallel_jobs":2}`, c.ID, count)),
	})
	w.must(err)
	return a
}

func TestTriggeredActionsAreCarriedOutOnce(t *testing.T) {
	w := newWorld(t)
	w.action(action.TriggerWorkflowComplete, 1, false)
	a := w.action(action.TriggerWorkflowStart, 2, false)
	w.jobs(1, 1, "1g", "PT10M")
	w.look()
	if w.asked != 0 {
		t.Fatal("a workflow that was not submitted gets allocations")
	}
	r := w.submit(nil)
	if w.asked != 2 || len(r.Asked) != 2 || r.AutoSchedule {
		t.Fatalf("asked %d times: %+v", w.asked, r)
	}
	want := compute.AllocationRequest{
		Account: "research", Partition: "std", Nodes: 1, NtasksPerNode: 2, WalltimeS: 3600, OutputDir: w.output, MaxParallelJobs: 2, ActionID: a.ID,
		Offer: compute.AllocationOffer{CPUs: 2, MemoryBytes: (8192 - 128) << 20 / 4 * 2},
	}
	if diff := cmp.Diff(want, r.Asked[0].Request); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := w.store.Actions.Claim(t.Context(), w.id, a.ID, nil); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a runner claims it as well: %v", err)
	}
	// They are nobody's surplus, and the next pass asks for none.
	w.restart()
	if r = w.after(time.Minute); w.asked != 2 || len(r.Canceled) > 0 {
		t.Errorf("asked %d times: %+v", w.asked, r)
	}
}

func TestAnActionOfARunnerIsLeftToIt(t *testing.T) {
	w := newWorld(t)
	a := w.action(action.TriggerWorkflowStart, 2, false)
	w.jobs(1, 1, "1g", "PT10M")
	w.must(w.store.Actions.Claim(t.Context(), w.id, a.ID, nil))
	if w.submit(nil); w.asked != 0 {
		t.Errorf("asked %d times", w.asked)
	}
}

// TestAnActionGoesOn after Slurm had said no for now, and after a restart, with
// what is left of it.
func TestAnActionGoesOn(t *testing.T) {
	w := newWorld(t)
	w.action(action.TriggerWorkflowStart, 3, true)
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{nil, refusal(slurm.Temporary)}
	r := w.submit(nil)
	if len(r.Asked) != 1 || len(r.Refused) != 1 {
		t.Fatalf("%+v", r)
	}
	w.restart()
	if w.after(29 * time.Second); w.asked != 2 {
		t.Fatalf("asked %d times at once", w.asked)
	}
	r = w.after(time.Second)
	if len(r.Asked) != 2 || w.asked != 4 {
		t.Fatalf("asked %d times: %+v", w.asked, r)
	}
	for i, a := range w.allocations(true) {
		if a.Request.After != int64(i) {
			t.Errorf("Slurm job %d starts after %d", a.SlurmJobID, a.Request.After)
		}
	}
}

func TestAnActionThatSlurmRefusesForGoodIsOver(t *testing.T) {
	w := newWorld(t)
	w.lookAfter(false)
	w.action(action.TriggerWorkflowStart, 3, false)
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{refusal(slurm.Permanent)}
	w.submit(nil)
	if w.after(time.Hour); w.asked != 1 {
		t.Errorf("asked %d times", w.asked)
	}
}

// TestJobsOfASchedulerGoThere, with what they need more than it asks for.
func TestJobsOfASchedulerGoThere(t *testing.T) {
	w := newWorld(t)
	c, err := w.store.SlurmSchedulers.Create(t.Context(), compute.SlurmScheduler{
		WorkflowID: w.id, Name: "gpu", Account: "research", Partition: new("big"), Nodes: 1, Mem: new("4g"), Walltime: "00:30:00", Extra: new("--cpus-per-task=2"),
	})
	w.must(err)
	_, err = w.store.Actions.Create(t.Context(), action.Record{
		WorkflowID: w.id, TriggerType: action.TriggerAutoSchedule, ActionType: action.ScheduleNodes,
		Config: json.RawMessage(fmt.Sprintf(`{"scheduler_id":%d,"idle_timeout":"PT30S"}`, c.ID)),
	})
	w.must(err)
	w.jobs(1, 1, "6g", "PT1H")
	r := w.submit(nil)
	if len(r.Asked) != 1 {
		t.Fatalf("%+v", r)
	}
	q := r.Asked[0].Request
	if q.Partition != "big" || q.Pool != "scheduler gpu" || q.Mem != "6144M" || q.WalltimeS < 3600 || q.IdleTimeoutS != 30 || q.Extra != "--cpus-per-task=2" {
		t.Errorf("%+v", q)
	}
}
