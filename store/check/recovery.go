package check

import (
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// replayRecoveries decides failed recovery scripts again: the same evidence, policies and
// history must give the recorded decision.
func (c *checker) replayRecoveries() error {
	sets, err := c.policySets()
	if err != nil {
		return err
	}
	var job int64
	passed := map[string]int64{} // retries of the job that each rule has granted
	return c.Each(`SELECT job_id, run_id, attempt_id, hostname, start_ms, end_ms, return_code, cause, evidence, on_error, action, rule, policy_hash
		FROM failed_recovery ORDER BY job_id, run_id, attempt_id`, func(r sqlite.Scanner) error {
		var a replayed
		var onError workflow.Action
		d := &a.decision
		err := r.Scan(&a.job, &a.run, &a.attempt, &a.node, &a.startMS, &a.endMS, &a.returnCode, &a.cause, &a.evidence, &onError,
			&d.Action, &d.Rule, &d.PolicyHash)
		if err != nil {
			return err
		}
		if a.job != job {
			job = a.job
			clear(passed)
		}
		if wrong := a.judgeRecovery(onError, passed[d.Rule], sets); wrong != "" {
			c.found("P16", fmt.Sprintf("job %d", a.job), "the recovery script after attempt %d of run %d: %s", a.attempt, a.run, wrong)
		}
		if d.Retries() {
			passed[d.Rule]++
		}
		return nil
	})
}

// judgeRecovery returns what contradicts the evidence of a failed recovery script; "" if
// nothing does. A new run and a reset restart the count, so that any number of earlier
// retries may have counted.
func (a *replayed) judgeRecovery(onError workflow.Action, passed int64, sets policySets) string {
	var e workflow.Evidence
	if err := json.Unmarshal([]byte(a.evidence.String), &e); err != nil {
		return fmt.Sprintf("its evidence cannot be read: %v", err)
	}
	cause := failure.Classify(e, workflow.ReturnCodes{}, nil)
	if cause.Kind != a.cause || cause.ReturnCode != a.returnCode {
		return fmt.Sprintf("recorded as %s (return code %d), the evidence says %s (%d)", a.cause, a.returnCode, cause.Kind, cause.ReturnCode)
	}
	p, known := sets[a.decision.PolicyHash]
	switch {
	case !known:
		return "the policies " + a.decision.PolicyHash + " of the decision are missing"
	case p == nil: // which was reported with the policies
		return ""
	}
	var d workflow.Decision
	for n := range passed + 1 {
		h := workflow.History{AttemptID: a.attempt, Rules: map[string]workflow.RuleCount{a.decision.Rule: {Free: n}}}
		d = retry.Decide(retry.Facts{Policies: *p, History: h, Failure: a.failure(cause, &e), Script: &retry.ScriptEnd{Failed: true, OnError: onError}}).Decision
		if d.Action == a.decision.Action && d.Rule == a.decision.Rule {
			return ""
		}
	}
	return fmt.Sprintf("the decision was %s by rule %q, but the policies give %s by rule %q", a.decision.Action, a.decision.Rule, d.Action, d.Rule)
}
