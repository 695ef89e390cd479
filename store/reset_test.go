package store

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

func TestResetStatusRefusals(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	reset := func(force bool, want string) {
		t.Helper()
		before, err := n.Workflows.Get(n.ctx, g.workflow)
		n.must(err)
		w, err := n.Workflows.Reset(n.ctx, g.workflow, force, "me")
		if want == "" {
			if n.must(err); w.RunID != before.RunID+1 {
				t.Errorf("run %d after run %d", w.RunID, before.RunID)
			}
			return
		}
		wantCode(t, err, workflow.CodeInvalid)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	g.force(0, pending)
	reset(false, "1 jobs")
	reset(true, "")
	g.force(0, completed)
	node, err := n.ScheduledComputeNodes.Create(n.ctx, compute.ScheduledNode{WorkflowID: g.workflow, SchedulerType: "slurm", Status: "active"})
	n.must(err)
	reset(false, "1 scheduled compute nodes")
	node.Status = "complete"
	_, err = n.ScheduledComputeNodes.Update(n.ctx, node)
	n.must(err)
	reset(false, "")
	_, err = n.Workflows.Archive(n.ctx, g.workflow, true, "me")
	n.must(err)
	reset(true, "Cannot reset archived workflow status")
	_, err = n.Workflows.Reset(n.ctx, 999, true, "me")
	wantCode(t, err, workflow.CodeNotFound)
}

// hold has a node run a job.
func (g *jobGraph) hold(i int, node int64) {
	g.t.Helper()
	g.force(i, running)
	g.must(g.shared.Do("hold", func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE job SET compute_node_id = ?, claimed_ms = 1, start_ms = 2, fence = 5 WHERE id = ?`, node, g.jobs[i])
	}))
}

func TestResetVoidsLeases(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	node := n.node(g.workflow)
	g.force(0, completed)
	g.force(1, failed)
	g.hold(2, node)
	count, err := n.Workflows.ResetJobs(n.ctx, g.workflow, false, "me")
	if n.must(err); count != 4 {
		t.Errorf("%d jobs reset", count)
	}
	g.want("reset", uninitialized, uninitialized, uninitialized, uninitialized)
	c := g.jobOf(2)
	attempts, err := n.Jobs.Attempts(n.ctx, c.ID)
	n.must(err)
	if c.Fence != 6 || len(attempts) != 1 || attempts[0].Status != canceled || attempts[0].Cause.Kind != workflow.CauseCanceledUser || *attempts[0].StartedMS != 2 {
		t.Errorf("fence %d, attempts %+v", c.Fence, attempts)
	}
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	if got := g.jobOf(2).AttemptID; got != 2 {
		t.Errorf("the next attempt has the number %d, want 2: there was one in this run", got)
	}
	_, err = n.Workflows.Reset(n.ctx, g.workflow, false, "me")
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	if got := g.jobOf(2).AttemptID; got != 1 {
		t.Errorf("the first attempt of a run has the number %d", got)
	}
}

func TestResetFailedLeavesDisabledAndOthers(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: "off", Command: "true"}, workflow.JobDefinition{Name: "ok", Command: "true"},
		workflow.JobDefinition{Name: "held", Command: "true"})
	g := n.graph(d)
	g.force(4, disabled)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	g.force(5, completed)
	g.force(6, held)
	g.force(0, failed)
	g.want("a failed", failed, canceled, canceled, canceled, disabled, completed, held)
	count, err := n.Workflows.ResetJobs(n.ctx, g.workflow, true, "me")
	if n.must(err); count != 5 {
		t.Errorf("%d jobs reset, want a, those that were skipped, and the held one", count)
	}
	g.want("reset", uninitialized, uninitialized, uninitialized, uninitialized, disabled, completed, uninitialized)
}

func TestCancel(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	node := n.node(g.workflow)
	g.force(0, completed)
	g.hold(1, node)
	w, err := n.Workflows.Cancel(n.ctx, g.workflow)
	if n.must(err); !w.IsCanceled || w.Verdict != workflow.EventWorkflowCanceled {
		t.Errorf("canceled %t, verdict %q", w.IsCanceled, w.Verdict)
	}
	g.want("canceled", completed, canceled, ready, blocked)
	if b := g.jobOf(1); b.Fence != 6 || b.SkippedBy != nil {
		t.Errorf("job %+v", b)
	}
	again, err := n.Workflows.Cancel(n.ctx, g.workflow)
	n.must(err)
	if diff := cmp.Diff(w, again); diff != "" {
		t.Errorf("canceled again (-once +twice):\n%s", diff)
	}
	events, err := n.Events.After(n.ctx, g.workflow, 0, 100)
	n.must(err)
	var kinds []workflow.EventType
	for _, e := range events {
		kinds = append(kinds, e.Type)
	}
	want := []workflow.EventType{workflow.EventWorkflowCanceled, workflow.EventWorkflowCanceled} // the request and the verdict
	if !slices.Equal(kinds[len(kinds)-2:], want) {
		t.Errorf("events %v", kinds)
	}
	var verdict stage.EndPayload
	n.must(json.Unmarshal(events[len(events)-1].Data, &verdict))
	if verdict.NotRun != 2 || verdict.Canceled != 1 || verdict.ByCause[workflow.CauseCanceledUser] != 1 {
		t.Errorf("verdict %+v", verdict)
	}

	// The way back: a new run.
	_, err = n.Workflows.Reset(n.ctx, g.workflow, false, "me")
	n.must(err)
	_, err = n.Workflows.ResetJobs(n.ctx, g.workflow, true, "me")
	n.must(err)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true}))
	g.want("the next run", completed, ready, ready, blocked)
}

func TestCancelTellsRunners(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	node := n.node(g.workflow)
	var told []int64
	n.must(n.shared.Do("cancel", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, g.workflow)
		if err != nil {
			return err
		}
		err = engine.CancelRun(tx, r)
		told = tx.Changes.Runners
		return err
	}))
	if !slices.Equal(told, []int64{node}) {
		t.Errorf("runners %v, want %d", told, node)
	}
}

// Jobs that an interrupted run left behind are not claimed before their dependencies are
// complete, even if the new run is never initialized, and they come to their end.
func TestNewRunAfterCancelAndRetry(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{after: []int{0}, runIf: workflow.RunIfAlways}, rigJob{}, rigJob{}, rigJob{after: []int{2}})
	node := r.node("n1")
	complete := func(i int, to workflow.JobStatus, run int64) {
		t.Helper()
		c := r.completion(i, node, to, 0)
		c.RunID, c.Result.RunID = run, run
		_, err := r.Jobs.Complete(r.ctx, c)
		r.must(err)
	}
	complete(0, failed, 1)
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[2], pending, 1)
	r.must(err)
	r.want(failed, ready, pending, ready, blocked)
	_, err = r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	_, err = r.Jobs.Retry(r.ctx, r.ids[0], 1, 9)
	r.must(err)
	r.want(ready, blocked, canceled, ready, blocked)
	_, err = r.Workflows.Reset(r.ctx, r.workflow, false, "me")
	r.must(err)
	r.want(ready, blocked, canceled, ready, blocked)
	jobs, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 9, nil)
	if r.must(err); len(jobs) != 2 {
		t.Errorf("%d jobs were claimed, want 2", len(jobs))
	}
	complete(3, completed, 2)
	r.want(pending, blocked, canceled, completed, canceled)
	complete(0, completed, 2)
	r.want(completed, ready, canceled, completed, canceled)
}

// TestResetAfterTheLastRunner: an allocation whose runners have all left does not prevent
// a new run, although Slurm has not reported its end.
func TestResetAfterTheLastRunner(t *testing.T) {
	t.Parallel()
	r := newRig(t, independent(1)...)
	r.intend("i")
	a := r.adopt("i", 77, 0)
	r.observe(Observation{AllocationID: a.ID, State: compute.AllocationActive})
	h := r.join("i", 77, 0)
	refused := func() {
		t.Helper()
		if _, err := r.Workflows.Reset(r.ctx, r.workflow, false, "me"); workflow.CodeOf(err) != workflow.CodeInvalid || !strings.Contains(err.Error(), "1 scheduled compute nodes") {
			t.Errorf("reset: %v", err)
		}
	}
	refused()
	second := r.join("i", 77, 0)
	_, err := r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	refused()
	_, err = r.Runners.Leave(r.ctx, second.id, lease.LeaveRequest{})
	r.must(err)
	left, err := r.Allocations.Abandoned(r.ctx)
	r.must(err)
	if len(left) != 1 || !left[a.ID] {
		t.Errorf("left: %v", left)
	}
	_, err = r.Workflows.Reset(r.ctx, r.workflow, false, "me")
	r.must(err)
	r.check()
}
