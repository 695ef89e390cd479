package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func TestFailureSkipsALongChain(t *testing.T) {
	r := newRig(t, chainOf(150)...)
	h := r.hand("n1", 1)
	h.turn()
	answer := h.turn(exited(h.held[0].LeaseRef, 1))
	if !answer.Complete {
		t.Errorf("answer: %+v", answer)
	}
	want := slices.Repeat([]workflow.JobStatus{workflow.Canceled}, 150)
	want[0] = workflow.Failed
	r.want(want...)
	var v stage.EndPayload
	r.verdict(&v)
	if v.Canceled != 149 || v.Failed != 1 || v.TotalSteps != 150 {
		t.Errorf("verdict: %+v", v)
	}
	if diff := cmp.Diff([]string{"compute_node_started", "job_started", "job_failed", "jobs_skipped", "workflow_failed"}, r.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A chain is skipped by one statement, up to a job that runs regardless and to one that
// waits for another job as well.
func TestChainIsSkippedAtOnce(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{after: []int{0}}, rigJob{after: []int{1}}, rigJob{after: []int{2}, runIf: workflow.RunIfAlways}, rigJob{},
		rigJob{after: []int{2, 4}})
	errUndone := errors.New("not to be kept")
	var skipped []int64
	err := r.shared.Do("fail", func(tx *core.Tx) error {
		run, err := core.LoadRun(tx, r.workflow)
		if err != nil {
			return err
		}
		if err := tx.ExecOne(`UPDATE job SET status = 6 WHERE id = ?`, r.ids[0]); err != nil {
			return err
		}
		gates, err := engine.LowerGates(tx, r.ids[:1], true)
		if err != nil {
			return err
		}
		c := engine.Cascade{Tx: tx, Run: run}
		if skipped, err = c.Skip(sqlite.IDList(gates)); err == nil {
			err = errUndone
		}
		return err
	})
	slices.Sort(skipped)
	if !errors.Is(err, errUndone) || !slices.Equal(skipped, r.ids[1:3]) {
		t.Errorf("skipped %v of %v, %v", skipped, r.ids, err)
	}
	_, err = r.Jobs.Complete(r.ctx, r.completion(0, r.node("n1"), failed, 1))
	r.must(err)
	r.want(failed, canceled, canceled, ready, ready, blocked)
	if n := r.number(`SELECT COUNT(*) FROM job WHERE workflow_id = ? AND skipped_by = ?`, r.workflow, r.ids[0]); n != 2 {
		t.Errorf("%d jobs were skipped because of the first, want 2", n)
	}
}

func TestFailureBeforeSuccessSkipsWhatIsBehindBoth(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{after: []int{0, 1}}, rigJob{after: []int{0, 1}, runIf: workflow.RunIfAlways}, rigJob{after: []int{2, 3}})
	h := r.hand("n1", 2)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 1))
	r.want(workflow.Failed, workflow.Pending, workflow.Blocked, workflow.Blocked, workflow.Blocked)
	h.free.Slots = 0
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.want(workflow.Failed, workflow.Completed, workflow.Canceled, workflow.Ready, workflow.Blocked)
	h.free.Slots = 1
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.want(workflow.Failed, workflow.Completed, workflow.Canceled, workflow.Completed, workflow.Canceled)
}

func TestDisabledDependencyIsSatisfied(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.do(func(tx *core.Tx) error {
		if err := tx.ExecOne(`UPDATE job SET status = 9 WHERE id = ?`, r.ids[0]); err != nil {
			return err
		}
		tx.Move(r.workflow, workflow.Ready, workflow.Disabled, 1)
		return engine.ReleaseDependents(tx, r.workflow, []engine.Completed{{ID: r.ids[0], From: workflow.Ready, To: workflow.Disabled}})
	})
	r.want(workflow.Disabled, workflow.Ready)
}

func TestTriggersCountInTheSameTransaction(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{after: []int{0}}, rigJob{after: []int{1}})
	add := func(trigger string, jobs []int64) int64 {
		a, err := r.Actions.Create(r.ctx, action.Record{WorkflowID: r.workflow, TriggerType: trigger,
			ActionType: action.RunCommands, Config: []byte(`{"commands": ["true"]}`), JobIDs: jobs})
		r.must(err)
		return a.ID
	}
	ready := add(action.TriggerJobsReady, r.ids[2:])
	complete := add(action.TriggerJobsComplete, r.ids)
	end := add(action.TriggerWorkflowComplete, nil)
	want := func(when string, id, n int64) {
		t.Helper()
		if got := r.number(`SELECT trigger_count FROM workflow_action WHERE id = ?`, id); got != n {
			t.Errorf("%s: action %d has counted %d, want %d", when, id, got, n)
		}
	}
	h := r.hand("n1", 2)
	h.turn()
	h.free.Slots = 0
	h.turn(exited(h.held[0].LeaseRef, 0))
	want("one job done", ready, 1)
	want("one job done", complete, 1)
	// The last two end by a failure and by what it skips.
	h.turn(exited(h.held[0].LeaseRef, 1))
	want("a failure", ready, 2)
	want("a failure", complete, 3)
	want("a failure", end, 0)
	h.free.Slots = 1
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 0))
	want("the end", complete, 4)
	want("the end", end, 1)
}

// barrier makes n jobs and n behind all of them.
func barrier(n int) []rigJob {
	jobs := make([]rigJob, 2*n)
	for i := range n {
		jobs[n].after = append(jobs[n].after, i)
	}
	for i := n; i < 2*n; i++ {
		jobs[i].after = jobs[n].after
	}
	return jobs
}

func TestBarrierWithAFailure(t *testing.T) {
	const n = 1000
	r := newRig(t, barrier(n)...)
	h := r.hand("n1", n)
	h.turn()
	reports := make([]lease.Report, n)
	for i := range n {
		reports[i] = exited(h.held[i].LeaseRef, 0)
	}
	reports[n-1] = exited(h.held[n-1].LeaseRef, 1)
	begin := time.Now()
	if answer := h.turn(reports...); !answer.Complete {
		t.Fatalf("answer: %+v", answer)
	}
	t.Logf("%d jobs ended and %d skipped in %v", n, n, time.Since(begin))
	if got := r.number(`SELECT COUNT(*) FROM job WHERE status = 7 AND skipped_by = ?`, r.ids[n-1]); got != n {
		t.Errorf("%d jobs skipped, want %d", got, n)
	}
	r.check()
}

func TestBarrier(t *testing.T) {
	const n = 1000
	r := newRig(t, barrier(n)...)
	if gates := r.number(`SELECT COUNT(*) FROM gate`); gates != 1 {
		t.Fatalf("%d gates, want 1", gates)
	}
	h := r.hand("n1", n)
	h.turn()
	reports := make([]lease.Report, n)
	for i := range n {
		reports[i] = exited(h.held[i].LeaseRef, 0)
	}
	h.turn(reports[:n-1]...)
	begin := time.Now()
	if got := len(h.turn(reports[n-1]).Grants); got != n {
		t.Fatalf("%d grants after the barrier, want %d", got, n)
	}
	t.Logf("from the last completion to %d grants: %v", n, time.Since(begin))
	r.check()
}

func TestWideCascade(t *testing.T) {
	const n = 30_000
	jobs := make([]rigJob, n+2)
	for i := range n {
		jobs[i+1].after = []int{0}
	}
	jobs[n+1].after = []int{n}
	r := newRig(t, jobs...)
	h := r.hand("n1", 1)
	h.turn()
	begin := time.Now()
	if answer := h.turn(exited(h.held[0].LeaseRef, 1)); !answer.Complete {
		t.Fatalf("answer: %+v", answer)
	}
	t.Logf("%d jobs skipped in %v", n+1, time.Since(begin))
	if got := r.number(`SELECT COUNT(*) FROM job WHERE status = 7 AND skipped_by = ?`, r.ids[0]); got != n+1 {
		t.Errorf("%d jobs skipped, want %d", got, n+1)
	}
	r.check()
}

// Jobs that run only after a failure are not needed without one: a chain of them is one
// statement and one event, and the jobs behind it continue.
func TestJobsThatAreNotNeeded(t *testing.T) {
	const always, failure = workflow.RunIfAlways, workflow.RunIfFailure
	r := newRig(t, rigJob{}, rigJob{after: []int{0}, runIf: failure}, rigJob{after: []int{1}, runIf: failure}, rigJob{after: []int{2}},
		rigJob{after: []int{0}, runIf: always})
	h := r.hand("n1", 5)
	h.turn(exited(h.turn().Grants[0].LeaseRef, 0))
	r.want(workflow.Completed, workflow.Disabled, workflow.Disabled, workflow.Pending, workflow.Pending)
	events, err := r.Events.After(r.ctx, r.workflow, 0, 100)
	r.must(err)
	last := events[len(events)-1]
	if last.Type != workflow.EventJobsNotNeeded || !strings.Contains(string(last.Data), `"count":2,"first_job_id":2,"last_job_id":3`) {
		t.Errorf("%s %s", last.Type, last.Data)
	}
	j, err := r.Jobs.Get(r.ctx, r.ids[1])
	r.must(err)
	if !j.NotNeeded || j.SkippedBy != nil {
		t.Errorf("not needed %v, skipped by %v", j.NotNeeded, j.SkippedBy)
	}
	h.turn(exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0))
	if v := r.ended(); v.EventType != string(workflow.EventWorkflowCompleted) || v.Disabled != 2 {
		t.Errorf("verdict: %+v", v)
	}
	r.check()
}

// They run when the others are complete and one has failed.
func TestJobsThatRunAfterAFailure(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{after: []int{0, 1}, runIf: workflow.RunIfFailure}, rigJob{after: []int{2}})
	h := r.hand("n1", 5)
	g := h.turn().Grants
	h.turn(exited(g[0].LeaseRef, 1))
	r.want(workflow.Failed, workflow.Pending, workflow.Blocked, workflow.Blocked)
	h.turn(exited(g[1].LeaseRef, 0))
	r.want(workflow.Failed, workflow.Completed, workflow.Pending, workflow.Blocked)
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.want(workflow.Failed, workflow.Completed, workflow.Completed, workflow.Pending)
	r.check()
}
