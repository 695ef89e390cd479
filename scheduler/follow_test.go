package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// lookAfter sets auto_schedule of the workflow.
func (w *world) lookAfter(is bool) {
	w.Helper()
	_, err := w.store.Workflows.Update(w.Context(), w.id, workflow.WorkflowUpdate{Policy: &workflow.RunPolicy{AutoSchedule: &is}})
	w.must(err)
}

// TestWorkThatHasLostItsPlaceGetsAnotherAllocation of the same scheduler, never more
// at a time than the action requested.
func TestWorkThatHasLostItsPlaceGetsAnotherAllocation(t *testing.T) {
	for _, cause := range []compute.AllocationCause{
		compute.AllocationPreempted, compute.AllocationNodeFail, compute.AllocationFailed, compute.AllocationWalltime, compute.AllocationDone,
	} {
		t.Run(string(cause), func(t *testing.T) {
			w := newWorld(t)
			a := w.action(action.TriggerWorkflowStart, 1, false)
			w.jobs(2, 2, "1g", "PT50M") // one after the other fills the hour
			if r := w.submit(nil); w.asked != 1 || r.AutoSchedule || !r.RequestsMore {
				t.Fatalf("asked %d times: %+v", w.asked, r)
			}
			first := w.allocations(true)[0]
			w.startJob(first)
			if r := w.after(time.Minute); w.asked != 1 || !strings.Contains(fmt.Sprint(r.Lines()), "its actions request 1 allocation at a time: there are 1 live and 0 pending") {
				t.Fatalf("asked %d times: %q", w.asked, r.Lines())
			}
			w.restart()
			w.end(first, cause)
			r := w.after(3 * time.Minute) // some causes delay the retry
			if w.asked != 2 || len(r.Asked) != 1 {
				t.Fatalf("asked %d times: %q", w.asked, r.Lines())
			}
			got := r.Asked[0].Request
			if got.ActionID != a.ID || got.Partition != "std" || got.MaxParallelJobs != 2 || got.WalltimeS != 3600 || got.Pool != "scheduler small" {
				t.Errorf("asked for %+v", got)
			}
			if why := fmt.Sprint(r.Lines()); !strings.Contains(why, fmt.Sprintf("the allocations that action %d requested have no room for them", a.ID)) {
				t.Errorf("reason: %s", why)
			}
			if w.after(time.Minute); w.asked != 2 {
				t.Errorf("asked %d times in the end", w.asked)
			}
		})
	}
}

func TestNothingMoreIsRequestedWithoutAutoSchedule(t *testing.T) {
	for _, off := range []string{"by the specification", "by the submission"} {
		t.Run(off, func(t *testing.T) {
			w := newWorld(t)
			w.action(action.TriggerWorkflowStart, 1, false)
			w.jobs(1, 2, "1g", "PT50M")
			options := compute.SubmitOptions{OutputDir: w.output, NoAutoSchedule: off == "by the submission"}
			if !options.NoAutoSchedule {
				w.lookAfter(false)
			}
			w.must(w.store.Scheduling.Submit(t.Context(), w.id, options, nil, "me"))
			w.look()
			first := w.allocations(true)[0]
			w.startJob(first)
			w.end(first, compute.AllocationPreempted)
			if r := w.after(time.Minute); w.asked != 1 || r.RequestsMore {
				t.Errorf("asked %d times: %+v", w.asked, r)
			}
			if !options.NoAutoSchedule {
				w.lookAfter(true) // somebody changes their mind
				if w.after(time.Minute); w.asked != 2 {
					t.Errorf("asked %d times after it was turned on", w.asked)
				}
			}
		})
	}
}

// TestOfSeveralActionsOfAScheduler all that they requested may be there at a time.
func TestOfSeveralActionsOfAScheduler(t *testing.T) {
	w := newWorld(t)
	w.action(action.TriggerWorkflowStart, 1, false)
	all, err := w.store.Actions.List(t.Context(), w.id)
	w.must(err)
	again := all[0]
	again.Config = json.RawMessage(strings.Replace(string(again.Config), `"num_allocations":1`, `"num_allocations":2`, 1))
	_, err = w.store.Actions.Create(t.Context(), again)
	w.must(err)
	w.jobs(9, 2, "1g", "PT50M")
	if w.submit(nil); w.asked != 3 {
		t.Fatalf("asked %d times", w.asked)
	}
	for _, a := range w.allocations(true) {
		w.active(a)
		w.end(a, compute.AllocationFailed)
	}
	if w.after(time.Minute); w.asked != 6 || len(w.allocations(true)) != 3 {
		t.Errorf("asked %d times, %d live", w.asked, len(w.allocations(true)))
	}
}

// TestARefusalForGoodIsTriedAgain, as it is where the daemon chooses.
func TestARefusalForGoodIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.action(action.TriggerWorkflowStart, 3, false)
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{refusal(slurm.Permanent), refusal(slurm.Permanent)}
	if r := w.submit(nil); w.asked != 1 || len(r.Refused) != 1 {
		t.Fatalf("asked %d times: %+v", w.asked, r)
	}
	if w.after(29 * time.Second); w.asked != 1 {
		t.Fatalf("asked %d times at once", w.asked)
	}
	if w.after(time.Second); w.asked != 2 {
		t.Fatalf("asked %d times after 30 s", w.asked)
	}
	if w.after(time.Minute); w.asked != 3 || len(w.allocations(true)) != 1 {
		t.Errorf("asked %d times, %d live: one job needs one allocation", w.asked, len(w.allocations(true)))
	}
}

// TestOneJobIsAskedForOnce though an action and auto_schedule_on_ready_jobs both
// ask for it: whatever the action has requested or is going to ask for counts.
func TestOneJobIsAskedForOnce(t *testing.T) {
	auto := func(w *world) {
		_, err := w.store.Actions.Create(w.Context(), action.Record{
			WorkflowID: w.id, TriggerType: action.TriggerAutoSchedule, ActionType: action.ScheduleNodes, Config: json.RawMessage(`{}`),
		})
		w.must(err)
	}
	t.Run("as long as the walltime", func(t *testing.T) {
		w := newWorld(t)
		w.action(action.TriggerWorkflowStart, 1, false)
		auto(w)
		w.jobs(1, 1, "1g", "PT1H")
		if w.submit(nil); w.asked != 1 {
			t.Errorf("asked %d times", w.asked)
		}
	})
	t.Run("refused for now", func(t *testing.T) {
		w := newWorld(t)
		w.action(action.TriggerWorkflowStart, 1, false)
		auto(w)
		w.jobs(1, 1, "1g", "PT10M")
		w.answers = []error{refusal(slurm.Temporary)}
		w.submit(nil)
		for range 9 {
			w.after(10 * time.Second)
		}
		if w.asked != 2 || len(w.allocations(true)) != 1 {
			t.Errorf("asked %d times, %d live", w.asked, len(w.allocations(true)))
		}
	})
	t.Run("when its other jobs are ready", func(t *testing.T) {
		w := newWorld(t)
		auto(w)
		waits := w.jobs(1, 1, "1g", "PT10M")
		other := w.jobs(1, 2, "1g", "PT20M")
		last, err := w.store.Jobs.Create(t.Context(), []workflow.Job{{WorkflowID: w.id, Name: "last", Command: "true", DependsOn: other}})
		w.must(err)
		a := w.action(action.TriggerWorkerStart, 1, false) // the next one asks for the same
		_, err = w.store.Actions.Create(t.Context(), action.Record{
			WorkflowID: w.id, TriggerType: action.TriggerJobsReady, ActionType: action.ScheduleNodes, Config: a.Config, JobIDs: []int64{waits[0], last[0].ID},
		})
		w.must(err)
		w.must(w.store.Workflows.Initialize(w.Context(), w.id, store.InitializeOptions{OnlyUninitialized: true}))
		r := w.submit(nil)
		if w.asked != 1 || !strings.Contains(fmt.Sprint(r.Lines()), "an action requests their allocations as soon as its other jobs are ready") {
			t.Errorf("asked %d times: %q", w.asked, r.Lines())
		}
	})
}
