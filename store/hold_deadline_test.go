package store

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
)

// Nobody decides in time: the deadline does, once, as long as the job may be repeated.
func TestHoldDeadline(t *testing.T) {
	for on, want := range map[workflow.Action]workflow.JobStatus{"": workflow.Failed, workflow.ActionRetry: workflow.Ready} {
		r := newRig(t, independent(1)...)
		r.setPolicy(workflow.RunPolicy{ClassifyTimeout: &workflow.HoldLimit{After: "2h", OnTimeout: on}})
		r.do(func(tx *core.Tx) error {
			return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, r.workflow)
		})
		h := r.hand("n1", 1)
		r.failAll(h)
		for _, step := range []struct {
			wait time.Duration
			want int
		}{{2*time.Hour - time.Millisecond, 0}, {time.Millisecond, 1}, {time.Hour, 0}} {
			r.now = r.now.Add(step.wait)
			if n, err := r.Holds.Expire(r.ctx); err != nil || n != step.want {
				t.Errorf("on_timeout %q: %d holds ended, %v; want %d", on, n, err, step.want)
			}
		}
		r.want(want)
		facts, err := r.Jobs.Facts(r.ctx, r.ids[0])
		r.must(err)
		if c := facts.Classifications; len(c) != 1 || c[0].Author != hold.AuthorDeadline || c[0].Reason != "no user classified it within 2h" {
			t.Errorf("classifications: %+v", c)
		}
		r.sound(check.Witness{})
	}
}

func TestHoldDeadlineAfterAllRetries(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.setPolicy(workflow.RunPolicy{ClassifyTimeout: &workflow.HoldLimit{After: "1h", OnTimeout: workflow.ActionRetry}})
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, r.workflow)
	})
	h := r.hand("n1", 1)
	for range workflow.ClassifiedRetryLimit + 1 {
		h.fails(1)
		r.now = r.now.Add(time.Hour)
		_, err := r.Holds.Expire(r.ctx)
		r.must(err)
	}
	r.want(workflow.Failed)
	facts, err := r.Jobs.Facts(r.ctx, r.ids[0])
	r.must(err)
	const want = "no user classified it within 1h, and classifications have granted all 3 retries of this job"
	if c := facts.Classifications; c[len(c)-1].Reason != want {
		t.Errorf("the last classification: %s, want %s", c[len(c)-1].Reason, want)
	}
}

// Where no retries are allowed no deadline grants one, but a person does.
func TestHoldDeadlineWithoutRetries(t *testing.T) {
	r := newRig(t, independent(2)...)
	r.setPolicy(workflow.RunPolicy{GlobalMaxRetries: new(int64), ClassifyTimeout: &workflow.HoldLimit{After: "1h", OnTimeout: workflow.ActionRetry}})
	r.do(func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET use_pending_failed = 1 WHERE id = ?`, r.workflow)
	})
	r.failAll(r.hand("n1", 2))
	_, err := r.Holds.Resolve(r.ctx, r.workflow, HoldSelection{JobIDs: r.ids[1:]}, hold.Classification{Status: workflow.Ready, Author: "ann", Reason: "it is mended"}, ResolveOptions{})
	r.must(err)
	r.now = r.now.Add(time.Hour)
	_, err = r.Holds.Expire(r.ctx)
	r.must(err)
	r.want(workflow.Failed, workflow.Ready)
	facts, err := r.Jobs.Facts(r.ctx, r.ids[0])
	r.must(err)
	if c := facts.Classifications; len(c) != 1 || c[0].Reason != "no user classified it within 1h, and no retries are allowed (global_max_retries)" {
		t.Errorf("classifications: %+v", c)
	}
}

// The nearest limit counts: that of the rule, of its policy, of the workflow, or of the
// site.
func TestNearestHoldLimit(t *testing.T) {
	const own = `"classify_timeout": {"after": "4h"}, `
	site := workflow.HoldLimitSource{Limit: &workflow.HoldLimit{After: "1h", OnTimeout: workflow.ActionRetry}, Of: "site x"}
	for name, tc := range map[string]struct {
		policy    string
		hours     int
		of        string
		onTimeout workflow.Action
	}{
		"rule": {`{` + own + `"retry_policies": [{"name": "p", "classify_timeout": {"after": "3h"}, "rules": [
			{"id": "r", "when": {}, "action": "hold", "classify_timeout": {"after": "2h", "on_timeout": "retry"}}]}]}`, 2, "rule p/r", workflow.ActionRetry},
		"policy": {`{` + own + `"retry_policies": [{"name": "p", "classify_timeout": {"after": "3h"}, "rules": [
			{"id": "r", "when": {}, "action": "hold"}]}]}`, 3, "rule p/r", workflow.ActionFail},
		"default action": {`{` + own + `"retry_policies": [{"name": "p", "classify_timeout": {"after": "3h"}, "default_action": "hold"}]}`, 3, "rule p/default_action", workflow.ActionFail},
		"workflow":       {`{` + own + `"retry_policies": [{"name": "p", "default_action": "hold"}]}`, 4, "the workflow", workflow.ActionFail},
		"site":           {`{"retry_policies": [{"name": "p", "default_action": "hold"}]}`, 1, "site x", workflow.ActionRetry},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, independent(1)...)
			r.shared.HoldLimit = func() workflow.HoldLimitSource { return site }
			r.usePolicies(tc.policy)
			r.hand("n1", 1).fails(1)
			held, err := r.Holds.List(r.ctx, r.workflow)
			r.must(err)
			h := held[0].Hold
			if h.DeadlineMS == nil || *h.DeadlineMS-h.SinceMS != int64(tc.hours)*time.Hour.Milliseconds() || h.DeadlineOf != tc.of || h.OnTimeout != tc.onTimeout {
				t.Errorf("hold: %+v", h)
			}
		})
	}
}

// A job that is held because its recovery script failed has the limit of the rule that
// ordered the script.
func TestHoldLimitAfterARecoveryScript(t *testing.T) {
	r := newRig(t, independent(1)...)
	r.usePolicies(`{"retry_policies": [{"name": "p", "rules": [{"id": "r", "when": {"exit_code": {"in": [75]}}, "action": "retry",
		"recovery_script": "./fix", "on_recovery_error": "hold", "classify_timeout": {"after": "2h"}}]}]}`)
	r.hand("n1", 1).failsToRecover(workflow.Evidence{ExitCode: new(int64(1))})
	held, err := r.Holds.List(r.ctx, r.workflow)
	r.must(err)
	if len(held) != 1 || held[0].Hold.DeadlineMS == nil || held[0].Hold.DeadlineOf != "rule p/r" {
		t.Errorf("held: %+v", held)
	}
}
