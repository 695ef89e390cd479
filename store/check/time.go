package check

// timeRules check since when jobs wait, and for what.
var timeRules = []rule{
	{"time", `SELECT 'job ' || id, 'it has been ready since ' || ready_ms || ', but has status ' || status FROM job WHERE ready_ms IS NOT NULL AND status != {ready}`},
	{"time", `SELECT 'job ' || j.id, 'it is ready and has timeouts, but it is not recorded since when'
		FROM job_policy p JOIN job j ON j.policy_id = p.id AND j.status = {ready} WHERE p.watched = 1 AND (j.ready_ms IS NULL OR j.first_ready_ms IS NULL)
			AND j.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	{"hold", `SELECT 'job ' || id, iif(status = {pending_failed}, 'it is held, but without a reason', 'it has status ' || status || ', but a reason why it is held')
		FROM job WHERE (status = {pending_failed}) != (hold IS NOT NULL)`},
}
