package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// compensate gives the rig's workflow a compensation: an undo for each of the jobs, by
// index, in reverse order of their chain, and a job that cleans up after them.
func (r *rig) compensate(policy string, undone ...int) {
	r.tb.Helper()
	first := len(r.ids)
	jobs := make([]rigJob, len(undone)+1)
	for k := range jobs {
		jobs[k].runIf = workflow.RunIfAlways
		if k > 0 {
			jobs[k].after = []int{first + k - 1}
		}
	}
	r.add(jobs...)
	r.do(func(tx *core.Tx) error {
		stage, err := tx.Insert(`INSERT INTO stage (workflow_id, kind, name, policy) VALUES (?, 'compensation', 'on_failure', '{}')`, r.workflow)
		if err != nil {
			return err
		}
		slices.Sort(undone)
		slices.Reverse(undone)
		for k, id := range r.ids[first:] {
			var undoes any
			if k < len(undone) {
				undoes = r.ids[undone[k]]
			}
			if err := tx.ExecOne(`UPDATE job SET stage_id = ?, undoes_id = ? WHERE id = ?`, stage, undoes, id); err != nil {
				return err
			}
		}
		if _, err := core.MoveJobs(tx, workflow.OpStage, r.workflow, workflow.Disabled, engine.AsNew, view.InCompensation); err != nil {
			return err
		}
		if err := engine.CountGates(tx, r.workflow); err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE workflow SET policy = ? WHERE id = ?`, policy, r.workflow)
	})
}

// compensation describes the latest compensation of the workflow; empty if there is none.
func (r *rig) compensation() string {
	r.tb.Helper()
	var state string
	r.must(r.db.Read.QueryRowContext(r.ctx, `SELECT COALESCE((SELECT state || iif(reason = '', '', ': ' || reason) FROM compensation WHERE workflow_id = ? ORDER BY run_id DESC), '')`,
		r.workflow).Scan(&state))
	return state
}

// runs has a runner run what it is granted until nothing is left, and returns the indexes
// of the jobs in their order. Jobs in fail end with exit code 1.
func (h *hand) runs(fail ...int) (order []int) {
	h.tb.Helper()
	for len(h.held) == 0 {
		if h.turn(); len(h.held) == 0 {
			break
		}
		for len(h.held) > 0 {
			ref := h.held[0].LeaseRef
			i := slices.Index(h.ids, ref.JobID)
			order = append(order, i)
			h.held[0].StartedMS = h.now.UnixMilli()
			h.turn()
			h.now = h.now.Add(time.Second)
			code := int64(0)
			if slices.Contains(fail, i) {
				code = 1
			}
			report := exited(ref, code)
			report.StartedMS, report.EndedMS = h.now.UnixMilli()-1000, h.now.UnixMilli()
			h.turn(report)
		}
	}
	return order
}

// TestAFailedRunIsUndone: in reverse order, only what has begun, and then the jobs that
// clean up. The verdict stays.
func TestAFailedRunIsUndone(t *testing.T) {
	r := newRig(t, chainOf(3)...)
	r.compensate(`{}`, 0, 1, 2)
	h := r.hand("n1", 1)
	if diff := cmp.Diff([]int{0, 1, 4, 5, 6}, h.runs(1)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	r.want(workflow.Completed, workflow.Failed, workflow.Canceled, workflow.Disabled, workflow.Completed, workflow.Completed, workflow.Completed)
	if got := r.compensation(); got != "completed" {
		t.Errorf("compensation: %s", got)
	}
	if a := h.turn(); !a.Complete || a.Canceled || a.OpenJobs != 0 {
		t.Errorf("answer: %+v", a)
	}
	text := strings.Join(r.events(), " ")
	for _, part := range []string{"workflow_failed compensation_started", "compensation_completed"} {
		if strings.Count(text, part) != 1 {
			t.Errorf("events: %s", text)
		}
	}
	if n := r.number(`SELECT COUNT(*) FROM verdict WHERE type = 'workflow_failed' AND payload ->> 'total_steps' = 3`); n != 1 {
		t.Error("the verdict is another one")
	}
	r.sound(check.Witness{})
}

// A job that timed out before it was claimed has an attempt, but nothing to undo.
func TestWhatNobodyClaimedIsNotUndone(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{})
	r.setTimeouts(workflow.Timeouts{Queue: limit("1h", workflow.OnTimeoutFail)})
	r.compensate(`{}`, 0, 1)
	h := r.hand("n1", 1)
	h.turn()
	h.giveBack(h.turn(exited(h.held[0].LeaseRef, 0)))
	r.pass(time.Hour)
	failed, _, err := r.Workflows.Failed(r.ctx, r.workflow, sqlite.Page{Limit: 10})
	r.must(err)
	for i, want := range []bool{true, false} {
		if task := failed.Tasks[i]; task.Started != want || task.Undo != want || task.Attempts != 1 {
			t.Errorf("job %d: %+v", i, task)
		}
	}
	r.sound(check.Witness{})
}

// TestUndoOrderAcrossWhatNeverBegan: a job is undone after everything that ran behind it,
// even through a job that never began; so are the jobs that clean up.
func TestUndoOrderAcrossWhatNeverBegan(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{after: []int{0}}, rigJob{after: []int{1}, runIf: workflow.RunIfAlways})
	r.compensate(`{}`, 0, 1, 2)
	h := r.hand("n1", 3)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 1)) // the second is skipped
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.want(workflow.Failed, workflow.Canceled, workflow.Completed, workflow.Pending, workflow.Blocked, workflow.Blocked, workflow.Blocked)
	all, err := r.Workflows.Compensations(r.ctx, r.workflow)
	r.must(err)
	if got := all[0].Text; got != "running, 0 of 3 jobs have ended" {
		t.Errorf("the compensation %s", got)
	}
	failed, _, err := r.Workflows.Failed(r.ctx, r.workflow, sqlite.Page{Limit: 10})
	r.must(err)
	if failed.Tasks[0].Undo != true || failed.Tasks[1].Undo != false {
		t.Errorf("tasks: %+v", failed.Tasks)
	}
	r.sound(check.Witness{})
	h.turn(exited(h.held[0].LeaseRef, 0))
	r.want(workflow.Failed, workflow.Canceled, workflow.Completed, workflow.Completed, workflow.Disabled, workflow.Pending, workflow.Blocked)
	r.sound(check.Witness{})
	_, err = r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	r.want(workflow.Failed, workflow.Canceled, workflow.Completed, workflow.Completed, workflow.Disabled, workflow.Canceled, workflow.Canceled)
	r.sound(check.Witness{})
}

// TestAFailedUndoEndsNoSiblings: a failed undo does not prevent the others.
func TestAFailedUndoEndsNoSiblings(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{})
	r.compensate(`{"cancel_siblings_on": [{"cause": "exit"}]}`, 0, 1)
	r.do(func(tx *core.Tx) error { // the undos do not wait for each other
		if _, err := tx.Exec(`UPDATE job SET gate_id = NULL WHERE id = ?`, r.ids[3]); err != nil {
			return err
		}
		return engine.CountGates(tx, r.workflow)
	})
	h := r.hand("n1", 2)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 1), exited(h.held[1].LeaseRef, 1))
	if len(h.held) != 2 {
		t.Fatalf("held: %+v", h.held)
	}
	if answer := h.turn(exited(h.held[0].LeaseRef, 1)); len(answer.Cancel) > 0 {
		t.Errorf("answer: %+v", answer)
	}
	if n := r.number(`SELECT COUNT(*) FROM job WHERE cancel_fence > 0 AND stage_id IS NOT NULL`); n > 0 {
		t.Errorf("%d jobs of the compensation are to be ended", n)
	}
}

// TestAResetCompensationRests: its jobs are disabled until the next run that is undone.
func TestAResetCompensationRests(t *testing.T) {
	r := newRig(t, chainOf(1)...)
	r.compensate(`{}`, 0)
	r.hand("n1", 1).runs(0)
	_, err := r.Workflows.Reset(r.ctx, r.workflow, false, "ann")
	r.must(err)
	_, err = r.Workflows.ResetJobs(r.ctx, r.workflow, false, "ann")
	r.must(err)
	r.want(workflow.Uninitialized, workflow.Disabled, workflow.Disabled)
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{}))
	h := r.hand("n1", 1)
	h.runID = 2
	h.runs()
	r.want(workflow.Completed, workflow.Disabled, workflow.Disabled)
	r.sound(check.Witness{})
}

// TestAnEndedCompensationRests: none of its jobs can be repeated, since nothing would
// start them.
func TestAnEndedCompensationRests(t *testing.T) {
	r := newRig(t, chainOf(1)...)
	r.compensate(`{}`, 0)
	r.hand("n1", 1).runs(0, 1)
	if got := r.compensation(); got != "failed" {
		t.Fatalf("compensation: %s", got)
	}
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[2], workflow.Ready, 1)
	wantCode(t, err, workflow.CodeConflict)
	_, err = r.Jobs.Retry(r.ctx, r.ids[1], 1, 100)
	wantCode(t, err, workflow.CodeConflict)
	r.want(workflow.Failed, workflow.Failed, workflow.Completed)
}

func TestNothingIsUndone(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy string
		fail   []int
		cancel bool
	}{
		{"successful", `{}`, nil, false},
		{"failed, but when is canceled", `{"on_failure": {"when": ["canceled"]}}`, []int{1}, false},
		{"canceled, but when is failed", `{}`, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, chainOf(2)...)
			r.compensate(test.policy, 0)
			if test.cancel {
				_, err := r.Workflows.Cancel(r.ctx, r.workflow)
				r.must(err)
			} else {
				r.hand("n1", 1).runs(test.fail...)
			}
			if got := r.compensation(); got != "" {
				t.Errorf("compensation: %s", got)
			}
			r.sound(check.Witness{})
		})
	}
}

// TestNothingToUndo: a compensation without needed jobs ends as soon as it has started.
func TestNothingToUndo(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.compensate(`{"on_failure": {}}`, 1) // which does not begin
	_, err := r.Jobs.Update(r.ctx, r.ids[3], workflow.JobUpdate{RunIf: new(workflow.RunIfFailure)})
	r.must(err)
	r.hand("n1", 1).runs(0)
	if got := r.compensation(); got != "completed" {
		t.Errorf("compensation: %q", got)
	}
	r.want(workflow.Failed, workflow.Canceled, workflow.Disabled, workflow.Disabled)
	r.sound(check.Witness{})
}

// TestACanceledRunIsUndone: when the processes of the run are gone, and not earlier; jobs
// that had not begun stay as they are.
func TestACanceledRunIsUndone(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.compensate(`{"on_failure": {"when": ["canceled"]}}`, 0, 1, 2)
	h, other := r.hand("n1", 1), r.hand("n2", 0)
	h.turn()
	h.held[0].StartedMS, h.free.Slots = r.now.UnixMilli(), 0
	h.turn()
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	running := h.held
	h.free.Slots = 1
	for range 2 {
		if a := h.turn(); len(a.Grants) > 0 || len(a.Voided) != 1 || a.Complete || a.Canceled || !a.ClaimableLater {
			t.Fatalf("answer: %+v", a)
		}
	}
	h.held = nil
	if a := h.say(lease.TurnRequest{Dying: 1, Held: []lease.Held{}}); len(a.Grants) > 0 {
		t.Fatalf("granted while a process of %v is ended: %+v", running, a)
	}
	if a := h.turn(); len(a.Grants) > 0 || !a.ClaimableLater {
		t.Fatalf("granted while another runner may have processes: %+v", a)
	}
	other.turn()
	if diff := cmp.Diff([]int{5, 6}, h.runs()); diff != "" { // its own undo, and the job that cleans up
		t.Errorf("order (-want +got):\n%s", diff)
	}
	r.want(workflow.Canceled, workflow.Ready, workflow.Ready, workflow.Disabled, workflow.Disabled, workflow.Completed, workflow.Completed)
	if a := h.turn(); !a.Complete || !a.Canceled {
		t.Errorf("answer: %+v", a)
	}
	r.sound(check.Witness{})
}

// TestACanceledRunIsUndoneInAllocations: only the jobs that undo it need places, until
// they have ended.
func TestACanceledRunIsUndoneInAllocations(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.compensate(`{"on_failure": {"when": ["canceled"]}}`, 0, 1, 2)
	r.must(r.Scheduling.Submit(r.ctx, r.workflow, compute.SubmitOptions{OutputDir: "/out"}, nil, "me"))
	first := r.intend("first")
	h := r.hand("n1", 1)
	h.begins()
	_, err := r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	wanted := func(want int64) {
		t.Helper()
		demand := r.demandOf(time.Minute)
		var ready int64
		for _, c := range demand.Classes {
			ready += c.Ready
		}
		scheduled, err := r.Scheduling.Workflows(r.ctx)
		r.must(err)
		if ready != want || len(scheduled) != 1 {
			t.Errorf("%d jobs want a place, want %d; scheduled: %v", ready, want, scheduled)
		}
	}
	wanted(0) // a process may still exist
	h.held = nil
	h.turn()
	wanted(1)
	second := r.intend("second")
	if r.allocation(first.ID).CancelMS == 0 || r.allocation(second.ID).CancelMS != 0 {
		t.Error("not those of the run are to be canceled, but that of its compensation")
	}
	r.sound(check.Witness{})
	_, err = r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	if scheduled, err := r.Scheduling.Workflows(r.ctx); err != nil || len(scheduled) > 0 || r.allocation(second.ID).CancelMS == 0 {
		t.Errorf("canceled again: %v, %v", scheduled, err)
	}
	r.sound(check.Witness{})
}

// TestACompensationEndsEarly: by its timeout, a cancel, or a forced new run.
func TestACompensationEndsEarly(t *testing.T) {
	for _, test := range []struct {
		name   string
		end    func(r *rig) error
		reason string
	}{
		{"timeout", func(r *rig) error {
			r.now = r.now.Add(time.Hour)
			return r.Workflows.ReviewCompensations(r.ctx)
		}, "failed: it took longer than its timeout"},
		{"cancel", func(r *rig) error {
			_, err := r.Workflows.Cancel(r.ctx, r.workflow)
			return err
		}, "failed: the workflow was canceled"},
		{"new run", func(r *rig) error {
			_, err := r.Workflows.Reset(r.ctx, r.workflow, true, "ann")
			return err
		}, "failed: a new run was started"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, chainOf(2)...)
			r.compensate(`{"on_failure": {"timeout": "PT30M"}}`, 0, 1)
			h := r.hand("n1", 1)
			h.turn()
			h.turn(exited(h.held[0].LeaseRef, 1)) // it is granted the undo at once
			if len(h.held) != 1 || h.held[0].JobID != r.ids[3] {
				t.Fatalf("held: %+v", h.held)
			}
			r.must(r.Workflows.ReviewCompensations(r.ctx)) // it is not late
			if got := r.compensation(); got != "running" {
				t.Fatalf("compensation: %s", got)
			}
			for what, refused := range map[string]func() error{
				"reset": func() error { _, err := r.Workflows.Reset(r.ctx, r.workflow, false, "ann"); return err },
				"jobs":  func() error { _, err := r.Workflows.ResetJobs(r.ctx, r.workflow, true, "ann"); return err },
				"init":  func() error { return r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{}) },
			} {
				if err := refused(); err == nil {
					t.Errorf("%s is not refused", what)
				}
			}
			r.must(test.end(r))
			if got := r.compensation(); got != test.reason {
				t.Errorf("compensation: %s", got)
			}
			if test.name != "new run" {
				r.want(workflow.Failed, workflow.Canceled, workflow.Disabled, workflow.Canceled, workflow.Canceled)
				if a := h.turn(); a.Canceled != (len(a.Voided) == 0) || !a.Complete {
					t.Errorf("answer: %+v", a)
				}
			}
			r.sound(check.Witness{})
		})
	}
}

// TestACompensationFails: a failed undo does not prevent the others.
func TestACompensationFails(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.compensate(`{}`, 0, 1)
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, r.hand("n1", 1).runs(1, 2)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := r.compensation(); got != "failed" {
		t.Errorf("compensation: %s", got)
	}
	r.sound(check.Witness{})
}

// TestOneCompensationInARun: a run that continues after its compensation has no second
// one; the next run has its own, of what has begun since.
func TestOneCompensationInARun(t *testing.T) {
	r := newRig(t, chainOf(2)...)
	r.compensate(`{}`, 0, 1)
	h := r.hand("n1", 1)
	h.runs(1)
	again := func() {
		_, err := r.Workflows.ResetJobs(r.ctx, r.workflow, true, "ann")
		r.must(err)
		r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{OnlyUninitialized: true}))
	}
	again()
	if diff := cmp.Diff([]int{1}, h.runs(1)); diff != "" {
		t.Errorf("the same run (-want +got):\n%s", diff)
	}
	r.want(workflow.Completed, workflow.Failed, workflow.Completed, workflow.Completed, workflow.Completed)
	r.sound(check.Witness{})
	_, err := r.Workflows.Reset(r.ctx, r.workflow, false, "ann")
	r.must(err)
	again()
	old := h
	h = r.hand("n2", 1)
	h.runID = 2
	if diff := cmp.Diff([]int{1}, h.runs(1)); diff != "" {
		t.Errorf("the next run (-want +got):\n%s", diff)
	}
	old.turn()                                               // it has nothing of that run
	if diff := cmp.Diff([]int{2, 4}, h.runs()); diff != "" { // job 0 was undone, and has not run since
		t.Errorf("the next compensation (-want +got):\n%s", diff)
	}
	if n := r.number(`SELECT COUNT(*) FROM compensation`); n != 2 {
		t.Errorf("%d compensations", n)
	}
	r.sound(check.Witness{})
}
