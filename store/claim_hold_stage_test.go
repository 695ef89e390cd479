package store

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// What follows the last job of a run does not wait for claim holds.
func TestHoldsDoNotKeepTheEnd(t *testing.T) {
	holding := func(h hold.ClaimHold) func(s *staged) {
		return func(s *staged) { s.hold(h) }
	}
	one := int64(1)
	for name, c := range map[string]struct {
		policy workflow.RunPolicy
		hold   func(s *staged) // while the last jobs run
	}{
		"max_failures": {workflow.RunPolicy{MaxFailures: &one}, func(*staged) {}},
		"a breaker": {workflow.RunPolicy{}, holding(hold.ClaimHold{
			Kind: hold.HoldBreaker, Name: "gpu", Reason: "a breaker", UntilMS: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()})},
		"a hold without end": {workflow.RunPolicy{}, holding(hold.ClaimHold{Kind: hold.HoldBreaker, Name: "gpu", Reason: "a breaker"})},
	} {
		t.Run(name, func(t *testing.T) {
			d := withUndo()
			c.policy.OnFailure = d.Policy.OnFailure
			d.Policy = &c.policy
			d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageEnd, Name: "end"})
			d.Jobs = append(d.Jobs, job("end", int32(len(d.Stages))))
			s := newStaged(t, d)
			answer := s.end(s.node.turn(), nil) // b is granted
			c.hold(s)
			answer = s.end(answer, map[string]int64{"b": 1})
			if n := s.number(`SELECT claim_holds FROM workflow WHERE id = ?`, s.workflow); n != 1 {
				t.Fatalf("%d holds", n)
			}
			if len(answer.Grants) != 1 || s.name(answer.Grants[0].JobID) != "end" || answer.ClaimsHeld != "" {
				t.Fatalf("after the last job: %+v", answer)
			}
			s.sound(check.Witness{})
			for answer = s.end(answer, nil); len(answer.Grants) > 0; {
				answer = s.end(answer, nil)
			}
			s.play(nil)
			if got := s.compensation(); got != "completed" {
				t.Errorf("compensation: %s", got)
			}
			s.sound(check.Witness{})
		})
	}
}

// reachEnd runs a workflow withEnd until only its end job is left, which is ready.
// Something happens while the last job runs.
func (s *staged) reachEnd(last func()) {
	s.tb.Helper()
	for answer := s.node.turn(); ; {
		if s.name(answer.Grants[0].JobID) == "end" {
			s.node.giveBack(answer)
			return
		}
		if s.name(answer.Grants[0].JobID) == "step3" {
			last()
		}
		answer = s.end(answer, nil)
	}
}

// The scheduler requests allocations for an end job although claims are held, the daemon
// keeps running for it, and no explanation says that it waits.
func TestEndJobIsDemandWhileClaimsAreHeld(t *testing.T) {
	s := newStaged(t, withEnd())
	s.must(s.Scheduling.Submit(s.ctx, s.workflow, compute.SubmitOptions{OutputDir: "/out"}, nil, "me"))
	s.reachEnd(func() { s.hold(hold.ClaimHold{Kind: hold.HoldMaxFailures, Reason: "too many failures"}) })
	demand := s.demandOf(time.Minute)
	if len(demand.Held) != 0 || len(demand.Classes) != 1 || demand.Classes[0].Ready != 1 {
		t.Errorf("demand: %+v", demand)
	}
	if open, err := s.Workflows.HaveOpenWork(s.ctx); err != nil || !open {
		t.Errorf("open work: %v, %v", open, err)
	}
	facts, err := s.Workflows.Facts(s.ctx, s.workflow)
	s.must(err)
	if len(facts.ClaimHolds) != 0 {
		t.Errorf("why -w says that claims are held: %+v", facts.ClaimHolds)
	}
	// When jobs are repeated, the hold has an effect again.
	_, err = s.Jobs.ManageStatusChange(s.ctx, s.id("step3"), workflow.Ready, 1)
	s.must(err)
	if answer := s.node.turn(); len(answer.Grants) != 0 || answer.ClaimsHeld == "" {
		t.Errorf("with a job that is repeated: %+v", answer)
	}
	s.sound(check.Witness{})
}

// A deadline that stops new jobs has nothing to stop when only the end job is left.
func TestDeadlineBeforeTheEndJob(t *testing.T) {
	d := withEnd()
	d.Policy = &workflow.RunPolicy{Deadline: &workflow.Deadline{After: "1h", Policy: workflow.DeadlineStopNew}}
	s := newStaged(t, d)
	s.reachEnd(func() {})
	s.passDeadlines(time.Hour)
	if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowCompleted) {
		t.Errorf("verdict: %+v", v)
	}
	s.sound(check.Witness{})
}

// Events of jobs after the end do not say that the run continues with its end; the number
// of the end is the same wherever it is.
func TestEventsAfterTheEnd(t *testing.T) {
	s := newStaged(t, withEnd())
	for generation := range int64(2) {
		var in stage.EndInput
		for answer := s.node.turn(); len(answer.Grants) > 0; {
			g := answer.Grants[0]
			if g.Input != nil {
				s.must(json.Unmarshal(g.Input.Data, &in))
			}
			answer = s.end(answer, nil)
		}
		if v := s.ended(); in.EndGeneration != generation || v.EndGeneration != generation {
			t.Errorf("end %d: the end job reads %d, the verdict is of %d", generation, in.EndGeneration, v.EndGeneration)
		}
		_, err := s.Jobs.ManageStatusChange(s.ctx, s.id("step3"), workflow.Ready, 1)
		s.must(err)
	}
}

// A sub-workflow fails because of its jobs: it is not counted in addition to them.
func TestASubWorkflowIsNoFailureOfItsOwn(t *testing.T) {
	breaker := workflow.CircuitBreaker{Per: workflow.PerWorkflow, Threshold: 3, Within: "1h", Action: workflow.BreakerPause}
	for name, p := range map[string]workflow.RunPolicy{
		"max_failures": {MaxFailures: new(int64(3))},
		"a breaker":    {CircuitBreakers: []workflow.CircuitBreaker{breaker}},
	} {
		t.Run(name, func(t *testing.T) {
			d := withChild(false)
			d.Jobs = d.Jobs[:4] // nothing after it
			last := job("last", inMain, 1)
			last.RunIf = workflow.RunIfAlways
			rest := job("rest", inMain, 4)
			rest.RunIf = workflow.RunIfAlways
			d.Jobs = append(d.Jobs, last, rest)
			d.Policy = &p
			s := newStaged(t, d)
			ran := s.play(map[string]int64{"sub/b": 1, "last": 1})
			if diff := cmp.Diff([]string{"before", "sub/a", "sub/b", "last", "rest"}, ran); diff != "" {
				t.Errorf("what ran (-want +got):\n%s", diff)
			}
			s.sound(check.Witness{})
		})
	}
}
