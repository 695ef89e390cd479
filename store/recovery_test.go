package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/explain"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// scripted is a workflow with a job that is repaired and retried twice, and rules about
// its script.
func scripted(t *testing.T) (*rig, *hand) {
	r := newRig(t, independent(1)...)
	r.usePolicies(`{"retry_policies": [{"name": "p", "rules": [
		{"id": "busy", "when": {"exit_code": {"in": [75]}}, "action": "retry", "limit": 2, "recovery_script": "./fix", "on_recovery_error": "fail"},
		{"id": "slow", "when": {"component": "recovery", "cause": ["timeout", "lost"]}, "action": "retry", "max_free": 1,
			"backoff": {"kind": "fixed", "initial": "1m"}, "avoid_nodes": {"mode": "last"}},
		{"id": "full", "when": {"component": "recovery", "stderr": "No space"}, "action": "hold"}]}]}`)
	return r, r.hand("n1", 1)
}

// failsToRecover has the next attempt fail, and its script too.
func (h *hand) failsToRecover(e workflow.Evidence) {
	h.tb.Helper()
	h.turn()
	ref := h.held[0].LeaseRef
	free := h.free
	h.free.Slots = 0
	now := h.now.UnixMilli()
	h.turn(lease.Report{LeaseRef: ref, StartedMS: now, EndedMS: now, Evidence: workflow.Evidence{ExitCode: new(int64(75))}})
	h.say(lease.TurnRequest{Recovered: []lease.Recovered{{LeaseRef: ref, ReturnCode: 1, Error: "it is said here", StartedMS: now, EndedMS: now + 1, Evidence: &e}}})
	h.free = free
}

// A rule grants a retry although the script failed: later, elsewhere, uncounted, and
// limited in number. That is recorded, and explained.
func TestRulesAboutRecoveryScripts(t *testing.T) {
	r, h := scripted(t)
	slow := workflow.Evidence{KilledBy: workflow.KilledByTimeout, Signal: 15}
	h.failsToRecover(slow)
	r.want(workflow.Ready)
	job, err := r.Jobs.Get(r.ctx, r.ids[0])
	r.must(err)
	if want := map[string]workflow.RuleCount{"p/busy": {Counted: 1}, "p/slow": {Free: 1}}; !cmp.Equal(want, job.Retries) {
		t.Errorf("counted: %+v", job.Retries)
	}
	if job.NotBeforeMS == nil || *job.NotBeforeMS != r.now.Add(time.Minute).UnixMilli() || len(job.AvoidNodes) != 1 || job.AvoidNodes[0].Node != "n1" {
		t.Errorf("not before %v, avoids %v", job.NotBeforeMS, job.AvoidNodes)
	}
	r.now = r.now.Add(time.Minute)
	r.hand("n2", 1).failsToRecover(slow)
	r.want(workflow.Failed)
	facts, err := r.Jobs.Facts(context.Background(), r.ids[0])
	r.must(err)
	text := explain.Job(facts).String()
	for _, want := range []string{
		"its recovery script: timeout: ", "-> retry: its recovery script failed: it is said here; rule p/slow: timeout of the recovery script, free retry 1 of 1",
		"-> fail: its recovery script failed: it is said here; rule p/slow: timeout of the recovery script, all 1 free retry used",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not said: %s\n%s", want, text)
		}
	}
	r.sound(check.Witness{})
}

func TestAFailedRecoveryScriptIsHeld(t *testing.T) {
	r, h := scripted(t)
	h.failsToRecover(workflow.Evidence{ExitCode: new(int64(1)), StderrTail: "cp: No space left on device"})
	r.want(workflow.PendingFailed)
	if got := r.number(`SELECT COUNT(*) FROM failed_recovery WHERE action = 'hold' AND rule = 'p/full' AND on_error = 'fail'`); got != 1 {
		t.Errorf("%d records", got)
	}
	r.sound(check.Witness{})
}

// Without a rule, on_recovery_error decides; a runner that dies during the script is a
// failure of the script.
func TestRecoveryScriptsWithoutARule(t *testing.T) {
	r, h := scripted(t)
	h.failsToRecover(workflow.Evidence{ExitCode: new(int64(3))})
	r.want(workflow.Failed)
	r, h = scripted(t)
	h.turn()
	h.free.Slots = 0
	h.turn(exited(h.held[0].LeaseRef, 75))
	r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
	r.want(workflow.Ready)
	r.sound(check.Witness{})
}

// A run that was started by force while a script runs is not the run of the script's
// attempt.
func TestRecoveryScriptOfARunThatIsOver(t *testing.T) {
	r, h := scripted(t)
	h.turn()
	h.free.Slots = 0
	h.turn(exited(h.held[0].LeaseRef, 75))
	_, err := r.Workflows.Reset(r.ctx, r.workflow, true, "ann")
	r.must(err)
	r.must(r.Runners.Expire(r.ctx, h.id, "silent"))
	r.want(workflow.Ready)
	if n := r.number(`SELECT COUNT(*) FROM failed_recovery`); n != 0 {
		t.Errorf("%d records of a run that is over", n)
	}
	r.sound(check.Witness{})
}

// The record of a failed script has to follow from its evidence.
func TestFailedRecoveriesAreReplayed(t *testing.T) {
	for spoil, want := range map[string]string{
		`UPDATE failed_recovery SET action = 'retry'`:      "P16",
		`UPDATE failed_recovery SET evidence = '{}'`:       "P16",
		`UPDATE failed_recovery SET policy_hash = 'other'`: "P16",
		`UPDATE failed_recovery SET attempt_id = 7`:        "reference",
	} {
		r, h := scripted(t)
		h.failsToRecover(workflow.Evidence{ExitCode: new(int64(1)), StderrTail: "No space"})
		r.do(func(tx *core.Tx) error { _, err := tx.Exec(spoil); return err })
		findings, err := check.Deep(r.ctx, r.Path(), check.Witness{})
		r.must(err)
		if len(findings) != 1 || findings[0].Promise != want {
			t.Errorf("%s: %v", spoil, findings)
		}
	}
}
