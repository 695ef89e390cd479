package check

// claimHoldRules find inconsistent claim holds, and jobs that were claimed in spite of one.
var claimHoldRules = []rule{
	{"hold", `SELECT 'hold of claims ' || h.id, 'it is of run ' || h.run_id || ' and has not ended, but the workflow is at run ' || w.run_id
		FROM claim_hold h JOIN workflow w ON w.id = h.workflow_id WHERE h.ended_ms = 0 AND h.run_id != w.run_id`},
	{"hold", `SELECT 'hold of claims ' || id, 'it ended ' || (since_ms - ended_ms) || ' ms before it began'
		FROM claim_hold WHERE ended_ms != 0 AND ended_ms < since_ms`},
	{"hold", `SELECT 'job ' || j.id, 'it was claimed ' || (j.claimed_ms - h.since_ms) || ' ms after hold of claims ' || h.id || ' began, which has not ended'
		FROM claim_hold h JOIN job j ON j.workflow_id = h.workflow_id WHERE h.ended_ms = 0 AND j.status IN {live} AND j.claimed_ms > h.since_ms
			AND j.compute_node_id IS NOT NULL -- an operator may say that a job runs
			AND (j.stage_id IS NULL OR j.stage_id NOT IN (SELECT s.id FROM stage s WHERE s.workflow_id = h.workflow_id
				AND (s.kind = 'compensation' OR s.kind = 'end' AND s.parent_id IS NULL)))`},
	{"hold", `SELECT 'job ' || j.id, iif(j.user_hold IS NULL, 'no user holds it, but its claim class is held', 'a user holds it, but its claim class is not held')
		FROM job j JOIN claim_class c ON c.id = j.class_id WHERE (j.user_hold IS NOT NULL) != c.held`},
	{"hold", `SELECT 'claim class ' || id, 'it is ' || iif(held, '', 'not ') || 'held, and its labels are ' || labels
		FROM claim_class WHERE held != (labels LIKE '%,')`},
}
