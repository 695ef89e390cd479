package store

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// An aborted run comes to its end like every other one: with its end job, whatever holds
// claims, and then with its verdict.
func TestAbortedRunHasItsEndJob(t *testing.T) {
	s := newStaged(t, withChild(true))
	s.setPolicy(workflow.RunPolicy{Deadline: &workflow.Deadline{After: "1h", Policy: workflow.DeadlineStopNew}})
	s.initialize() // the deadline starts
	answer := s.node.turn()
	s.node.turn(exited(answer.Grants[0].LeaseRef, 0)) // sub/a is granted
	s.node.held[0].StartedMS = s.now.UnixMilli()
	s.passDeadlines(time.Hour)
	s.node.free.Slots = 0
	s.node.turn(exited(s.node.held[0].LeaseRef, 0))
	s.passDeadlines(0)
	s.statusOf(map[string]workflow.JobStatus{
		"before": workflow.Completed, "sub": workflow.Canceled, "sub/a": workflow.Completed, "sub/b": workflow.Canceled,
		"after": workflow.Canceled, "end": workflow.Ready,
	})
	s.node.free.Slots = 4
	if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	if v := s.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Reason == "" || v.TotalSteps != 3 || v.Canceled != 2 {
		t.Errorf("%+v", v)
	}
	s.sound(check.Witness{})

	// A repetition of what it canceled reopens it, and it is no longer aborted.
	_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, true, "me")
	s.must(err)
	if r := s.number(`SELECT given_up IS NULL AND has_ended = 0 FROM workflow`); r != 1 {
		t.Error("it is still given up")
	}
	s.sound(check.Witness{})
}

// The verdict of a run that its last job aborts is that of an aborted run, whatever it
// would have been otherwise.
func TestTheLastJobGivesUpTheRun(t *testing.T) {
	hold := []workflow.PolicyRef{{Policy: &workflow.RetryPolicy{Name: "h", DefaultAction: workflow.ActionHold}}}
	for name, test := range map[string]struct {
		timeouts workflow.Timeouts
		held     bool
	}{
		"waiting": {workflow.Timeouts{Queue: limit("1h", workflow.OnTimeoutFailWorkflow)}, false},
		"held":    {workflow.Timeouts{Total: limit("1h", workflow.OnTimeoutFailWorkflow)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.setTimeouts(test.timeouts)
			r.says(workflow.RunPolicy{End: &workflow.EndPolicy{SuccessIf: "failed >= 0"}, RetryPolicies: hold})
			if test.held {
				h := r.hand("n1", 1)
				h.turn()
				h.turn(exited(h.held[0].LeaseRef, 1))
			}
			r.pass(time.Hour)
			if v := r.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Reason == "" {
				t.Errorf("%+v", v)
			}
			if n := r.number(`SELECT COUNT(*) FROM event WHERE type = 'run_given_up'`); n != 1 {
				t.Errorf("%d events say that it was given up", n)
			}
			r.sound(check.Witness{})
		})
	}
}

// newFailingInAnHour starts a run with an end job that its deadline aborts.
func newFailingInAnHour(t *testing.T) *staged {
	t.Helper()
	s := newStaged(t, withChild(true))
	s.setPolicy(workflow.RunPolicy{Deadline: &workflow.Deadline{After: "1h", Policy: workflow.DeadlineFail}})
	s.initialize() // the deadline starts
	return s
}

// TestANewRunBeginsTheEndJobThatWaited: if an aborted run is followed by another one
// while its end job waits for runners, nothing else would start the end job.
func TestANewRunBeginsTheEndJobThatWaited(t *testing.T) {
	s := newFailingInAnHour(t)
	s.hand("n2", 0)
	s.passDeadlines(time.Hour)
	s.statusOf(map[string]workflow.JobStatus{"end": workflow.Blocked})
	_, err := s.Workflows.Reset(s.ctx, s.workflow, true, "me")
	s.must(err)
	s.statusOf(map[string]workflow.JobStatus{"end": workflow.Ready})
	s.sound(check.Witness{})
}

// The end job of an aborted run starts when no runner has processes of the run any more,
// and until then says for which it waits.
func TestEndJobWaitsForProcessesOfAbortedRun(t *testing.T) {
	for name, end := range map[string]func(s *staged, silent *hand){
		"it says so": func(s *staged, silent *hand) { silent.turn() },
		"it is lost": func(s *staged, silent *hand) {
			s.must(s.Runners.Expire(s.ctx, silent.id, "it is silent"))
			s.must(s.Workflows.ReviewEnds(s.ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFailingInAnHour(t)
			silent := s.hand("n2", 0)
			s.node.turn()
			s.node.held[0].StartedMS = s.now.UnixMilli()
			s.node.turn()
			s.passDeadlines(time.Hour)
			waits := func(what string, hosts ...string) {
				t.Helper()
				s.statusOf(map[string]workflow.JobStatus{"before": workflow.Canceled, "end": workflow.Blocked})
				stages, err := s.Workflows.Stages(s.ctx, s.workflow)
				s.must(err)
				i := slices.IndexFunc(stages, func(x stage.Stage) bool { return x.Name == "end" })
				if diff := cmp.Diff(hosts, stages[i].WaitsFor); diff != "" {
					t.Errorf("%s: it waits for (-want +got):\n%s", what, diff)
				}
				if open, err := s.Workflows.HaveOpenWork(s.ctx); err != nil || !open {
					t.Errorf("%s: no daemon is needed, %v", what, err)
				}
				s.must(s.Workflows.ReviewEnds(s.ctx))
				s.sound(check.Witness{})
			}
			waits("at first", "n1", "n2")
			if a := s.node.turn(); len(a.Voided) != 1 || len(a.Grants) > 0 || !a.ClaimableLater {
				t.Fatalf("told to end what it has: %+v", a)
			}
			lost := s.node.held[0]
			s.node.held = nil
			if a := s.node.say(lease.TurnRequest{Held: []lease.Held{}, Dying: 1}); len(a.Grants) > 0 || !a.ClaimableLater {
				t.Fatalf("while a process is ended: %+v", a)
			}
			waits("while a process is ended", "n1", "n2")
			s.now = s.now.Add(time.Second)
			report := exited(lost.LeaseRef, 1)
			report.StartedMS, report.EndedMS = lost.StartedMS, s.now.UnixMilli()
			if a := s.node.turn(report); len(a.Grants) > 0 || !a.ClaimableLater {
				t.Fatalf("while another runner may have processes: %+v", a)
			}
			waits("while another runner may have processes", "n2")
			end(s, silent)
			if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
				t.Errorf("what ran (-want +got):\n%s", diff)
			}
			if v := s.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Reason == "" {
				t.Errorf("%+v", v)
			}
			s.sound(check.Witness{})
		})
	}
}

// A duplicate of a turn that the runner sent before it knew of its grants does not
// confirm that it has nothing of the run.
func TestACopyOfATurnDoesNotLetTheEndJobBegin(t *testing.T) {
	s := newFailingInAnHour(t)
	s.node.turn()
	s.passDeadlines(time.Hour)
	_, err := s.Runners.Turn(s.ctx, s.node.id, lease.TurnRequest{Turn: s.node.number, RunID: 1, Held: []lease.Held{}, Free: s.node.free})
	s.must(err)
	s.statusOf(map[string]workflow.JobStatus{"before": workflow.Canceled, "end": workflow.Blocked})
	s.sound(check.Witness{})
	s.node.held = nil
	if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
		t.Errorf("what ran (-want +got):\n%s", diff)
	}
	s.sound(check.Witness{})
}

// The end job of a run that is aborted twice waits again: what was repeated after the
// first end has to end.
func TestTheEndJobOfANewGenerationWaits(t *testing.T) {
	s := newFailingInAnHour(t)
	giveUp := func() {
		s.node.turn()
		s.node.held[0].StartedMS = s.now.UnixMilli()
		s.node.turn()
		s.do(func(tx *core.Tx) error {
			r, err := core.LoadRun(tx, s.workflow)
			if err != nil {
				return err
			}
			return engine.AbortRun(tx, r, "enough")
		})
		s.statusOf(map[string]workflow.JobStatus{"end": workflow.Blocked})
		s.sound(check.Witness{})
		s.node.held = nil
		if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
			t.Errorf("what ran (-want +got):\n%s", diff)
		}
		s.ended()
		s.sound(check.Witness{})
	}
	giveUp()
	_, err := s.Workflows.ResetJobs(s.ctx, s.workflow, true, "me")
	s.must(err)
	s.must(s.Workflows.Initialize(s.ctx, s.workflow, InitializeOptions{OnlyUninitialized: true}))
	giveUp()
}

// A job of an aborted run that is repeated before the verdict has processes too: the end job
// waits for them, even on runners that had confirmed that they have none.
func TestTheEndJobWaitsForWhatWasRepeatedAfterTheAbort(t *testing.T) {
	for name, confirm := range map[string]func(s *staged, second *hand){
		"before the end job is ready": func(*staged, *hand) {},
		"when the end job is ready": func(s *staged, second *hand) {
			second.turn()
			s.statusOf(map[string]workflow.JobStatus{"end": workflow.Ready})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStaged(t, &workflow.Definition{
				Stages: []workflow.StageDefinition{{Kind: workflow.StageEnd, Name: "end"}},
				Jobs:   []workflow.JobDefinition{job("step", inMain), job("end", first)},
			})
			first, second := s.node, s.hand("n2", 1)
			first.free.Slots, second.free.Slots = 0, 0
			s.do(func(tx *core.Tx) error {
				r, err := core.LoadRun(tx, s.workflow)
				if err != nil {
					return err
				}
				return engine.AbortRun(tx, r, "enough")
			})
			first.turn() // it confirms that it has nothing
			s.statusOf(map[string]workflow.JobStatus{"step": workflow.Canceled, "end": workflow.Blocked})
			confirm(s, second)

			manage := func(to workflow.JobStatus) {
				t.Helper()
				_, err := s.Jobs.ManageStatusChange(s.ctx, s.ids[0], to, 1)
				s.must(err)
			}
			manage(workflow.Ready)
			s.statusOf(map[string]workflow.JobStatus{"step": workflow.Ready, "end": workflow.Blocked})
			first.free.Slots = 1
			if a := first.turn(); len(a.Grants) != 1 {
				t.Fatalf("%+v", a)
			}
			first.free.Slots = 0
			first.held[0].StartedMS = s.now.UnixMilli()
			first.turn()

			// Another runner gets the job and completes it, while the first one ends its process.
			manage(workflow.Ready)
			second.free.Slots = 1
			if a := second.turn(); len(a.Grants) != 1 || s.name(a.Grants[0].JobID) != "step" {
				t.Fatalf("%+v", a)
			}
			s.now = s.now.Add(time.Second)
			report := exited(second.held[0].LeaseRef, 0)
			report.StartedMS, report.EndedMS = s.now.UnixMilli(), s.now.UnixMilli()
			if a := second.turn(report); len(a.Grants) > 0 || !a.ClaimableLater {
				t.Fatalf("while the first runner has a process: %+v", a)
			}
			s.statusOf(map[string]workflow.JobStatus{"step": workflow.Completed, "end": workflow.Blocked})
			s.sound(check.Witness{})

			first.held = nil
			first.turn()
			s.statusOf(map[string]workflow.JobStatus{"end": workflow.Ready})
			first.free.Slots = 1
			if diff := cmp.Diff([]string{"end"}, s.play(nil)); diff != "" {
				t.Errorf("what ran (-want +got):\n%s", diff)
			}
			if v := s.ended(); v.EventType != string(workflow.EventWorkflowFailed) || v.Reason == "" {
				t.Errorf("%+v", v)
			}
			s.sound(check.Witness{})
		})
	}
}

// A canceled run that was aborted has no end job, and a new run waits for no runner.
func TestANewRunWaitsForNoProcesses(t *testing.T) {
	s := newStaged(t, withEnd())
	s.node.turn()
	s.do(func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, s.workflow)
		if err != nil {
			return err
		}
		return engine.AbortRun(tx, r, "enough")
	})
	_, err := s.Workflows.Cancel(s.ctx, s.workflow)
	s.must(err)
	if a := s.node.turn(); !a.Canceled {
		t.Errorf("%+v", a)
	}
	s.sound(check.Witness{})
	w, err := s.Workflows.Reset(s.ctx, s.workflow, true, "me")
	s.must(err)
	s.sound(check.Witness{})
	s.initialize()
	s.node = s.hand("n2", 10)
	s.node.runID = w.RunID
	if ran := s.play(nil); ran[len(ran)-1] != "end" {
		t.Errorf("what ran: %v", ran)
	}
	s.sound(check.Witness{})
}
