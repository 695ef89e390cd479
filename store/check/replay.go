package check

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/failure"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// replayed is a recorded attempt with its decision.
type replayed struct {
	job, run, attempt int64
	status            workflow.JobStatus
	returnCode        int64
	cause             workflow.CauseKind
	evidence          sql.NullString
	decision          workflow.Decision
	execution         sql.NullString
	node              sql.NullString
	startMS, endMS    sql.NullInt64
}

// replay decides recorded attempts again: the same evidence, policies and history must give
// the recorded cause and decision.
func (c *checker) replay() error {
	sets, err := c.policySets()
	if err != nil {
		return err
	}
	var before []replayed // attempts of the same job and run
	return c.Each(`SELECT a.job_id, a.run_id, a.attempt_id, a.status, a.return_code, a.cause, a.evidence, a.action, a.rule, a.reason, a.counted, a.policy_hash,
			w.execution_config, a.hostname, a.start_ms, a.end_ms
		FROM attempt a JOIN workflow w ON w.id = a.workflow_id
		ORDER BY a.job_id, a.run_id, a.attempt_id`, func(r sqlite.Scanner) error {
		var a replayed
		d := &a.decision
		err := r.Scan(&a.job, &a.run, &a.attempt, &a.status, &a.returnCode, &a.cause, &a.evidence, &d.Action, &d.Rule, &d.Reason, &d.Counted, &d.PolicyHash,
			&a.execution, &a.node, &a.startMS, &a.endMS)
		if err != nil {
			return err
		}
		if len(before) > 0 && (before[0].job != a.job || before[0].run != a.run) {
			before = before[:0]
		}
		if promise, wrong := a.judge(before, sets); wrong != "" {
			c.found(promise, fmt.Sprintf("job %d", a.job), "attempt %d of run %d: %s", a.attempt, a.run, wrong)
		}
		before = append(before, a)
		return nil
	})
}

// judge returns what contradicts the evidence, and which guarantee that breaks; "" if
// nothing does.
func (a *replayed) judge(before []replayed, sets policySets) (promise, wrong string) {
	cause, e, wrong := a.judgeCause()
	if wrong != "" || e == nil {
		return "P16", wrong
	}
	p := &retry.Policies{} // not needed for what was preempted or never started
	if hash := a.decision.PolicyHash; hash != "" {
		var known bool
		if p, known = sets[hash]; !known {
			return "P16", "the policies " + hash + " of the decision are missing"
		}
		if p == nil { // which was reported with the policies
			return "", ""
		}
	}
	if a.decision.Counted && cause.PreemptedOrDrained() && !retry.UsesBudget(p, a.decision.Rule) {
		return "P8", fmt.Sprintf("was %s and used budget", a.cause)
	}
	failure := a.failure(cause, e)
	var d workflow.Decision
	for _, h := range histories(a.attempt, before) {
		for _, h.WorkflowRetries = range retriesOfOthers(p) {
			d = retry.Decide(retry.Facts{Policies: *p, History: h, Failure: failure, Breakers: a.breakers(), Doom: a.doom()}).Decision
			if d.Action == a.decision.Action && d.Rule == a.decision.Rule && d.Counted == a.decision.Counted {
				return "", ""
			}
		}
	}
	return "P16", fmt.Sprintf("the decision was %s by rule %q, but the policies give %s by rule %q", a.decision.Action, a.decision.Rule, d.Action, d.Rule)
}

// doom returns why the job ended whatever the rules said; the zero value if they decided,
// or nothing had to be decided.
func (a *replayed) doom() (none retry.Doom) {
	if a.decision.Action == workflow.ActionFail && a.decision.Rule == "" && a.decision.PolicyHash == "" {
		return retry.Doom{Reason: a.decision.Reason}
	}
	return none
}

// breakers returns the breaker that decided, if one did: it was open for such failures.
func (a *replayed) breakers() []workflow.BreakerTrip {
	name, is := strings.CutPrefix(a.decision.Rule, workflow.RuleBreaker)
	if !is {
		return nil
	}
	return []workflow.BreakerTrip{{Breaker: name, Per: workflow.PerWorkflow, Action: workflow.BreakerHold}}
}

// failure returns the attempt as the rules saw it.
func (a *replayed) failure(c workflow.Cause, e *workflow.Evidence) workflow.Failure {
	f := workflow.Failure{Cause: c, Evidence: *e, Node: a.node.String}
	if a.startMS.Valid {
		f.Elapsed = time.Duration(a.endMS.Int64-a.startMS.Int64) * time.Millisecond
	}
	return f
}

// judgeCause classifies the evidence again. The evidence is nil if a torc client decided.
func (a *replayed) judgeCause() (cause workflow.Cause, e *workflow.Evidence, wrong string) {
	if !a.evidence.Valid {
		if a.decision.Retries() && a.decision.Rule != workflow.RuleClient {
			return cause, nil, fmt.Sprintf("the decision was %s without evidence", a.decision.Action)
		}
		return cause, nil, ""
	}
	e = &workflow.Evidence{}
	if err := json.Unmarshal([]byte(a.evidence.String), e); err != nil {
		return cause, nil, fmt.Sprintf("its evidence cannot be read: %v", err)
	}
	cause = failure.Classify(*e, a.codes(), nil)
	if a.cause == workflow.CauseCanceledUser && !cause.ByPause { // its lease may have been voided before it ended
		cause = failure.ClassifyCanceled(a.decision.Reason, *e)
	}
	plain := failure.Classify(*e, workflow.ReturnCodes{}, nil) // as it was before the return codes were set
	if cause.Kind != a.cause || cause.Status != a.status || cause.ReturnCode != a.returnCode && plain.ReturnCode != a.returnCode {
		return cause, nil, fmt.Sprintf("recorded as %s (%s, return code %d), the evidence says %s (%s, %d)",
			a.cause, a.status, a.returnCode, cause.Kind, cause.Status, cause.ReturnCode)
	}
	cause.ReturnCode = a.returnCode
	return cause, e, ""
}

// histories returns the possible histories of a decision. A reset during a run restarts the
// count. Failed attempts, also the last one of an earlier run, may have been retried by
// people or torc's clients, which counts.
func histories(attempt int64, before []replayed) []workflow.History {
	var all []workflow.History
	for first := range len(before) + 1 {
		h := workflow.History{AttemptID: attempt}
		var failed int64
		for _, b := range before[first:] {
			if h = h.After(b.decision); !b.decision.Retries() {
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

// codes returns the return codes of the workflow.
func (a *replayed) codes() workflow.ReturnCodes {
	codes, err := row.ReturnCodes(a.execution)
	if err != nil {
		return workflow.ReturnCodes{}
	}
	return codes
}

// retriesOfOthers returns numbers of retries in the run below and above the limit: budgets
// depend on the sum, and the order in which jobs ended is not recorded.
func retriesOfOthers(p *retry.Policies) []int64 {
	if p.MaxRetriesTotal == nil {
		return []int64{0}
	}
	return []int64{0, *p.MaxRetriesTotal}
}
