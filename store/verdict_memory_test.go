package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// remembered returns what is remembered, one line for each verdict.
func (r *rig) remembered() (lines []string) {
	r.tb.Helper()
	list, total, err := r.Holds.Verdicts(r.ctx, VerdictFilter{}, Page{Limit: 1000})
	r.must(err)
	for _, v := range list {
		line := fmt.Sprintf("w%d %s %s %d jobs by %s (%s): %s", v.WorkflowID, v.State, v.Action, v.Jobs, v.Author, v.Door, v.Outcome)
		if v.DecidedBy != "" {
			line += v.DecidedBy + " said " + v.Note
		}
		lines = append(lines, line)
	}
	if int64(len(lines)) != total {
		r.tb.Errorf("%d of %d", len(lines), total)
	}
	return lines
}

func (r *rig) wantRemembered(want ...string) {
	r.tb.Helper()
	if got := r.remembered(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		r.tb.Errorf("remembered %q\nwant %q", got, want)
	}
}

// succeedAll has a runner claim jobs, and all of them succeed.
func (r *rig) succeedAll(h *hand) {
	r.tb.Helper()
	h.turn()
	var reports []lease.Report
	for _, held := range h.held {
		reports = append(reports, exited(held.LeaseRef, 0))
	}
	h.turn(reports...)
}

// TestVerdictMemory: what was decided about alike failures, and what became of the jobs,
// outlives their workflow.
func TestVerdictMemory(t *testing.T) {
	r, h := newHeldRig(t, independent(6), "a 1", "a 2", "a 3", "a 4", "b", "c")
	r.ctx = audit.WithDoor(r.ctx, audit.CLI)
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	like := held[0].Fingerprint
	again := hold.Classification{Status: workflow.Ready, Author: "ann", Reason: "the disk was full"}
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[:1]}, again, ResolveOptions{DryRun: true})
	r.must(err)
	r.wantRemembered()
	_, err = r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[:4]}, again, ResolveOptions{})
	r.must(err)
	r.wantRemembered("w1 decided retry 4 jobs by ann (cli): ")
	h.turn()
	h.turn(exited(h.held[0].LeaseRef, 0), exited(h.held[1].LeaseRef, 0), exited(h.held[2].LeaseRef, 1))
	r.wantRemembered("w1 decided retry 4 jobs by ann (cli): 2 of 4 retries succeeded, 1 not known")
	_, err = r.Workflows.Cancel(r.ctx, r.workflow)
	r.must(err)
	h.turn()
	r.check()

	_, err = r.Workflows.Delete(r.ctx, r.workflow, false)
	r.must(err)
	before := r.remembered()
	if len(before) != 1 {
		t.Fatal(before)
	}
	earlier, all, err := r.Holds.Earlier(r.ctx, like, 5)
	r.must(err)
	if len(earlier) != 1 || earlier[0].WorkflowName != "w" || earlier[0].Cause != workflow.CauseExit || all.Succeeded != 2 || all.Failed != 1 {
		t.Errorf("%+v, %+v", earlier, all)
	}
	if fmt.Sprint(earlier[0].Lines) != "[a <n>]" {
		t.Errorf("lines %q", earlier[0].Lines)
	}
}

// TestVerdictMemoryOfSeveralAttempts: a retry that policies repeat ends with the last attempt.
func TestVerdictMemoryOfSeveralAttempts(t *testing.T) {
	r, h := newHeldRig(t, independent(1), "a")
	again := hold.Classification{Status: workflow.Ready, Author: "ann", Reason: "again"}
	for range 2 {
		_, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, again, ResolveOptions{})
		r.must(err)
		r.failAll(h, "a")
	}
	_, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{}, again, ResolveOptions{})
	r.must(err)
	r.succeedAll(h)
	r.want(workflow.Completed)
	// The same person has decided the same three times about one job: one row has all.
	r.wantRemembered("w1 decided retry 3 jobs by ann (rule): 1 of 3 retries succeeded")
	r.check()
}

// TestVerdictMemoryOfProposals: proposals are remembered with what was decided about them.
func TestVerdictMemoryOfProposals(t *testing.T) {
	r, _ := newHeldRig(t, independent(3), "a", "a", "b")
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	p, _ := r.propose(proposal.Classify, retryOf(held[0].Fingerprint))
	q, _ := r.propose(proposal.Question, retryOf(held[2].Fingerprint))
	r.wantRemembered("w1 proposed retry 2 jobs by agent (): ", "w1 proposed ask 1 jobs by agent (): ")
	_, err = r.Proposals.Reject(r.ctx, p.ID, "bob", "not now")
	r.must(err)
	r.wantRemembered("w1 rejected retry 2 jobs by agent (): bob said not now", "w1 proposed ask 1 jobs by agent (): ")
	p, _ = r.propose(proposal.Classify, retryOf(held[0].Fingerprint))
	_, err = r.Proposals.Apply(r.ctx, p.ID, "ann")
	r.must(err)
	r.now = r.now.Add(2 * time.Hour)
	r.wantRemembered("w1 rejected retry 2 jobs by agent (): bob said not now", "w1 expired ask 1 jobs by agent (): ",
		"w1 decided retry 2 jobs by agent, applied by ann (rule): ")
	list, _, err := r.Holds.Verdicts(r.ctx, VerdictFilter{Fingerprint: held[0].Fingerprint}, Page{Limit: 10})
	r.must(err)
	if len(list) != 2 || list[1].ProposalID != p.ID {
		t.Errorf("%+v", list)
	}
	_ = q
	r.check()
}

// TestVerdictMemoryIsBounded: the oldest verdicts about failures that are alike are forgotten.
func TestVerdictMemoryIsBounded(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.do(func(tx *core.Tx) error {
		for i := range 300 {
			v := hold.EarlierVerdict{AlikeFailure: hold.AlikeFailure{Fingerprint: "f", Cause: workflow.CauseExit}, WorkflowID: 1, JobID: 1, State: hold.Decided, Action: workflow.ActionFail, Reason: fmt.Sprint(i)}
			if i%3 == 0 {
				v.Fingerprint = "g"
			}
			if _, err := engine.Remember(tx, &v, 0); err != nil {
				return err
			}
		}
		return nil
	})
	_, n, err := r.Holds.Verdicts(r.ctx, VerdictFilter{Fingerprint: "f"}, Page{Limit: 10})
	r.must(err)
	_, m, err := r.Holds.Verdicts(r.ctx, VerdictFilter{Fingerprint: "g"}, Page{Limit: 10})
	r.must(err)
	if n != 200 || m != 100 {
		t.Errorf("%d and %d remembered", n, m)
	}
}
