package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
)

// operate has ann do something with jobs, and returns what was done, a line for each job.
func (r *rig) operate(o JobOperation) ([]string, JobsOperated) {
	r.tb.Helper()
	o.User = "ann"
	done, err := r.Jobs.Operate(r.ctx, r.workflow, o)
	r.must(err)
	var lines []string
	for _, j := range done.Jobs {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", j.Name, j.Effect, j.Why), ": "))
	}
	return lines, done
}

// choosing returns a choice by names, patterns and ids.
func choosing(jobs ...string) JobChoice { return JobChoice{Jobs: jobs} }

// A canceled job takes those with it that depend on it; one that runs is ended by its
// runner. Nothing is repeated, and the run ends.
func TestCancelJobs(t *testing.T) {
	r := newRig(t, rigJob{}, rigJob{}, rigJob{}, rigJob{after: []int{0}}, rigJob{after: []int{1}})
	h := r.hand("n1", 1)
	h.turn()
	h.free.Slots = 0
	h.start(1)
	lines, done := r.operate(JobOperation{Verb: operate.Cancel, Choice: choosing("j0", "j1"), Reason: "wrong"})
	if diff := cmp.Diff([]string{"j0 ending", "j1 changed"}, lines); diff != "" {
		t.Error(diff)
	}
	if len(done.Dependents) != 2 || done.Dependents[0].Name != "j3" || done.Dependents[1].Name != "j4" || done.EndsRun {
		t.Errorf("%+v", done)
	}
	r.want(workflow.Running, workflow.Canceled, workflow.Ready, workflow.Blocked, workflow.Canceled)
	answer := h.turn()
	if len(answer.Cancel) != 1 || len(answer.Voided) != 0 {
		t.Fatalf("%+v", answer)
	}
	lines, _ = r.operate(JobOperation{Verb: operate.Cancel, Choice: choosing("j0", "j1")})
	if diff := cmp.Diff([]string{"j0 unchanged: its runner is ending it", "j1 unchanged: it is canceled"}, lines); diff != "" {
		t.Error(diff)
	}
	h.turn(endedByUs(h.held[0].LeaseRef, workflow.KilledBySibling))
	r.want(workflow.Canceled, workflow.Canceled, workflow.Ready, workflow.Canceled, workflow.Canceled)
	if a := r.attempts(0); len(a) != 1 || !strings.Contains(a[0], "canceled_user") {
		t.Errorf("%q", a)
	}
	for i, want := range map[int]string{0: "canceled by ann", 1: "canceled by ann, wrong"} {
		f, err := r.Jobs.Facts(r.ctx, r.ids[i])
		if state := explain.Job(f).State; err != nil || !strings.Contains(state, want) {
			t.Errorf("job %d: %q, %v", i, state, err)
		}
	}
	if _, done = r.operate(JobOperation{Verb: operate.Cancel, Choice: JobChoice{Statuses: []workflow.JobStatus{workflow.Ready}}}); !done.EndsRun {
		t.Errorf("%+v", done)
	}
	if v := r.ended(); v.Canceled != 5 || v.Retried != 0 {
		t.Errorf("%+v", v)
	}
	// A person may have it run again.
	_, err := r.Jobs.ManageStatusChange(r.ctx, r.ids[1], workflow.Ready, 1)
	r.must(err)
	r.want(workflow.Canceled, workflow.Ready, workflow.Canceled, workflow.Canceled, workflow.Blocked)
	r.sound(check.Witness{})
}

// A claimed job that was not started is canceled when it is given back; one that completes
// within its grace is completed; one whose runner dies has failed.
func TestCancelLiveJobs(t *testing.T) {
	r := newRig(t, independent(3)...)
	h, other := r.hand("n1", 2), r.hand("n2", 1)
	h.turn()
	other.turn()
	h.free.Slots, other.free.Slots = 0, 0
	h.start(1)
	other.start(1)
	r.operate(JobOperation{Verb: operate.Cancel, Choice: JobChoice{All: true}})
	held := h.held
	h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{held[1].LeaseRef}, Reports: []lease.Report{
		{LeaseRef: held[0].LeaseRef, StartedMS: 1, EndedMS: 2, Evidence: workflow.Evidence{ExitCode: new(int64(0)), KilledBy: workflow.KilledBySibling}},
	}})
	r.must(r.Runners.Expire(r.ctx, other.id, "killed"))
	r.want(workflow.Completed, workflow.Canceled, workflow.Failed)
	r.sound(check.Witness{})
}

// A cancel takes precedence over a pause that gives the job back.
func TestCancelPausedJob(t *testing.T) {
	r := newRig(t, independent(2)...)
	h := r.hand("n1", 2)
	h.turn()
	h.free.Slots = 0
	h.start(2)
	_, err := r.Workflows.Pause(r.ctx, r.workflow, PauseOptions{Pause: hold.Pause{By: "ann"}, Now: true})
	r.must(err)
	lines, _ := r.operate(JobOperation{Verb: operate.Cancel, Choice: choosing("j1")})
	if diff := cmp.Diff([]string{"j1 ending"}, lines); diff != "" {
		t.Error(diff)
	}
	held := h.held
	h.turn(endedByUs(held[0].LeaseRef, workflow.KilledBySibling), endedByUs(held[1].LeaseRef, workflow.KilledBySibling))
	r.want(workflow.Ready, workflow.Canceled)
	r.sound(check.Witness{})
}

// Held jobs are claimed by nobody, need no allocation, and keep their priority and labels.
func TestHoldJobs(t *testing.T) {
	r := newRig(t, rigJob{labels: "gpu"}, rigJob{}, rigJob{after: []int{1}})
	lines, _ := r.operate(JobOperation{Verb: operate.Hold, Choice: choosing("j0", "j2"), Reason: "later"})
	if diff := cmp.Diff([]string{"j0 changed", "j2 changed"}, lines); diff != "" {
		t.Error(diff)
	}
	j, err := r.Jobs.Get(r.ctx, r.ids[0])
	if err != nil || j.UserHold.String() != "held by ann: later" || !cmp.Equal(j.Labels, []string{"gpu"}) {
		t.Fatalf("%+v, %v", j, err)
	}
	h := r.hand("n1", 5)
	if g := h.turn().Grants; len(g) != 1 || g[0].JobID != r.ids[1] {
		t.Fatalf("%+v", g)
	}
	if claimed, err := r.Jobs.ClaimNext(r.ctx, r.workflow, 5, nil); err != nil || len(claimed) != 0 {
		t.Fatalf("torc claims %+v, %v", claimed, err)
	}
	answer := h.turn(exited(h.held[0].LeaseRef, 0))
	if len(answer.Grants) != 0 || answer.ClaimableLater || answer.HeldJobs != 2 {
		t.Fatalf("%+v", answer)
	}
	r.want(workflow.Ready, workflow.Completed, workflow.Ready)
	if d := r.demandOf(0); len(d.Classes) != 0 {
		t.Errorf("demand: %+v", d.Classes)
	}
	lines, done := r.operate(JobOperation{Verb: operate.Prioritize, Choice: choosing("j2"), First: true})
	if diff := cmp.Diff([]string{"j2 changed"}, lines); diff != "" || done.Priority != 1 {
		t.Errorf("%s, priority %d", diff, done.Priority)
	}
	_, err = r.Jobs.Update(r.ctx, r.ids[2], workflow.JobUpdate{Priority: new(int64(4))})
	r.must(err)
	if answer := h.turn(); len(answer.Grants) != 0 {
		t.Fatalf("a change of the priority released it: %+v", answer)
	}
	r.sound(check.Witness{})
	r.operate(JobOperation{Verb: operate.Release, Choice: choosing("j*")})
	if g := h.turn().Grants; len(g) != 1 || g[0].JobID != r.ids[2] {
		t.Fatalf("%+v", g)
	}
	if n := r.number(`SELECT COUNT(*) FROM job WHERE user_hold IS NOT NULL`); n != 0 {
		t.Errorf("%d jobs are held", n)
	}
	r.sound(check.Witness{})
}

// A hold lasts over a new run.
func TestHoldLastsOverRuns(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.operate(JobOperation{Verb: operate.Hold, Choice: JobChoice{All: true}})
	_, err := r.Workflows.Reset(r.ctx, r.workflow, true, "ann")
	r.must(err)
	_, err = r.Workflows.ResetJobs(r.ctx, r.workflow, false, "ann")
	r.must(err)
	r.must(r.Workflows.Initialize(r.ctx, r.workflow, InitializeOptions{User: "ann"}))
	h := r.hand("n1", 1)
	h.runID = 2
	if g := h.turn().Grants; len(g) != 0 {
		t.Fatalf("%+v", g)
	}
	r.sound(check.Witness{})
}

// TestChoice: what is chosen, and what a wrong choice says. A wrong choice changes nothing.
func TestChoice(t *testing.T) {
	r := newRig(t, independent(4)...)
	h := r.hand("n1", 1)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 3))
	for _, tc := range []struct {
		name  string
		c     JobChoice
		names string
		code  workflow.Code
		says  string
	}{
		{"by name and id", choosing("j2", "4", "j2"), "j2 j3", "", ""},
		{"by pattern", choosing("j[23]"), "j2 j3", "", ""},
		{"by status", JobChoice{Statuses: []workflow.JobStatus{workflow.Ready}}, "j2 j3", "", ""},
		{"by cause", JobChoice{Causes: []workflow.CauseKind{workflow.CauseExit}}, "j0", "", ""},
		{"all must match", JobChoice{Jobs: []string{"j*"}, Causes: []workflow.CauseKind{workflow.CauseExit}, Statuses: []workflow.JobStatus{workflow.Failed}}, "j0", "", ""},
		{"all", JobChoice{All: true}, "j0 j1 j2 j3", "", ""},
		{"nothing is chosen", JobChoice{}, "", workflow.CodeInvalid, "no jobs are chosen"},
		{"an unknown name", choosing("j2", "jj2"), "", workflow.CodeNotFound, `no job "jj2"`},
		{"an unknown pattern", choosing("x*"), "", workflow.CodeNotFound, `a name like "x*"`},
		{"an unknown id", choosing("99"), "", workflow.CodeNotFound, `no job "99"`},
		{"no match", JobChoice{Statuses: []workflow.JobStatus{workflow.Blocked}}, "", workflow.CodeNotFound, "status blocked"},
		{"an unknown group", JobChoice{Group: "abc"}, "", workflow.CodeNotFound, "group abc"},
	} {
		done, err := r.Jobs.ProposeOperate(r.ctx, r.workflow, JobOperation{Verb: operate.Release, Choice: tc.c, User: "ann"})
		var names []string
		for _, j := range done.Jobs {
			names = append(names, j.Name)
		}
		if got := strings.Join(names, " "); got != tc.names {
			t.Errorf("%s: %q, want %q (%v)", tc.name, got, tc.names, err)
		}
		if err != nil && workflow.CodeOf(err) != tc.code || err == nil && tc.code != "" || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	_, err := r.Jobs.Operate(r.ctx, r.workflow, JobOperation{Verb: operate.Cancel, Choice: choosing("j2", "jj2")})
	if workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("%v", err)
	}
	r.want(workflow.Failed, workflow.Pending, workflow.Ready, workflow.Ready)
	_, err = r.Jobs.Operate(r.ctx, r.workflow, JobOperation{Verb: operate.Hold, Choice: choosing("j0")})
	if workflow.CodeOf(err) != workflow.CodeConflict || !strings.Contains(err.Error(), "cannot be held: it has ended: failed") {
		t.Errorf("%v", err)
	}
}

// A group of jobs that failed alike can be chosen by its fingerprint.
func TestChooseGroup(t *testing.T) {
	r := newRig(t, independent(3)...)
	r.must(func() error {
		_, err := r.Workflows.Update(r.ctx, r.workflow, workflow.WorkflowUpdate{UsePendingFailed: new(true)})
		return err
	}())
	h := r.hand("n1", 3)
	h.turn()
	held := h.held
	h.turn(h.failsSaying(held[0].LeaseRef, "bad input 7"), h.failsSaying(held[1].LeaseRef, "bad input 12"), h.failsSaying(held[2].LeaseRef, "other"))
	all, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	groups := hold.GroupHeld(all)
	lines, done := r.operate(JobOperation{Verb: operate.Cancel, Choice: JobChoice{Group: groups[0].Fingerprint}})
	if diff := cmp.Diff([]string{"j0 changed", "j1 changed"}, lines); diff != "" || done.EndsRun {
		t.Errorf("%s, %+v", diff, done)
	}
	r.want(workflow.Canceled, workflow.Canceled, workflow.PendingFailed)
	r.sound(check.Witness{})
}
