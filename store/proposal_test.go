package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// propose stores a proposal of the rig's workflow.
func (r *rig) propose(kind proposal.Kind, c proposal.Change) (proposal.Proposal, []proposal.Refusal) {
	r.tb.Helper()
	p, refused, err := r.Proposals.Propose(r.ctx, NewProposal{
		Proposal: proposal.Proposal{WorkflowID: r.workflow, Kind: kind, Author: "agent", Reason: "because"}, Change: c, Life: time.Hour,
	})
	r.must(err)
	return p, refused
}

// refusedApply applies a proposal, which must fail and change nothing.
func (r *rig) refusedApply(id int64, says string) {
	r.tb.Helper()
	before, events := r.statuses(), len(r.events())
	p, err := r.Proposals.Apply(r.ctx, id, "ann")
	if workflow.CodeOf(err) != workflow.CodeConflict || !strings.Contains(err.Error(), says) {
		r.tb.Errorf("applied %+v: %v, want %q", p, err, says)
	}
	if now := r.statuses(); !slices.Equal(now, before) || len(r.events()) != events {
		r.tb.Errorf("changed from %v to %v, %d events to %d", before, now, events, len(r.events()))
	}
}

func retryOf(fingerprint string) proposal.Change {
	return proposal.Change{Verdicts: []hold.HoldVerdict{{Fingerprint: fingerprint, Action: workflow.ActionRetry, Reason: "the disk was full"}}}
}

// TestProposal: it changes nothing until it is applied, and then what it said.
func TestProposal(t *testing.T) {
	r, _ := newHeldRig(t, independent(4), "a", "a", "b", "c")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	change := retryOf(held[0].Fingerprint)
	change.Verdicts = append(change.Verdicts, hold.HoldVerdict{JobID: 999, Action: workflow.ActionFail, Reason: "x"}, hold.HoldVerdict{Fingerprint: "nope", Action: workflow.ActionFail, Reason: "x"})
	p, refused := r.propose(proposal.Classify, change)
	r.want(workflow.PendingFailed, workflow.PendingFailed, workflow.PendingFailed, workflow.PendingFailed)
	if p.JobCount != 2 || p.Title != "retry 2 jobs on hold" || len(refused) != 2 || refused[0].Entry != 1 || refused[1].Entry != 2 {
		t.Errorf("%+v, refused %+v", p, refused)
	}
	if got := fmt.Sprint(p.Jobs[0].Changes); got != "[status pending_failed -> ready attempt 1 -> 2]" {
		t.Errorf("changes %s", got)
	}
	stored, err := r.Proposals.Get(r.ctx, p.ID)
	r.must(err)
	if stored.State != proposal.Open || len(stored.Jobs) != 2 || !slices.Equal(stored.Change.Verdicts[0].JobIDs, r.ids[:2]) {
		t.Errorf("stored %+v", stored)
	}
	done, err := r.Proposals.Apply(r.ctx, p.ID, "ann")
	r.must(err)
	r.want(workflow.Ready, workflow.Ready, workflow.PendingFailed, workflow.PendingFailed)
	if done.State != proposal.Applied || done.DecidedBy != "ann" {
		t.Errorf("%+v", done)
	}
	r.refusedApply(p.ID, "was applied by ann")
	if _, err := r.Proposals.Reject(r.ctx, p.ID, "bob", "no"); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("rejected after all: %v", err)
	}
	r.check()
}

// TestProposalGoneOn: what was approved is done, or nothing.
func TestProposalGoneOn(t *testing.T) {
	r, _ := newHeldRig(t, independent(3), "a", "a", "b")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	p, _ := r.propose(proposal.Classify, retryOf(held[0].Fingerprint))
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[1:2]}, hold.Classification{Status: workflow.Failed, Author: "bob", Reason: "x"}, ResolveOptions{})
	r.must(err)
	r.refusedApply(p.ID, "job 2 (j1) has gone on since: it was pending_failed and is failed now")
	rejected, err := r.Proposals.Reject(r.ctx, p.ID, "ann", "too late")
	r.must(err)
	if rejected.State != proposal.Rejected || rejected.Note != "too late" {
		t.Errorf("%+v", rejected)
	}
	r.refusedApply(p.ID, "was rejected by ann")

	late, _ := r.propose(proposal.Classify, retryOf(held[2].Fingerprint))
	r.now = r.now.Add(2 * time.Hour)
	r.refusedApply(late.ID, "expired")
	list, n, err := r.Proposals.List(r.ctx, ProposalFilter{WorkflowID: r.workflow, State: proposal.Expired}, Page{Limit: 10})
	r.must(err)
	if n != 1 || list[0].State != proposal.Expired || list[0].Jobs != nil {
		t.Errorf("%d: %+v", n, list)
	}
	if _, err := r.Proposals.Apply(r.ctx, 999, "ann"); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("unknown: %v", err)
	}
	r.check()
}

// TestProposalByTwo: of two people who apply it at once, one does.
func TestProposalByTwo(t *testing.T) {
	r, _ := newHeldRig(t, independent(2), "a", "a")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	p, _ := r.propose(proposal.Classify, retryOf(held[0].Fingerprint))
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = r.Proposals.Apply(r.ctx, p.ID, fmt.Sprint("user", i)) })
	}
	wg.Wait()
	applied := 0
	for _, err := range errs {
		switch workflow.CodeOf(err) {
		case "":
			applied++
		case workflow.CodeConflict:
		default:
			t.Error(err)
		}
	}
	if applied != 1 {
		t.Errorf("applied %d times", applied)
	}
	r.want(workflow.Ready, workflow.Ready)
	r.check()
}

// TestProposeRequirements: a job gets requirements of its own, and those that shared them
// keep theirs.
func TestProposeRequirements(t *testing.T) {
	r, _ := newHeldRig(t, independent(3), "a", "a", "b")
	var first, second int64
	before := r.number(`SELECT c.requirements_id FROM job j JOIN claim_class c ON c.id = j.class_id WHERE j.id = ?`, r.ids[1])
	p, refused := r.propose(proposal.Requirements, proposal.Change{Requirements: []proposal.RequirementsChange{
		{JobIDs: []int64{r.ids[0], 999}, Memory: "2048m", Runtime: "2h", NumCPUs: 2},
	}})
	if p.JobCount != 1 || len(refused) != 1 || refused[0].JobID != 999 {
		t.Errorf("%+v, refused %+v", p, refused)
	}
	if got := fmt.Sprint(p.Jobs[0].Changes); !strings.Contains(got, "-> 2g") || !strings.Contains(got, "-> PT2H") || !strings.Contains(got, "num_cpus 1 -> 2") {
		t.Errorf("changes %s", got)
	}
	_, err := r.Proposals.Apply(r.ctx, p.ID, "ann")
	r.must(err)
	first = r.number(`SELECT c.requirements_id FROM job j JOIN claim_class c ON c.id = j.class_id WHERE j.id = ?`, r.ids[0])
	second = r.number(`SELECT c.requirements_id FROM job j JOIN claim_class c ON c.id = j.class_id WHERE j.id = ?`, r.ids[1])
	if first == second || second != before {
		t.Errorf("requirements %d and %d, before %d", first, second, before)
	}
	for _, c := range []proposal.RequirementsChange{
		{JobIDs: r.ids}, {Memory: "1g"}, {JobIDs: []int64{r.ids[0], r.ids[0]}, Memory: "1g"}, {JobIDs: r.ids, Memory: "lots"}, {JobIDs: r.ids, Memory: "0"}, {JobIDs: r.ids, NumCPUs: -1},
	} {
		_, _, err := r.Proposals.Propose(r.ctx, NewProposal{Proposal: proposal.Proposal{WorkflowID: r.workflow, Kind: proposal.Requirements, Reason: "x"}, Change: proposal.Change{Requirements: []proposal.RequirementsChange{c}}})
		if workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%+v: %v", c, err)
		}
	}
	r.check()
}

// TestProposalEffect: a proposal whose effect has changed is not applied.
func TestProposalEffect(t *testing.T) {
	r, _ := newHeldRig(t, independent(2), "a", "b")
	change := func(memory string) proposal.Change {
		return proposal.Change{Requirements: []proposal.RequirementsChange{{JobIDs: r.ids[:1], Memory: memory}}}
	}
	p, _ := r.propose(proposal.Requirements, change("2g"))
	other, _ := r.propose(proposal.Requirements, change("3g"))
	_, err := r.Proposals.Apply(r.ctx, other.ID, "ann")
	r.must(err)
	r.refusedApply(p.ID, "another effect on job 1 (j0) now: [memory 3g -> 2g]")
}

// TestQuestion: it changes nothing, now or later.
func TestQuestion(t *testing.T) {
	r, _ := newHeldRig(t, independent(2), "a", "b")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	p, refused := r.propose(proposal.Question, proposal.Change{Verdicts: []hold.HoldVerdict{{Fingerprint: held[0].Fingerprint}, {JobID: 999}}})
	if p.JobCount != 1 || len(p.Jobs[0].Changes) != 0 || len(refused) != 1 {
		t.Errorf("%+v, refused %+v", p, refused)
	}
	r.refusedApply(p.ID, "asks a person")
}

// TestProposeRecovery: requirements change, the run starts and the jobs are reset in one
// transaction; a recovery of a workflow that has gone on does nothing.
func TestProposeRecovery(t *testing.T) {
	r := newRig(t, independent(2)...)
	r.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE resource_requirements SET memory = '1g', runtime = 'PT1H' WHERE memory = ''`)
		return err
	})
	h := r.hand("n1", 2)
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 1), exited(h.held[1].LeaseRef, 0))
	_, err := r.Runners.Leave(r.ctx, h.id, lease.LeaveRequest{})
	r.must(err)
	r.want(workflow.Failed, workflow.Completed)
	w, err := r.Workflows.Get(r.ctx, r.workflow)
	r.must(err)
	change := proposal.Change{Recovery: &proposal.Recovery{
		RunID: w.RunID, Jobs: []proposal.ExpectedJob{{JobID: r.ids[0], Status: workflow.Failed}},
		Changes: []proposal.RecoveredResource{{Clone: true, JobIDs: r.ids[:1], To: workflow.ResourceRequirements{
			Name: "more", NumCPUs: 2, NumNodes: 1, Memory: "2g", Runtime: "PT2H"}}},
	}}
	p, _ := r.propose(proposal.Recover, change)
	if got := fmt.Sprint(p.Jobs[0].Changes); !strings.Contains(got, "status failed -> ready") || !strings.Contains(got, "memory 1g -> 2g") || p.CPUSeconds != 2*7200 {
		t.Errorf("changes %s, %d CPU seconds", got, p.CPUSeconds)
	}
	r.want(workflow.Failed, workflow.Completed)
	second, _ := r.propose(proposal.Recover, change)
	_, err = r.Proposals.Apply(r.ctx, p.ID, "ann")
	r.must(err)
	r.want(workflow.Ready, workflow.Completed)
	r.refusedApply(second.ID, "job 1 (j0) has gone on since")
	r.check()
}

// TestProposalOfMany: one verdict decides about thousands of jobs that failed alike.
func TestProposalOfMany(t *testing.T) {
	const jobs = 1000
	stderr := slices.Repeat([]string{"NCCL timeout"}, jobs)
	r, _ := newHeldRig(t, independent(jobs), stderr...)
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	p, _ := r.propose(proposal.Classify, retryOf(held[0].Fingerprint))
	if p.JobCount != jobs {
		t.Errorf("%d jobs", p.JobCount)
	}
	_, err = r.Proposals.Apply(r.ctx, p.ID, "ann")
	r.must(err)
	if n := r.number(`SELECT COUNT(*) FROM job WHERE status = ?`, int(workflow.Ready)); n != jobs {
		t.Errorf("%d ready", n)
	}
}

// TestCheckProposals: db check finds decisions that contradict their proposals.
func TestCheckProposals(t *testing.T) {
	for change, want := range map[string]string{
		`UPDATE proposal SET state = 'applied'`:                                     "nobody decided about it",
		`UPDATE proposal SET decided_ms = 1`:                                        "a decision is recorded",
		`UPDATE proposal SET job_count = 7`:                                         "it changes 7 jobs",
		`UPDATE proposal SET state = 'applied', decided_ms = 1, workflow_id = NULL`: "belongs to no workflow",
	} {
		r, _ := newHeldRig(t, independent(1), "a")
		held, err := r.Holds.List(r.ctx, r.workflow)
		r.must(err)
		r.propose(proposal.Classify, retryOf(held[0].Fingerprint))
		r.sound(check.Witness{})
		r.do(func(tx *core.Tx) error { return tx.ExecOne(change) })
		if *inMemory || *asNetwork {
			continue // no other process can read it
		}
		found, err := check.Deep(r.ctx, r.Path(), check.Witness{})
		r.must(err)
		if !strings.Contains(fmt.Sprint(found), want) {
			t.Errorf("%s: %v, want %q", change, found, want)
		}
	}
}
