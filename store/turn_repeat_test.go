package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// again repeats the same turn.
func (h *hand) again(t lease.TurnRequest) lease.TurnResponse {
	h.tb.Helper()
	answer, err := h.Runners.Turn(h.ctx, h.id, t)
	h.must(err)
	return answer
}

func TestSameTurnTwice(t *testing.T) {
	r := newRig(t, independent(5)...)
	h := r.hand("n1", 2)
	ask := lease.TurnRequest{Turn: 1, RunID: 1, Free: h.free}
	first := h.again(ask)
	second := h.again(ask)
	if diff := cmp.Diff(first.Grants, second.Grants); diff != "" || len(first.Grants) != 2 {
		t.Errorf("%d grants, and once more (-first +second):\n%s", len(first.Grants), diff)
	}
	tell := lease.TurnRequest{
		Turn: 2, RunID: 1, Free: lease.Free{Slots: 1}, Held: []lease.Held{{LeaseRef: first.Grants[1].LeaseRef}},
		Reports: []lease.Report{exited(first.Grants[0].LeaseRef, 0)},
	}
	third := h.again(tell)
	events := len(r.events())
	fourth := h.again(tell)
	if diff := cmp.Diff(third.Grants, fourth.Grants); diff != "" || len(third.Grants) != 1 {
		t.Errorf("%d grants, and once more (-first +second):\n%s", len(third.Grants), diff)
	}
	if third.Results[0].Outcome != lease.Accepted || fourth.Results[0].Outcome != lease.Duplicate {
		t.Errorf("outcomes %s and %s", third.Results[0].Outcome, fourth.Results[0].Outcome)
	}
	want := third.Results[0]
	want.Outcome = lease.Duplicate
	if diff := cmp.Diff(want, fourth.Results[0]); diff != "" {
		t.Errorf("answers to the same report (-first +second):\n%s", diff)
	}
	if n := len(r.events()); n != events {
		t.Errorf("the same report made %d events", n-events)
	}
	r.want(workflow.Completed, workflow.Pending, workflow.Pending, workflow.Ready, workflow.Ready)
}

func TestLostAnswerIsGrantedAgain(t *testing.T) {
	r := newRig(t, independent(4)...)
	h := r.hand("n1", 2)
	lost := h.turn().Grants
	h.held = nil
	again := h.turn().Grants
	if diff := cmp.Diff(lost, again); diff != "" {
		t.Errorf("grants again (-lost +again):\n%s", diff)
	}
	// What is granted again takes room; there is some for one more.
	h.held = []lease.Held{{LeaseRef: lost[0].LeaseRef}}
	more := h.turn().Grants
	if len(more) != 2 || more[0].LeaseRef != lost[1].LeaseRef || more[1].JobID != r.ids[2] {
		t.Errorf("grants: %+v", more)
	}
}

func TestOlderTurnReportsAndIsGrantedNothing(t *testing.T) {
	r := newRig(t, independent(4)...)
	h := r.hand("n1", 2)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 0))
	late := h.again(lease.TurnRequest{Turn: 1, RunID: 1, Free: lease.Free{Slots: 9}, Reports: []lease.Report{exited(h.held[0].LeaseRef, 0)}})
	if len(late.Grants) > 0 || len(late.Voided) > 0 || late.Results[0].Outcome != lease.Accepted {
		t.Errorf("answer to an older turn: %+v", late)
	}
}

func TestReportTwiceInOneTurn(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	rep := exited(h.held[0].LeaseRef, 0)
	answer := h.turn(rep, rep)
	if answer.Results[0].Outcome != lease.Accepted || answer.Results[1].Outcome != lease.Duplicate {
		t.Errorf("results: %+v", answer.Results)
	}
	r.want(workflow.Completed)
}

func TestReportUnderAnOldFenceIsLate(t *testing.T) {
	r := newRig(t, independent(1)...)
	dead, alive := r.hand("n1", 1), r.hand("n2", 1)
	dead.turn()
	old := dead.held[0].LeaseRef
	r.must(r.Runners.Expire(r.ctx, dead.id, "silent"))
	grant := alive.turn().Grants[0]
	if grant.Fence <= old.Fence || grant.Attempt != old.Attempt {
		t.Errorf("lease %+v after %+v: it was never started", grant.LeaseRef, old)
	}
	answer := dead.turn(exited(old, 0))
	if res := answer.Results[0]; res.Outcome != lease.Late || !answer.Has(lease.OrderStop) {
		t.Errorf("answer to the dead: %+v", answer)
	}
	before := r.number(`SELECT COUNT(*) FROM late_report`)
	dead.turn(exited(old, 0))
	if n := r.number(`SELECT COUNT(*) FROM late_report`); n != 1 || before != 1 {
		t.Errorf("%d late reports, then %d; want 1", before, n)
	}
	r.want(workflow.Pending)
	alive.turn(exited(grant.LeaseRef, 0))
	r.want(workflow.Completed)
}

func TestHeldLeaseOfAnotherIsVoided(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	ref := h.held[0].LeaseRef
	stranger := ref
	stranger.Fence++
	answer := h.say(lease.TurnRequest{Held: []lease.Held{{LeaseRef: stranger}, {LeaseRef: lease.LeaseRef{JobID: 999, Attempt: 1, Fence: 1}}}})
	if diff := cmp.Diff([]lease.LeaseRef{stranger, {JobID: 999, Attempt: 1, Fence: 1}}, answer.Voided); diff != "" {
		t.Errorf("voided (-want +got):\n%s", diff)
	}
	if len(answer.Grants) != 1 || answer.Grants[0].LeaseRef != ref {
		t.Errorf("the real lease is granted again: %+v", answer.Grants)
	}
}

func TestReportsLeftBehindAreDeliveredByAnother(t *testing.T) {
	r := newRig(t, independent(1)...)
	h, other := r.hand("n1", 1), r.hand("n1", 1)
	h.turn()
	answer := other.turn(exited(h.held[0].LeaseRef, 0))
	if answer.Results[0].Outcome != lease.Accepted {
		t.Errorf("result: %+v", answer.Results[0])
	}
	r.want(workflow.Completed)
	if n := r.number(`SELECT compute_node_id FROM attempt`); n != h.id {
		t.Errorf("the attempt is on node %d, want %d", n, h.id)
	}
}

// A runner reports only about its own workflow.
func TestReportOfAnotherWorkflowIsRefused(t *testing.T) {
	r := newRig(t, independent(1)...)
	stranger := r.hand("n1", 1)
	r.begin(independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	ref := h.held[0].LeaseRef
	answer, err := r.Runners.Turn(r.ctx, stranger.id, lease.TurnRequest{Turn: 1, RunID: 1, Reports: []lease.Report{exited(ref, 0), exited(lease.LeaseRef{JobID: 999}, 0)},
		Recovered: []lease.Recovered{{LeaseRef: ref}}, Held: []lease.Held{{LeaseRef: ref}}, GiveBack: []lease.LeaseRef{ref}})
	r.must(err)
	for _, res := range answer.Results {
		if res.Outcome != lease.Refused {
			t.Errorf("result %+v", res)
		}
	}
	if len(answer.Results) != 3 || len(answer.Voided) != 1 {
		t.Errorf("answer %+v", answer)
	}
	r.want(pending)
	_, refused, err := r.Jobs.CompleteBatch(r.ctx, r.workflow-1, []Completion{r.completion(0, r.node("n"), completed, 0)})
	if r.must(err); len(refused) != 1 {
		t.Error("a batch completes a job of another workflow")
	}
	r.want(pending)
}

func TestUnknownRunIsRefused(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	_, err := r.Runners.Turn(r.ctx, h.id, lease.TurnRequest{Turn: 1, RunID: 7, Free: h.free})
	wantCode(t, err, workflow.CodeConflict)
	_, err = r.Runners.Turn(r.ctx, 4711, lease.TurnRequest{Turn: 1, RunID: 1})
	wantCode(t, err, workflow.CodeNotFound)
}

func TestGiveBackIsNoAttempt(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	ref := h.held[0].LeaseRef
	h.free.Slots = 0
	h.say(lease.TurnRequest{GiveBack: []lease.LeaseRef{ref, ref}})
	r.want(workflow.Ready)
	h.free.Slots = 1
	if g := h.turn().Grants[0]; g.Attempt != 1 || g.Fence != ref.Fence+1 {
		t.Errorf("granted anew: %+v", g.LeaseRef)
	}
}

func TestStartedJobsRun(t *testing.T) {
	r := newRig(t, independent(1)...)
	h := r.hand("n1", 1)
	h.turn()
	h.held[0].StartedMS = 1_795_255_200_123
	h.held = append(h.held, h.held[0])
	h.turn()
	r.want(workflow.Running)
	h.turn()
	if diff := cmp.Diff([]string{"compute_node_started", "job_started"}, r.events()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// A running job that its runner no longer lists is lost.
	h.free.Slots = 0
	h.held = []lease.Held{}
	h.turn()
	r.want(workflow.Ready)
	if n := r.number(`SELECT COUNT(*) FROM attempt WHERE cause = 'lost' AND start_ms = 1795255200123`); n != 1 {
		t.Errorf("%d lost attempts, want 1", n)
	}
}
