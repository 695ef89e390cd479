package check

// compensationRules compare compensations with their jobs, their events, and the verdicts
// that started them.
var compensationRules = []rule{
	{"P11", `SELECT 'workflow ' || c.workflow_id, 'run ' || c.run_id || ' was undone after a verdict that does not exist'
		FROM compensation c LEFT JOIN verdict v ON v.workflow_id = c.workflow_id AND v.run_id = c.run_id AND v.generation = c.generation AND v.type = c.verdict
		WHERE v.workflow_id IS NULL AND c.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	{"P11", `SELECT 'workflow ' || COALESCE(c.workflow_id, e.workflow_id), COALESCE(e.n, 0) || ' events and ' || COALESCE(c.n, 0) || ' compensations of run '
			|| COALESCE(c.run_id, e.run_id)
		FROM (SELECT workflow_id, run_id, 1 AS n FROM compensation) c
		FULL JOIN (SELECT workflow_id, json_extract(data, '$.run_id') AS run_id, COUNT(*) AS n FROM event WHERE type = 'compensation_started' GROUP BY 1, 2) e
			ON e.workflow_id = c.workflow_id AND e.run_id = c.run_id
		WHERE COALESCE(e.n, 0) != COALESCE(c.n, 0)
			AND COALESCE(c.workflow_id, e.workflow_id) NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)
			AND NOT EXISTS (SELECT 1 FROM event x WHERE x.workflow_id = COALESCE(c.workflow_id, e.workflow_id) AND x.is_deleted = 1)`},
	{"P11", `SELECT 'workflow ' || c.workflow_id, 'its compensation is ' || c.state || ', its stage ' || s.state
		FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.run_id = c.run_id AND w.is_hidden = 0
			JOIN stage s ON s.workflow_id = w.id AND s.kind = 'compensation'
		WHERE (c.state = 'running') != (s.state = 'running')`},
	{"P6", `SELECT 'job ' || j.id, 'it is of a compensation that is ' || COALESCE(c.state, 'not there') || ', and ready or live'
		FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN ({ready}, {pending}, {running}) JOIN workflow w ON w.id = s.workflow_id AND w.is_hidden = 0
			LEFT JOIN compensation c ON c.workflow_id = w.id AND c.run_id = w.run_id
		WHERE s.kind = 'compensation' AND COALESCE(c.state, '') != 'running'`},
	{"P11", `SELECT 'workflow ' || c.workflow_id, 'run ' || c.run_id || ' is still being undone, but the workflow is at run ' || w.run_id
		FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.is_hidden = 0 WHERE c.state IN ('waiting', 'running') AND c.run_id != w.run_id`},
	{"P11", `SELECT 'workflow ' || c.workflow_id, 'its compensation is running, but all jobs of it are complete'
		FROM compensation c JOIN workflow w ON w.id = c.workflow_id AND w.run_id = c.run_id AND w.is_hidden = 0
		WHERE c.state = 'running' AND NOT EXISTS (SELECT 1 FROM stage s JOIN job j ON j.stage_id = s.id AND j.status IN {open}
			WHERE s.workflow_id = w.id AND s.kind = 'compensation')`},
	{"P11", `SELECT 'job ' || j.id, 'it belongs to a compensation that is not running, but is not complete'
		FROM stage s JOIN workflow w ON w.id = s.workflow_id AND w.is_hidden = 0 JOIN job j ON j.stage_id = s.id AND j.status IN ({uninitialized}, {blocked}, {pending_failed})
		WHERE s.kind = 'compensation' AND NOT EXISTS (SELECT 1 FROM compensation c WHERE c.workflow_id = w.id AND c.run_id = w.run_id AND c.state IN ('waiting', 'running'))`},
	{"reference", `SELECT 'job ' || u.id, 'it undoes job ' || x.id || ', which belongs to another workflow'
		FROM job u JOIN job x ON x.id = u.undoes_id WHERE x.workflow_id != u.workflow_id`},
	{"P6", `SELECT 'job ' || u.id, 'it began at ' || a.start_ms || ' to undo job ' || x.id || ', before job ' || b.id || ' was undone, which ran behind that'
		FROM job u JOIN attempt a ON a.job_id = u.id JOIN job x ON x.id = u.undoes_id
			JOIN gate_dependency d ON d.gate_id = u.gate_id JOIN job b ON b.id = d.job_id JOIN attempt o ON o.job_id = b.id AND o.run_id = a.run_id
		WHERE a.start_ms < o.start_ms AND a.hostname IS o.hostname`},
}
