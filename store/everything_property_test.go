package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/operate"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// grand is a randomly drawn workflow with every feature: stages, undos, an end job,
// times, holds, breakers, policies.
type grand struct {
	*undoing
}

// TestEverythingInAnyOrder has runners, torc clients, people and clocks do anything to
// such a workflow in any order. The impossible is rejected, derived values agree with a
// recount after each step, and in the end the workflow can be brought to its end and
// keeps the guarantees.
func TestEverythingInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		u := &undoing{mix: &mix{rig: newRig(t), t: rt}, began: map[int64]bool{}}
		defer func() { u.close() }()
		e := &grand{undoing: u}
		e.load()
		rt.Repeat(map[string]func(*rapid.T){
			"turn":       e.turn,
			"turn2":      e.turn,
			"turn3":      e.turn,
			"turn4":      e.turn,
			"expire":     e.replace,
			"claim":      e.claim,
			"complete":   e.complete,
			"operate":    e.operate,
			"initialize": e.initialize,
			"new run":    e.newRun,
			"reset":      e.reset,
			"classify":   e.classify,
			"add":        e.addJob,
			"spawn":      e.spawn,
			"edit":       e.edit,
			"delete":     e.delete,
			"data":       e.data,
			"clock":      e.clock,
			"clock2":     e.clock,
			"silent":     e.silent,
			"release":    e.release,
			"pause":      e.pause,
			"verb":       e.verb,
			"verb2":      e.verb,
			"update":     e.update,
			"":           e.check,
		})
		e.promises()
		e.theEnd()
		e.promises()
	})
}

func (e *grand) bit(name string) bool    { return rapid.Bool().Draw(e.t, name) }
func (e *grand) seldom(name string) bool { return rapid.IntRange(0, 3).Draw(e.t, name) == 0 }

// load draws the workflow.
func (e *grand) load() {
	d := &workflow.Definition{Name: "w", User: "me", Policy: e.runPolicy(), UsePendingFailed: e.seldom("use_pending_failed")}
	undone := d.Policy.OnFailure != nil
	undos := map[int32]string{}
	for i := range rapid.Int32Range(1, 4).Draw(e.t, "jobs") {
		j := job(fmt.Sprintf("j%d", i), inMain)
		for before := range i {
			if rapid.IntRange(0, 2).Draw(e.t, "edge") == 0 {
				j.DependsOn = append(j.DependsOn, before)
			}
		}
		j.RunIf = workflow.RunIf(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(e.t, "run_if"))
		j.Policy = e.jobPolicy()
		if d.Jobs = append(d.Jobs, j); e.bit("undo") && undone {
			undos[i] = "true"
		}
	}
	addStage := func(kind workflow.StageKind, name string, parent int32) int32 {
		d.Stages = append(d.Stages, workflow.StageDefinition{Kind: kind, Name: name, Parent: parent})
		return int32(len(d.Stages))
	}
	if e.bit("child") {
		e.child(d, undos, addStage)
	}
	if e.seldom("end") {
		j := job("end", addStage(workflow.StageEnd, "end", 0))
		j.Policy = e.jobPolicy()
		d.Jobs = append(d.Jobs, j)
	}
	if undone {
		if n := rapid.IntRange(0, 2).Draw(e.t, "cleanups"); n > 0 {
			of := addStage(workflow.StageCompensation, workflow.CompensationStage, 0)
			for i := range n {
				d.Jobs = append(d.Jobs, job(fmt.Sprintf("on_failure/%d", i), of))
			}
		}
		stage.AddCompensation(d, undos)
	}
	s := &staged{rig: e.rig}
	s.load(d)
	e.def, e.run = d, 1
	s.node.free.Slots = 2
	e.hands = []*hand{s.node, e.rig.hand("n2", 2)}
	e.node = e.rig.node("n3")
}

// child makes a sub-workflow of the first job.
func (e *grand) child(d *workflow.Definition, undos map[int32]string, addStage func(kind workflow.StageKind, name string, parent int32) int32) {
	of := addStage(workflow.StageChild, "j0", 0)
	d.Jobs[0].Child, d.Jobs[0].Policy = of, nil
	delete(undos, 0)
	a := job("j0/a", of)
	a.Policy = e.jobPolicy()
	d.Jobs = append(d.Jobs, a)
	first := int32(len(d.Jobs) - 1)
	if e.bit("child b") {
		d.Jobs = append(d.Jobs, job("j0/b", of, first))
	}
	if e.bit("child's undo") && d.Policy.OnFailure != nil {
		undos[first] = "true"
	}
	if e.seldom("grandchild") {
		in := addStage(workflow.StageChild, "j0/c", of)
		d.Jobs = append(d.Jobs, child("j0/c", in, of, first), job("j0/c/x", in), job("j0/c/y", in))
	}
	if e.seldom("child's end") {
		d.Jobs = append(d.Jobs, job("j0/end", addStage(workflow.StageEnd, "j0/end", of)))
	}
}

// runPolicy draws the workflow's policy for failures.
func (e *grand) runPolicy() *workflow.RunPolicy {
	p, t := &workflow.RunPolicy{}, e.t
	if e.bit("on_failure") {
		p.OnFailure = &workflow.CompensationPolicy{Timeout: "PT30M", MaxAttempts: new(rapid.Int64Range(1, 3).Draw(t, "max_attempts")),
			When: rapid.SampledFrom([][]workflow.CompensationCase{nil, {workflow.CompensateCanceled}, {workflow.CompensateFailed, workflow.CompensateCanceled}}).Draw(t, "when")}
	}
	if e.seldom("cancel_siblings_on") {
		p.CancelSiblingsOn = []workflow.SiblingRule{{Cause: workflow.CauseExit}}
	}
	if e.seldom("deadline") {
		p.Deadline = &workflow.Deadline{After: "2h", Policy: rapid.SampledFrom([]workflow.DeadlinePolicy{"", workflow.DeadlineStopNew, workflow.DeadlineFail}).Draw(t, "deadline policy")}
	}
	if e.seldom("max_failures") {
		p.MaxFailures = new(rapid.Int64Range(1, 2).Draw(t, "max"))
	}
	if e.seldom("classify_timeout") {
		p.ClassifyTimeout = &workflow.HoldLimit{After: "1h", OnTimeout: rapid.SampledFrom([]workflow.Action{workflow.ActionFail, workflow.ActionRetry}).Draw(t, "on_timeout")}
	}
	if e.seldom("breaker") {
		p.CircuitBreakers = []workflow.CircuitBreaker{{Per: rapid.SampledFrom([]workflow.BreakerScope{workflow.PerNode, workflow.PerWorkflow}).Draw(t, "per"), Threshold: 2, Within: "1h", Cause: []workflow.CauseKind{workflow.CauseExit},
			Action: rapid.SampledFrom([]workflow.BreakerAction{workflow.BreakerPause, workflow.BreakerHold}).Draw(t, "breaker action")}}
	}
	if e.bit("policy") {
		p.RetryPolicies = []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "p", Rules: []workflow.RetryRule{
			{ID: "a", When: workflow.RuleMatch{ExitCode: &workflow.ExitCodeMatch{In: []int64{1}}}, Action: workflow.ActionRetry, Limit: new(int64(1))},
			{ID: "b", When: workflow.RuleMatch{ExitCode: &workflow.ExitCodeMatch{In: []int64{2}}}, Action: rapid.SampledFrom([]workflow.Action{workflow.ActionHold, workflow.ActionRetry}).Draw(t, "rule")},
		}}}}
	}
	return p
}

// jobPolicy draws the timeouts of a job; often none.
func (e *grand) jobPolicy() *workflow.JobPolicy {
	t := e.t
	if !e.seldom("timeouts") {
		return nil
	}
	x := &workflow.Timeouts{}
	switch rapid.IntRange(0, 2).Draw(t, "timeout") {
	case 0:
		x.Queue = limit("1h", rapid.SampledFrom([]workflow.TimeoutPolicy{"", workflow.OnTimeoutFail, workflow.OnTimeoutFailWorkflow}).Draw(t, "queue"))
	case 1:
		x.Total = limit("1h", rapid.SampledFrom([]workflow.TimeoutPolicy{"", workflow.OnTimeoutAlert, workflow.OnTimeoutFailWorkflow}).Draw(t, "total"))
	case 2:
		x.Heartbeat = limit("5m", rapid.SampledFrom([]workflow.TimeoutPolicy{"", workflow.OnTimeoutFail, workflow.OnTimeoutAlert, workflow.OnTimeoutFailWorkflow}).Draw(t, "heartbeat"))
	}
	return &workflow.JobPolicy{Timeouts: x}
}

// clock has time pass.
func (e *grand) clock(t *rapid.T) {
	e.now = e.now.Add(time.Duration(rapid.SampledFrom([]int{1, 20, 61, 130}).Draw(t, "minutes")) * time.Minute)
	e.look(t)
}

// look does what the daemon does every few seconds.
func (e *grand) look(*rapid.T) {
	e.must(e.Workflows.ReviewCompensations(e.ctx))
	e.must(e.Workflows.ReviewEnds(e.ctx))
	_, err := e.Timeouts.ApplyDeadlines(e.ctx)
	e.must(err)
	_, err = e.Holds.Expire(e.ctx)
	e.must(err)
	_, err = e.ClaimHolds.Expire(e.ctx)
	e.must(err)
	_, err = e.Jobs.ReturnUnstarted(e.ctx, e.now.Add(-15*time.Minute).UnixMilli())
	e.must(err)
	e.pass(0)
}

func (e *grand) data(*rapid.T) {
	_, err := e.Workflows.ProcessChangedInputs(e.ctx, e.workflow, false, "me")
	e.said(err)
}

func (e *grand) silent(t *rapid.T) {
	h := e.hands[rapid.IntRange(0, 1).Draw(t, "runner")]
	const silence = 6 * time.Minute
	e.now = e.now.Add(silence)
	_, err := e.Timeouts.ExpireHeartbeats(e.ctx, h.id, silence)
	e.must(err)
}

func (e *grand) release(*rapid.T) {
	_, err := e.ClaimHolds.Release(e.ctx, e.workflow, "", "me")
	e.said(err)
}

func (e *grand) pause(t *rapid.T) {
	_, err := e.Workflows.Pause(e.ctx, e.workflow, PauseOptions{Pause: hold.Pause{By: "me"}, Now: rapid.Bool().Draw(t, "now")})
	e.said(err)
}

// verb has a user cancel, hold, release or prioritize jobs. A proposal changes nothing, and
// is what happens then, at once or when runners report.
func (e *grand) verb(t *rapid.T) {
	o := JobOperation{Verb: rapid.SampledFrom([]operate.Verb{operate.Cancel, operate.Hold, operate.Release, operate.Prioritize}).Draw(t, "do"), User: "me",
		Priority: rapid.Int64Range(0, 2).Draw(t, "priority"), First: rapid.Bool().Draw(t, "first")}
	switch rapid.IntRange(0, 3).Draw(t, "choice") {
	case 0:
		o.Choice.All = true
	case 1:
		o.Choice.Jobs = []string{"j*"}
	default:
		for _, id := range e.some(t, e.present()) {
			o.Choice.Jobs = append(o.Choice.Jobs, fmt.Sprint(id))
		}
	}
	before := e.statuses()
	proposed, err := e.Jobs.ProposeOperate(e.ctx, e.workflow, o)
	e.said(err)
	if diff := cmp.Diff(before, e.statuses()); diff != "" {
		t.Fatalf("the proposal changed: %s", diff)
	}
	done, again := e.Jobs.Operate(e.ctx, e.workflow, o)
	e.said(again)
	if (err == nil) != (again == nil) {
		t.Fatalf("proposed: %v, done: %v", err, again)
	}
	if diff := cmp.Diff(proposed, done); diff != "" {
		t.Fatalf("proposed, and done (+): %s", diff)
	}
	for _, j := range done.Jobs {
		if j.Effect == operate.Changed && o.Verb == operate.Cancel && e.number(`SELECT status FROM job WHERE id = ?`, j.ID) != int64(workflow.Canceled) {
			t.Fatalf("job %d is not canceled", j.ID)
		}
		if held := e.number(`SELECT j.user_hold IS NOT NULL FROM job j JOIN claim_class c ON c.id = j.class_id WHERE j.id = ?`, j.ID) == 1; j.Effect == operate.Changed && held != (o.Verb == operate.Hold) && (o.Verb == operate.Hold || o.Verb == operate.Release) {
			t.Fatalf("job %d is held: %v", j.ID, held)
		}
	}
}

func (e *grand) update(t *rapid.T) {
	var u workflow.WorkflowUpdate
	switch rapid.IntRange(0, 4).Draw(t, "update") {
	case 0:
		u.Policy = &workflow.RunPolicy{MaxFailures: new(rapid.Int64Range(1, 3).Draw(t, "max"))}
	case 1:
		u.UnsetPolicy = []string{"max_failures"}
	case 2:
		u.UnsetPolicy = []string{"deadline"}
	case 3:
		u.UsePendingFailed = new(rapid.Bool().Draw(t, "use"))
	case 4:
		u.UnsetPolicy = []string{"circuit_breakers"}
	}
	_, err := e.Workflows.Update(e.ctx, e.workflow, u)
	e.said(err)
}

func (e *grand) delete(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
		_, err := e.Jobs.DeleteAll(e.ctx, e.workflow, "me")
		e.said(err)
		return
	}
	e.mix.delete(t)
}

// check checks what must hold after each step.
func (e *grand) check(t *rapid.T) {
	e.compare(t)
	tx, err := e.db.BeginRead(e.ctx)
	e.must(err)
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	findings, err := check.Quick(e.ctx, tx)
	e.must(err)
	for _, f := range findings {
		t.Fatal(f)
	}
}

// theEnd brings everything to its end.
func (e *grand) theEnd() {
	if len(e.jobsLeft()) == 0 {
		return
	}
	for _, h := range e.hands {
		e.must(e.Runners.Expire(e.ctx, h.id, "the test is over"))
	}
	_, err := e.Workflows.Update(e.ctx, e.workflow, workflow.WorkflowUpdate{UnsetPolicy: []string{"deadline"}})
	e.said(err)
	h := e.rig.hand("n9", 100)
	h.runID = e.runID()
	canceled := e.number(`SELECT is_canceled FROM workflow WHERE id = ?`, e.workflow) == 1
	if !canceled {
		e.said(e.Workflows.Initialize(e.ctx, e.workflow, InitializeOptions{User: "me"}))
	}
	for range 100 {
		for _, id := range e.jobsLeft() {
			if e.number(`SELECT COUNT(*) FROM job WHERE id = ?1 AND status IN (3, 4) AND COALESCE(compute_node_id, ?2) = ?2 AND child_id IS NULL`, id, e.node) == 1 {
				_, err := e.Jobs.ManageStatusChange(e.ctx, id, workflow.Ready, e.runID())
				e.said(err)
			}
		}
		e.release(e.t)
		_, err = e.Jobs.Operate(e.ctx, e.workflow, JobOperation{Verb: operate.Release, User: "me", Choice: JobChoice{All: true}})
		e.said(err)
		_, err := e.Holds.Resolve(e.ctx, e.workflow, HoldSelection{}, hold.Classification{Status: workflow.Failed, Author: "me", Reason: "so"}, ResolveOptions{})
		e.said(err)
		var reports []lease.Report
		for _, held := range h.held {
			r := exited(held.LeaseRef, 0)
			r.StartedMS, r.EndedMS = e.now.UnixMilli(), e.now.UnixMilli()
			reports = append(reports, r)
		}
		h.turn(reports...)
		e.now = e.now.Add(2 * time.Minute)
		e.look(e.t)
		e.check(e.t)
		if e.number(`SELECT has_ended FROM workflow WHERE id = ?`, e.workflow) == 1 && e.number(`SELECT COUNT(*) FROM compensation WHERE workflow_id = ? AND state IN ('waiting', 'running')`, e.workflow) == 0 {
			return
		}
	}
	e.t.Fatalf("it does not end: %v", e.statuses())
}

func (e *grand) jobsLeft() []int64 {
	ids, err := e.Jobs.IDs(e.ctx, e.workflow)
	e.must(err)
	return ids
}
