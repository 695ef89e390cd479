package check

import (
	"database/sql"
	"fmt"
	"math"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/retry"
)

// clockSlack is how many ms the clocks of runner and daemon may differ before a start
// counts as too early.
const clockSlack = 2000

// budgetRules check granted retries.
var budgetRules = []rule{
	{"P7", fmt.Sprintf(`SELECT 'job ' || a.job_id, 'attempt ' || a.attempt_id || ' of run ' || a.run_id || ' started '
			|| (json_extract(e.data, '$.not_before_ms') - a.start_ms) || ' ms before its delay was over'
		FROM event e JOIN attempt a ON a.job_id = json_extract(e.data, '$.job_id') AND a.run_id = json_extract(e.data, '$.run_id')
			AND a.attempt_id = COALESCE(json_extract(e.data, '$.new_attempt'), json_extract(e.data, '$.attempt_id') + 1)
		WHERE e.type IN ('job_retried', 'job_recovered') AND a.start_ms + %[1]d < json_extract(e.data, '$.not_before_ms')
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = e.workflow_id AND x.seq > e.seq AND x.type = 'job_settled'
				AND json_extract(x.data, '$.job_id') = a.job_id AND json_extract(x.data, '$.attempt_id') = a.attempt_id - 1
				AND a.start_ms + %[1]d >= json_extract(x.data, '$.not_before_ms'))
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = e.workflow_id AND x.seq > e.seq AND x.type = 'loss_superseded'
				AND json_extract(x.data, '$.job_id') = a.job_id AND json_extract(x.data, '$.attempt_id') = a.attempt_id - 1)
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = e.workflow_id AND x.seq > e.seq
				AND x.type IN ('user_action', 'workflow_started', 'workflow_reinitialized'))
			-- nor if its sub-workflow has begun anew since, as an operator may have it
			AND NOT EXISTS (SELECT 1 FROM event x JOIN job p ON p.id = json_extract(x.data, '$.job_id') JOIN job j ON j.id = a.job_id
				WHERE x.workflow_id = e.workflow_id AND x.seq > e.seq AND x.type = 'stage_started' AND p.child_id = j.stage_id)`, clockSlack)},
	{"P7", `SELECT 'workflow ' || w.id, 'run ' || c.run_id || ' used ' || SUM(c.counted) || ' counted retries, max_retries_total is '
			|| json_extract(w.policy, '$.max_retries_total')
		FROM cause_count c JOIN workflow w ON w.id = c.workflow_id WHERE json_extract(w.policy, '$.max_retries_total') IS NOT NULL
		GROUP BY w.id, c.run_id HAVING SUM(c.counted) > json_extract(w.policy, '$.max_retries_total')`},
}

// budgets compares the counted retries of jobs with the limits of the rules and with the
// retried attempts.
func (c *checker) budgets() error {
	granted, err := c.grantedRetries()
	if err != nil {
		return err
	}
	limits, err := c.limits()
	if err != nil {
		return err
	}
	return c.Each(`SELECT id, rule_counts, counted_failures FROM job WHERE rule_counts IS NOT NULL ORDER BY id`, func(r sqlite.Scanner) error {
		var job, counted int64
		var text sql.NullString
		if err := r.Scan(&job, &text, &counted); err != nil {
			return err
		}
		counts, err := row.ReadRuleCounts(text)
		if err != nil {
			c.found("P7", fmt.Sprintf("job %d", job), "%v", err)
			return nil
		}
		c.budget(job, counted, counts, granted[job], limits[job])
		return nil
	})
}

// limits returns the policies that decided about the attempts of each job in its
// current run. The limit of a rule may have changed between attempts.
func (c *checker) limits() (map[int64][]*retry.Policies, error) {
	sets, err := c.policySets()
	if err != nil {
		return nil, err
	}
	limits := map[int64][]*retry.Policies{}
	err = c.Each(`SELECT DISTINCT a.job_id, a.policy_hash FROM (SELECT job_id, workflow_id, run_id, policy_hash FROM attempt
			UNION ALL SELECT job_id, workflow_id, run_id, policy_hash FROM failed_recovery) a
		JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id WHERE a.policy_hash != ''`, func(r sqlite.Scanner) error {
		var job int64
		var hash string
		if err := r.Scan(&job, &hash); err != nil {
			return err
		}
		if p := sets[hash]; p != nil {
			limits[job] = append(limits[job], p)
		}
		return nil
	})
	return limits, err
}

// grantedRetries counts the attempts of each job's current run that each rule retried,
// also in spite of a failed recovery script.
func (c *checker) grantedRetries() (map[int64]map[string]workflow.RuleCount, error) {
	granted := map[int64]map[string]workflow.RuleCount{}
	err := c.Each(`SELECT a.job_id, a.rule, SUM(a.counted), SUM(1 - a.counted)
		FROM (SELECT job_id, workflow_id, run_id, rule, counted FROM attempt WHERE action IN ('retry', 'recover')
			UNION ALL SELECT job_id, workflow_id, run_id, rule, 0 FROM failed_recovery WHERE action = 'retry' AND rule != '') a
		JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id GROUP BY a.job_id, a.rule`, func(r sqlite.Scanner) error {
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

// budget checks one job. More attempts may have been retried than are counted, since a
// reset restarts the count, and people and torc's clients can retry failed attempts.
func (c *checker) budget(job, counted int64, counts, granted map[string]workflow.RuleCount, limits []*retry.Policies) {
	subject := fmt.Sprintf("job %d", job)
	var sum int64
	for id, n := range counts {
		sum += n.Counted
		limit := ruleLimit(id, limits)
		if n.Counted > limit.Counted || n.Free > limit.Free {
			c.found("P7", subject, "rule %s has granted %d counted and %d free retries, its limits are %d and %d",
				id, n.Counted, n.Free, limit.Counted, limit.Free)
			return
		}
		if id != workflow.RuleClassified && id != workflow.RuleClient && (n.Counted > granted[id].Counted || n.Free > granted[id].Free) {
			c.found("P7", subject, "rule %s counts %d counted and %d free retries, there were %d and %d",
				id, n.Counted, n.Free, granted[id].Counted, granted[id].Free)
			return
		}
	}
	if counted < sum {
		c.found("P7", subject, "%d retries count, its rules granted %d", counted, sum)
	}
}

// ruleLimit returns how many retries a rule may have granted, by the most generous of
// the policies. A rule in none of them has no limit: there was a reset during the run.
func ruleLimit(id string, all []*retry.Policies) workflow.RuleCount {
	var limit workflow.RuleCount
	found := false
	for _, p := range append(all, &retry.Policies{}) {
		if l, known := retry.RuleLimit(p, id); known {
			found = true
			limit = workflow.RuleCount{Counted: max(limit.Counted, l.Counted), Free: max(limit.Free, l.Free)}
		}
	}
	if !found {
		return workflow.RuleCount{Counted: math.MaxInt64, Free: math.MaxInt64}
	}
	return limit
}
