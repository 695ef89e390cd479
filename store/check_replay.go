package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// replayed is a recorded attempt with what was decided on.
type replayed struct {
	job, run, attempt int64
	status            workflow.JobStatus
	returnCode        int64
	cause             workflow.CauseKind
	evidence          sql.NullString
	decision          workflow.Decision
	handler           sql.NullString // the name of the job's failure handler
	rules             sql.NullString
	hold              bool
	execution         sql.NullString
	node              sql.NullString
	startMS, endMS    sql.NullInt64
}

// replay judges recorded evidence once more: the same evidence, policies and
// history must give the recorded cause and decision.
func (c *checker) replay() error {
	var before []replayed // attempts of the same job and run
	return c.each(`SELECT a.job_id, a.run_id, a.attempt_id, a.status, a.return_code, a.cause, a.evidence, a.action, a.rule, a.counted, a.policy_hash,
			h.name, h.rules, COALESCE(w.use_pending_failed, 0), w.execution_config, a.hostname, a.start_ms, a.end_ms
		FROM attempt a JOIN job j ON j.id = a.job_id JOIN workflow w ON w.id = a.workflow_id LEFT JOIN failure_handler h ON h.id = j.failure_handler_id
		ORDER BY a.job_id, a.run_id, a.attempt_id`, func(r rowScanner) error {
		var a replayed
		d := &a.decision
		err := r.Scan(&a.job, &a.run, &a.attempt, &a.status, &a.returnCode, &a.cause, &a.evidence, &d.Action, &d.Rule, &d.Counted, &d.PolicyHash,
			&a.handler, &a.rules, &a.hold, &a.execution, &a.node, &a.startMS, &a.endMS)
		if err != nil {
			return err
		}
		if len(before) > 0 && (before[0].job != a.job || before[0].run != a.run) {
			before = before[:0]
		}
		if wrong := a.judge(before); wrong != "" {
			c.found("P16", fmt.Sprintf("job %d", a.job), "attempt %d of run %d: %s", a.attempt, a.run, wrong)
		}
		before = append(before, a)
		return nil
	})
}

// judge says what does not follow from the evidence; "" if all does.
func (a *replayed) judge(before []replayed) string {
	if !a.evidence.Valid { // a torc client decides itself
		if a.decision.Retries() && a.decision.Rule != ruleClient {
			return fmt.Sprintf("it was decided to %s without evidence", a.decision.Action)
		}
		return ""
	}
	var e workflow.Evidence
	if err := json.Unmarshal([]byte(a.evidence.String), &e); err != nil {
		return fmt.Sprintf("its evidence cannot be read: %v", err)
	}
	cause := workflow.Classify(e, a.codes(), nil)
	if a.cause == workflow.CauseCanceledUser { // its lease may have been taken away before it ended
		cause = workflow.ClassifyCanceled(e)
	}
	plain := workflow.Classify(e, workflow.ReturnCodes{}, nil) // of a time before the codes were set
	if cause.Kind != a.cause || cause.Status != a.status || cause.ReturnCode != a.returnCode && plain.ReturnCode != a.returnCode {
		return fmt.Sprintf("recorded as %s (%s, return code %d), the evidence says %s (%s, %d)",
			a.cause, a.status, a.returnCode, cause.Kind, cause.Status, cause.ReturnCode)
	}
	cause.ReturnCode = a.returnCode
	p := a.policies()
	if a.decision.PolicyHash != "" && a.decision.PolicyHash != p.Hash() {
		return "" // made by other policies
	}
	failure := workflow.Failure{Cause: cause, Evidence: e, Node: a.node.String}
	if a.startMS.Valid {
		failure.Elapsed = time.Duration(a.endMS.Int64-a.startMS.Int64) * time.Millisecond
	}
	var d workflow.Decision
	for _, h := range histories(a.attempt, before) {
		d = workflow.Decide(p, h, failure)
		if d.Action == a.decision.Action && d.Rule == a.decision.Rule && d.Counted == a.decision.Counted {
			return ""
		}
	}
	return fmt.Sprintf("it was decided to %s by rule %q, the policies say %s by rule %q", a.decision.Action, a.decision.Rule, d.Action, d.Rule)
}

// histories are what a decision may have rested on. A reset in the middle of a
// run begins to count anew; attempts that had failed, the last one of an earlier
// run too, may have been retried by people or torc's clients, which counts.
func histories(attempt int64, before []replayed) []workflow.History {
	var all []workflow.History
	for first := range len(before) + 1 {
		h := workflow.History{AttemptID: attempt}
		var failed int64
		for _, b := range before[first:] {
			if h = h.Grant(b.decision); !b.decision.Retries() {
				failed++
			}
		}
		for range failed + 2 {
			all = append(all, h)
			h.CountedFails++
		}
	}
	return all
}

// codes are the return codes that the workflow sets.
func (a *replayed) codes() workflow.ReturnCodes {
	codes, err := (&run{execution: a.execution}).returnCodes()
	if err != nil {
		return workflow.ReturnCodes{}
	}
	return codes
}

// policies are those that apply to the job now.
func (a *replayed) policies() workflow.Policies {
	p := workflow.Policies{UsePendingFailed: a.hold, Default: workflow.DefaultPolicy()}
	if a.rules.Valid {
		h := workflow.FailureHandler{Name: a.handler.String, Rules: a.rules.String}
		if d, err := h.Definition(); err == nil {
			p.Handler = d
		}
	}
	return p
}
