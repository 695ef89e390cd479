package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// newAskedRig is a rig with held jobs and a classifier, whose agent was asked about them.
func newAskedRig(t *testing.T, p workflow.ClassifierPolicy, jobs int, stderr ...string) (*rig, classifier.Call, classifier.Decision) {
	t.Helper()
	r, _ := newHeldRig(t, independent(jobs), stderr...)
	r.setPolicy(workflow.RunPolicy{Classifier: &p})
	r.now = r.now.Add(time.Minute)
	c, d, _, err := r.Classifiers.Begin(r.ctx, r.workflow, "key")
	r.must(err)
	if c.ID == 0 || len(d.Ask) == 0 {
		t.Fatalf("not asked: %+v", d)
	}
	return r, c, d
}

// say proposes in the name of the call with a key.
func (r *rig) say(key string, n NewProposal) (proposal.Proposal, error) {
	n.WorkflowID, n.Author, n.Reason, n.Call = r.workflow, "somebody", "because", key
	p, _, err := r.Proposals.Propose(r.ctx, n)
	return p, err
}

func verdict(fingerprint string) NewProposal {
	return NewProposal{Proposal: proposal.Proposal{Kind: proposal.Classify}, Change: retryOf(fingerprint)}
}

// TestClassifierApplies: 5,000 jobs that failed alike are one question and one verdict, which is
// applied at the end of the call.
func TestClassifierApplies(t *testing.T) {
	const jobs = 5000
	stderr := make([]string, jobs)
	for i := range stderr {
		stderr[i] = fmt.Sprintf("NCCL timeout after 1800 seconds on rank %d", i)
	}
	r, c, d := newAskedRig(t, workflow.ClassifierPolicy{Apply: true}, jobs, stderr...)
	if len(d.Ask) != 1 || c.Jobs() != jobs || c.Agent != "claude" {
		t.Fatalf("%+v", c)
	}
	p, err := r.say("key", verdict(d.Ask[0].Fingerprint))
	r.must(err)
	if p.Author != "agent claude" || p.Door != "agent" || p.CallID != c.ID || p.JobCount != jobs {
		t.Errorf("%s by %s, call %d, %d jobs", p.Author, p.Door, p.CallID, p.JobCount)
	}
	ended, err := r.Classifiers.End(r.ctx, c.ID, classifier.Silent, "exit status 1")
	r.must(err)
	if ended.Outcome != classifier.Applied || ended.Detail != "" {
		t.Errorf("%+v", ended)
	}
	if n := r.number(`SELECT COUNT(*) FROM job WHERE status = ?`, int64(workflow.Ready)); n != jobs {
		t.Errorf("%d jobs are ready", n)
	}
	if got := r.alertSubjects(); len(got) != 0 {
		t.Errorf("alerts %q", got)
	}
	r.sound(check.Witness{})
}

// TestClassifierCaps: what exceeds the caps waits for a person, who is told.
func TestClassifierCaps(t *testing.T) {
	r, c, d := newAskedRig(t, workflow.ClassifierPolicy{Apply: true, MaxMemory: "1500m"}, 3, "a", "b", "c")
	for i, memory := range []string{"2g", "1500m"} {
		n := verdict(d.Ask[i].Fingerprint)
		n.Change.Verdicts[0].Memory = memory
		n.Change.Force = i == 0
		_, err := r.say("key", n)
		r.must(err)
	}
	ended, err := r.Classifiers.End(r.ctx, c.ID, classifier.TimedOut, "")
	r.must(err)
	if ended.Outcome != classifier.Applied || !strings.HasPrefix(ended.Detail, "proposal 1: it asks for more than is known to fit") {
		t.Errorf("%+v", ended)
	}
	r.want(workflow.PendingFailed, workflow.Ready, workflow.PendingFailed)
	if got := r.alertSubjects(); len(got) != 1 || !strings.Contains(got[0], "held jobs wait") {
		t.Errorf("alerts %q", got)
	}
	next, err := r.Classifiers.Decide(r.ctx, r.workflow)
	r.must(err)
	if next.Due() {
		t.Errorf("asked again: %+v", next)
	}
	r.sound(check.Witness{})
}

// TestClassifierCallRefuses: in a call only held jobs of its workflow can be decided about, and
// only until it ends.
func TestClassifierCallRefuses(t *testing.T) {
	r, c, d := newAskedRig(t, workflow.ClassifierPolicy{}, 2, "a", "a")
	if _, again, _, err := r.Classifiers.Begin(r.ctx, r.workflow, "other"); err != nil || len(again.Ask) > 0 {
		t.Errorf("a second call: %+v, %v", again, err)
	}
	requirements := NewProposal{
		Proposal: proposal.Proposal{Kind: proposal.Requirements}, Change: proposal.Change{Requirements: []proposal.RequirementsChange{{JobIDs: r.ids[:1], Memory: "2g"}}},
	}
	_, err := r.say("key", requirements)
	wantCode(t, err, workflow.CodeForbidden)
	_, err = r.say("guess", verdict(d.Ask[0].Fingerprint))
	wantCode(t, err, workflow.CodeConflict)
	foreign := verdict("")
	foreign.Change.Verdicts[0] = hold.HoldVerdict{JobID: 999, Action: workflow.ActionRetry, Reason: "x"}
	if p, err := r.say("key", foreign); err != nil || p.ID != 0 {
		t.Errorf("a foreign job: %+v, %v", p, err)
	}
	first := r.workflow
	r.begin(independent(1)...)
	_, err = r.say("key", verdict("x"))
	wantCode(t, err, workflow.CodeConflict)
	r.workflow = first
	ended, err := r.Classifiers.End(r.ctx, c.ID, classifier.Silent, "exit status 0")
	r.must(err)
	if ended.Outcome != classifier.Silent || ended.Detail != "exit status 0" {
		t.Errorf("%+v", ended)
	}
	_, err = r.say("key", verdict(d.Ask[0].Fingerprint))
	wantCode(t, err, workflow.CodeConflict)
	_, err = r.Classifiers.End(r.ctx, c.ID, classifier.Silent, "")
	wantCode(t, err, workflow.CodeConflict)
}

// TestClassifierInterrupted: the next daemon ends the calls of one that was killed, and applies
// what the agent had proposed.
func TestClassifierInterrupted(t *testing.T) {
	r, c, d := newAskedRig(t, workflow.ClassifierPolicy{Apply: true}, 1, "a")
	_, err := r.say("key", verdict(d.Ask[0].Fingerprint))
	r.must(err)
	keys, err := r.Classifiers.Interrupt(r.ctx)
	r.must(err)
	if len(keys) != 1 || keys[0] != "key" {
		t.Errorf("keys %q", keys)
	}
	calls, err := r.Classifiers.Calls(r.ctx, r.workflow)
	r.must(err)
	if len(calls) != 1 || calls[0].ID != c.ID || calls[0].Outcome != classifier.Applied {
		t.Errorf("%+v", calls)
	}
	r.want(workflow.Ready)
	if keys, err := r.Classifiers.Interrupt(r.ctx); err != nil || len(keys) > 0 {
		t.Errorf("again: %q, %v", keys, err)
	}
}

// TestClassifierGoneOn: a proposal about a job that somebody has decided about meanwhile is not
// applied.
func TestClassifierGoneOn(t *testing.T) {
	r, c, d := newAskedRig(t, workflow.ClassifierPolicy{Apply: true}, 1, "a")
	_, err := r.say("key", verdict(d.Ask[0].Fingerprint))
	r.must(err)
	_, err = r.Holds.Resolve(context.Background(), r.workflow, HoldSelection{}, hold.Classification{Status: workflow.Failed, Reason: "by hand"}, ResolveOptions{})
	r.must(err)
	ended, err := r.Classifiers.End(r.ctx, c.ID, classifier.Silent, "")
	r.must(err)
	if ended.Outcome != classifier.Proposed {
		t.Errorf("%+v", ended)
	}
	r.want(workflow.Failed)
}
