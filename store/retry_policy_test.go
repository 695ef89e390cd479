package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// retryExit is a policy that retries after an exit code.
func retryExit(name, id string, code, limit int64) workflow.RetryPolicy {
	return workflow.RetryPolicy{Name: name, Rules: []workflow.RetryRule{
		{ID: id, When: workflow.RuleMatch{ExitCode: &workflow.ExitCodeMatch{In: []int64{code}}}, Action: workflow.ActionRetry, Limit: &limit},
	}}
}

// storePolicy stores a policy.
func (r *rig) storePolicy(p workflow.RetryPolicy) {
	r.tb.Helper()
	_, err := r.Policies.Create(r.ctx, p, "ann")
	r.must(err)
}

// usePolicies sets the policy of the rig's workflow.
func (r *rig) usePolicies(text string) {
	r.tb.Helper()
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET policy = ? WHERE id = ?`, text, r.workflow)
	})
}

// decided lists the rules of the attempts of a job and their reasons.
func (r *rig) decided(i int) (all []string) {
	r.tb.Helper()
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[i])
	r.must(err)
	for _, a := range attempts {
		if a.EndedMS == nil {
			continue
		}
		all = append(all, string(a.Decision.Action)+" "+a.Decision.Rule)
	}
	return all
}

// fails has a runner fail its job with exit codes, one attempt after another.
func (h *hand) fails(codes ...int64) {
	h.tb.Helper()
	for _, code := range codes {
		if len(h.held) == 0 {
			h.turn()
		}
		h.turn(exited(h.held[0].LeaseRef, code))
	}
}

func TestStoredPolicies(t *testing.T) {
	r := newRig(t)
	p := retryExit("io", "busy", 75, 2)
	created, err := r.Policies.Create(r.ctx, p, "ann")
	r.must(err)
	if _, err := r.Policies.Create(r.ctx, p, "ann"); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("created twice: %v", err)
	}
	if _, err := r.Policies.Create(r.ctx, workflow.RetryPolicy{Name: "empty"}, "ann"); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("created a policy that says nothing: %v", err)
	}
	r.now = r.now.Add(time.Minute)
	same, err := r.Policies.Update(r.ctx, p, "bob")
	r.must(err)
	if diff := cmp.Diff(created, same); diff != "" {
		t.Errorf("an update that changes nothing (-before +after):\n%s", diff)
	}
	updated, err := r.Policies.Update(r.ctx, retryExit("io", "busy", 75, 3), "bob")
	r.must(err)
	if updated.Version != 2 || updated.Hash == created.Hash || updated.CreatedMS == updated.UpdatedMS {
		t.Errorf("updated: %+v", updated)
	}
	read, err := r.Policies.Get(r.ctx, "io")
	r.must(err)
	if diff := cmp.Diff(updated, read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	_, err = r.Policies.Delete(r.ctx, "io", "eve")
	r.must(err)
	if _, err := r.Policies.Get(r.ctx, "io"); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("it is still there: %v", err)
	}
	changes, _, err := r.Policies.Changes(r.ctx, "io", sqlite.Page{Limit: 10})
	r.must(err)
	var got []string
	for _, c := range changes {
		got = append(got, c.Author+" "+string(c.Action))
		if (c.OldHash == "") != (c.Action == workflow.PolicyCreated) || (c.NewHash == "") != (c.Action == workflow.PolicyDeleted) {
			t.Errorf("hashes of %+v", c)
		}
	}
	if diff := cmp.Diff([]string{"ann created", "bob updated", "eve deleted"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

// The next decision uses a change, and what a rule has granted under its id continues to
// count, wherever the rule is now.
func TestAPolicyChangesWhileItIsUsed(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.storePolicy(retryExit("io", "busy", 75, 1))
	r.usePolicies(`{"retry_policies": ["io"]}`)
	h := r.hand("n1", 1)
	h.fails(75)
	changed := retryExit("io", "busy", 75, 2)
	changed.Rules = append(retryExit("io", "other", 76, 5).Rules, changed.Rules...)
	_, err := r.Policies.Update(r.ctx, changed, "ann")
	r.must(err)
	h.fails(75, 76, 75)
	if diff := cmp.Diff([]string{"retry io/busy", "retry io/busy", "retry io/other", "fail io/busy"}, r.decided(0)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

func TestAPolicyInUseIsNotDeleted(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.storePolicy(retryExit("io", "busy", 75, 1))
	refused := func(by string) {
		t.Helper()
		_, err := r.Policies.Delete(r.ctx, "io", "ann")
		if workflow.CodeOf(err) != workflow.CodeConflict || !strings.Contains(err.Error(), by) {
			t.Errorf("deleted, or another reason than %q: %v", by, err)
		}
	}
	r.must(r.Policies.SetSettings(r.ctx, workflow.RetrySettings{DefaultPolicy: "io"}, "ann"))
	refused("default")
	r.must(r.Policies.SetSettings(r.ctx, workflow.RetrySettings{}, "ann"))
	gpu := workflow.QueuePolicies{Queue: workflow.Queue{Kind: workflow.QueuePartition, Name: "gpu"}, RetryPolicies: []string{"io"}}
	r.must(r.Policies.SetQueue(r.ctx, gpu, "ann"))
	refused("partition gpu")
	gpu.RetryPolicies = nil
	r.must(r.Policies.SetQueue(r.ctx, gpu, "ann"))
	r.do(func(tx *core.Tx) error {
		id, err := policyOf(tx, r.workflow, `{"retry_policies":["io"]}`, false)
		if err != nil {
			return err
		}
		return tx.ExecOne(`UPDATE job SET policy_id = ? WHERE id = ?`, id, r.ids[0])
	})
	refused("workflow")
	r.hand("n1", 1).fails(1)
	_, err := r.Policies.Delete(r.ctx, "io", "ann")
	r.must(err)
}

// The workflow may be reset after its end, when the policy is gone.
func TestADecisionWithoutItsPolicySaysSo(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.usePolicies(`{"retry_policies": ["gone"]}`)
	r.hand("n1", 1).fails(1)
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	if got := attempts[0].Decision.Reason; !strings.Contains(got, "retry policy no longer exists: gone") {
		t.Errorf("reason: %s", got)
	}
	r.sound(check.Witness{})
}

func TestNamesOfPoliciesMustExist(t *testing.T) {
	n := newNouns(t)
	refs := []workflow.PolicyRef{{Name: "nowhere"}}
	_, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "w", User: "me", Policy: &workflow.RunPolicy{RetryPolicies: refs}})
	if workflow.CodeOf(err) != workflow.CodeInvalid || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("a workflow: %v", err)
	}
	w, err := n.Workflows.Create(n.ctx, workflow.Workflow{Name: "w", User: "me"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Jobs.Create(n.ctx, []workflow.Job{{WorkflowID: w.ID, Name: "j", Command: "true", JobOptions: workflow.JobOptions{Policy: &workflow.JobPolicy{RetryPolicies: refs}}}})
	if workflow.CodeOf(err) != workflow.CodeInvalid || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("a job: %v", err)
	}
}

// Policies of the queue come first; the queue is that of the attempt's allocation.
func TestPoliciesOfTheQueue(t *testing.T) {
	r := newRig(t, independent(2)...)
	r.storePolicy(retryExit("site", "busy", 75, 1))
	r.storePolicy(retryExit("mine", "busy", 75, 3))
	r.usePolicies(`{"retry_policies": ["mine"]}`)
	debug := workflow.QueuePolicies{Queue: workflow.Queue{Kind: workflow.QueuePartition, Name: "debug"}, RetryPolicies: []string{"site"}}
	r.must(r.Policies.SetQueue(r.ctx, debug, "ann"))
	queues, err := r.Policies.Queues(r.ctx)
	r.must(err)
	if diff := cmp.Diff([]workflow.QueuePolicies{debug}, queues); diff != "" {
		t.Errorf("queues (-want +got):\n%s", diff)
	}
	r.intend("abc")
	r.adopt("abc", 7, 0)
	inside := r.join("abc", 7, 0)
	inside.free.Slots = 1
	inside.turn()
	inside.free.Slots = 0
	inside.turn(exited(inside.held[0].LeaseRef, 75))
	outside := r.hand("login", 2)
	outside.turn()
	outside.turn(exited(outside.held[0].LeaseRef, 75), exited(outside.held[1].LeaseRef, 75))
	var rules []string
	for i := range r.ids {
		rules = append(rules, r.decided(i)...)
	}
	if diff := cmp.Diff([]string{"retry site/busy", "retry mine/busy", "retry mine/busy"}, rules); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

// The smaller of the server's and the workflow's limit applies, from the next decision
// on, to failure handlers too.
func TestRetriesAreStoppedForAll(t *testing.T) {
	r := newRig(t)
	r.add(rigJob{handler: r.handler(`[{"exit_codes": [9], "max_retries": 9}]`)})
	r.usePolicies(`{"global_max_retries": 5}`)
	h := r.hand("n1", 1)
	h.fails(9)
	limit := int64(0)
	r.must(r.Policies.SetSettings(r.ctx, workflow.RetrySettings{GlobalMaxRetries: &limit}, "ann"))
	h.fails(9)
	attempts, err := r.Jobs.Attempts(r.ctx, r.ids[0])
	r.must(err)
	if d := attempts[1].Decision; d.Action != workflow.ActionFail || !strings.Contains(d.Reason, "global_max_retries is 0") {
		t.Errorf("after the limit was lowered: %s, %s", d.Action, d.Reason)
	}
	changes, _, err := r.Policies.Changes(r.ctx, "", sqlite.Page{Limit: 10})
	r.must(err)
	if len(changes) != 1 || changes[0].Author != "ann" || !strings.Contains(changes[0].Detail, `"global_max_retries":0`) {
		t.Errorf("changes: %+v", changes)
	}
	r.sound(check.Witness{})
}

func TestTheDefaultPolicyIsReplaced(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.storePolicy(retryExit("site", "busy", 75, 1))
	r.must(r.Policies.SetSettings(r.ctx, workflow.RetrySettings{DefaultPolicy: "site"}, "ann"))
	r.hand("n1", 1).fails(75, 75)
	if diff := cmp.Diff([]string{"retry site/busy", "fail site/busy"}, r.decided(0)); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	no := false
	if err := r.Policies.SetSettings(r.ctx, workflow.RetrySettings{DefaultPolicy: "none"}, "ann"); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("a default that is not there: %v", err)
	}
	r.must(r.Policies.SetSettings(r.ctx, workflow.RetrySettings{Enabled: &no, DefaultPolicy: "site"}, "ann"))
	r.begin(independent(1)...)
	r.hand("n2", 1).fails(75)
	if diff := cmp.Diff([]string{"fail "}, r.decided(0)); diff != "" {
		t.Errorf("decisions while policies are off (-want +got):\n%s", diff)
	}
	r.sound(check.Witness{})
}

// The retries of all jobs share a budget; those of the same turn count.
func TestRetriesOfAllJobs(t *testing.T) {
	r := newRig(t, independent(4)...)
	r.storePolicy(retryExit("io", "busy", 75, 3))
	r.usePolicies(`{"retry_policies": ["io"], "max_retries_total": 3}`)
	h := r.hand("n1", 4)
	h.turn()
	h.free.Slots = 0
	var reports []lease.Report
	for _, held := range h.held {
		reports = append(reports, exited(held.LeaseRef, 75))
	}
	h.turn(reports...)
	r.want(workflow.Ready, workflow.Ready, workflow.Ready, workflow.Failed)
	r.check()
	r.sound(check.Witness{})
}

// The rule decides what follows a recovery script that fails.
func TestARecoveryScriptOfARuleFails(t *testing.T) {
	for action, want := range map[workflow.Action]workflow.JobStatus{
		"": workflow.Ready, workflow.ActionRetry: workflow.Ready, workflow.ActionHold: workflow.PendingFailed, workflow.ActionFail: workflow.Failed,
	} {
		r := newRig(t, independent(1)...)
		p := retryExit("io", "busy", 75, 1)
		p.Rules[0].RecoveryScript, p.Rules[0].OnRecoveryError = "./scrub.sh", action
		r.storePolicy(p)
		r.usePolicies(`{"retry_policies": ["io"]}`)
		h := r.hand("n1", 1)
		h.turn()
		ref := h.held[0].LeaseRef
		h.free.Slots = 0
		answer := h.turn(exited(ref, 75))
		if rec := answer.Results[0].Recovery; rec == nil || rec.Script != "./scrub.sh" {
			t.Errorf("%q: no order to run the script: %+v", action, answer.Results[0])
		}
		h.say(lease.TurnRequest{Recovered: []lease.Recovered{{LeaseRef: ref, ReturnCode: 1}}})
		r.want(want)
		r.sound(check.Witness{})
	}
}

// TestPoliciesAreAttachedTogether: of policies that are attached to and detached from a
// queue at the same time, none is lost.
func TestPoliciesAreAttachedTogether(t *testing.T) {
	r := newRig(t)
	gpu := workflow.Queue{Kind: workflow.QueuePartition, Name: "gpu"}
	of := func(names ...string) workflow.QueuePolicies {
		return workflow.QueuePolicies{Queue: gpu, RetryPolicies: names}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprintf("p%d", i)
		r.storePolicy(retryExit(name, "busy", 75, 1))
		wg.Go(func() {
			if _, err := r.Policies.Attach(r.ctx, of(name), "ann"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, err := r.Policies.Detach(r.ctx, of("p0", "unknown"), "ann")
	wantCode(t, err, workflow.CodeNotFound)
	_, err = r.Policies.Attach(r.ctx, of("unknown"), "ann")
	wantCode(t, err, workflow.CodeNotFound)
	all, err := r.Policies.Attach(r.ctx, of("p3"), "ann")
	r.must(err)
	slices.Sort(all.RetryPolicies)
	if diff := cmp.Diff([]string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"}, all.RetryPolicies); diff != "" {
		t.Errorf("attached (-want +got):\n%s", diff)
	}
	for _, name := range all.RetryPolicies {
		wg.Go(func() {
			if _, err := r.Policies.Detach(r.ctx, of(name), "ann"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	queues, err := r.Policies.Queues(r.ctx)
	r.must(err)
	if len(queues) != 0 {
		t.Errorf("left: %v", queues)
	}
}
