package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// clockSlack is by how many ms the clocks of a runner and of the daemon may
// differ before a start counts as too early.
const clockSlack = 2000

// budgetRules look at retries that have been granted.
var budgetRules = []rule{
	{"P7", fmt.Sprintf(`SELECT 'job ' || a.job_id, 'attempt ' || a.attempt_id || ' of run ' || a.run_id || ' started '
			|| (json_extract(e.data, '$.not_before_ms') - a.start_ms) || ' ms before its delay was over'
		FROM event e JOIN attempt a ON a.job_id = json_extract(e.data, '$.job_id') AND a.run_id = json_extract(e.data, '$.run_id')
			AND a.attempt_id = json_extract(e.data, '$.new_attempt')
		WHERE e.type = 'job_retried' AND a.start_ms + %d < json_extract(e.data, '$.not_before_ms')
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = e.workflow_id AND x.seq > e.seq
				AND x.type IN ('user_action', 'workflow_started', 'workflow_reinitialized'))`, clockSlack)},
	{"P8", `SELECT 'job ' || job_id, 'attempt ' || attempt_id || ' of run ' || run_id || ' was ' || cause || ' and used budget' FROM attempt
		WHERE counted = 1 AND (cause = 'preempted' OR cause = 'walltime' AND json_extract(evidence, '$.killed_by') = 'drain')`},
}

// budgets compares the retries that count for jobs with what the rules allow
// and with the attempts that were retried.
func (c *checker) budgets() error {
	granted, err := c.grantedRetries()
	if err != nil {
		return err
	}
	return c.each(`SELECT j.id, j.rule_counts, j.counted_failures, h.id, h.workflow_id, h.name, h.rules FROM job j
		LEFT JOIN failure_handler h ON h.id = j.failure_handler_id WHERE j.rule_counts IS NOT NULL ORDER BY j.id`, func(r rowScanner) error {
		var job, counted int64
		var text string
		var handlerID, workflowID sql.NullInt64
		var name, rules sql.NullString
		if err := r.Scan(&job, &text, &counted, &handlerID, &workflowID, &name, &rules); err != nil {
			return err
		}
		var counts map[string]workflow.RuleCount
		if err := json.Unmarshal([]byte(text), &counts); err != nil {
			c.found("P7", fmt.Sprintf("job %d", job), "its retries cannot be read: %v", err)
			return nil
		}
		handler := workflow.FailureHandler{Name: name.String, Rules: rules.String}
		c.budget(job, counted, counts, granted[job], &handler)
		return nil
	})
}

// grantedRetries counts for each job the attempts of its current run that each
// rule retried.
func (c *checker) grantedRetries() (map[int64]map[string]workflow.RuleCount, error) {
	granted := map[int64]map[string]workflow.RuleCount{}
	err := c.each(`SELECT a.job_id, a.rule, SUM(a.counted), SUM(1 - a.counted) FROM attempt a JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id
		WHERE a.action IN ('retry', 'recover') GROUP BY a.job_id, a.rule`, func(r rowScanner) error {
		var job int64
		var rule string
		var n workflow.RuleCount
		if err := r.Scan(&job, &rule, &n.Counted, &n.Free); err != nil {
			return err
		}
		if granted[job] == nil {
			granted[job] = map[string]workflow.RuleCount{}
		}
		granted[job][rule] = n
		return nil
	})
	return granted, err
}

// budget looks at one job. A reset begins to count anew, so that there may be
// more retried attempts than count; and people and torc's clients have attempts
// retried that were recorded as failed.
func (c *checker) budget(job, counted int64, counts, granted map[string]workflow.RuleCount, h *workflow.FailureHandler) {
	subject := fmt.Sprintf("job %d", job)
	var sum int64
	for id, n := range counts {
		sum += n.Counted
		limit := ruleLimit(id, h)
		if n.Counted > limit.Counted || n.Free > limit.Free {
			c.found("P7", subject, "rule %s has granted %d counted and %d free retries, its limits are %d and %d",
				id, n.Counted, n.Free, limit.Counted, limit.Free)
			return
		}
		if id != workflow.RuleClassified && id != ruleClient && (n.Counted > granted[id].Counted || n.Free > granted[id].Free) {
			c.found("P7", subject, "rule %s counts %d counted and %d free retries, there were %d and %d",
				id, n.Counted, n.Free, granted[id].Counted, granted[id].Free)
			return
		}
	}
	if counted < sum {
		c.found("P7", subject, "%d retries count, its rules granted %d", counted, sum)
	}
}

// ruleLimit returns how many retries a rule may grant; there is no bound for one
// that is not known any more.
func ruleLimit(id string, h *workflow.FailureHandler) workflow.RuleCount {
	p := workflow.Policies{Default: workflow.DefaultPolicy()}
	if d, err := h.Definition(); err == nil {
		p.Handler = d
	}
	limit, known := p.RuleLimit(id)
	if !known {
		return workflow.RuleCount{Counted: math.MaxInt64, Free: math.MaxInt64}
	}
	return limit
}
