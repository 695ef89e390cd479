package check

// allocationRules check allocations, their runners, and the jobs in them.
var allocationRules = []rule{
	{"P9", `SELECT 'intent ' || a.intent_id, COUNT(DISTINCT a.slurm_job_id) || ' of its Slurm jobs were granted jobs'
		FROM allocation a JOIN compute_node n ON n.allocation_id = a.id GROUP BY a.intent_id HAVING COUNT(DISTINCT a.slurm_job_id) > 1`},
	{"P9", `SELECT 'allocation ' || a.id, 'it is a duplicate, but has runner ' || n.id || ''
		FROM allocation a JOIN compute_node n ON n.allocation_id = a.id WHERE a.is_duplicate = 1`},
	{"P9", `SELECT 'allocation ' || a.id, 'its Slurm job ' || a.slurm_job_id || ' was given to allocation ' || b.id || ' of another intent'
		FROM allocation a JOIN allocation b ON b.slurm_job_id = a.slurm_job_id AND b.cluster = a.cluster AND b.intent_id != a.intent_id
		WHERE a.state != 'ended' AND b.state != 'ended'`},
	{"P2", `SELECT 'allocation ' || a.id, 'it has ended, but runner ' || n.id || ' is active'
		FROM allocation a JOIN compute_node n ON n.allocation_id = a.id WHERE a.state = 'ended' AND n.is_active = 1`},
	{"P2", `SELECT 'allocation ' || a.id, 'it has ended, but job ' || j.id || ' is leased to it'
		FROM allocation a JOIN compute_node n ON n.allocation_id = a.id JOIN job j ON j.compute_node_id = n.id AND j.status IN {live}
		WHERE a.state = 'ended'`},
	{"allocation", `SELECT 'allocation ' || a.id, 'restart ' || a.restart_count || ' has not ended, but there is a later one'
		FROM allocation a WHERE a.state != 'ended' AND a.superseded_ms = 0 AND a.is_duplicate = 0 AND EXISTS (SELECT 1 FROM allocation b
			WHERE b.intent_id = a.intent_id AND b.restart_count > a.restart_count AND b.is_duplicate = 0)`},
	{"allocation", `SELECT 'allocation ' || a.id, 'restart ' || a.restart_count || ' is over, but there is no later one'
		FROM allocation a WHERE a.superseded_ms != 0 AND NOT EXISTS (SELECT 1 FROM allocation b
			WHERE b.intent_id = a.intent_id AND b.restart_count > a.restart_count AND b.is_duplicate = 0)`},
	{"allocation", `SELECT 'allocation ' || id, iif(state = 'ended', 'it has ended without a cause', 'it has not ended, but has the cause ' || cause)
		FROM allocation WHERE (state = 'ended') != (cause != '')`},
	{"allocation", `SELECT 'allocation ' || id, 'it is ' || state || ', but has no Slurm job'
		FROM allocation WHERE state IN ('pending', 'active') AND slurm_job_id IS NULL`},
	{"allocation", `SELECT 'runner ' || n.id, 'its allocation ' || n.allocation_id || ' is not one of its workflow'
		FROM compute_node n LEFT JOIN allocation a ON a.id = n.allocation_id
		WHERE n.allocation_id IS NOT NULL AND a.workflow_id IS NOT n.workflow_id AND n.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	{"P13", `SELECT 'allocation ' || a.id, 'its workflow ' || a.workflow_id || ' was canceled, but it is not to be'
		FROM allocation a JOIN workflow w ON w.id = a.workflow_id AND w.run_id = a.run_id AND w.is_canceled = 1
		WHERE a.state != 'ended' AND a.cancel_ms = 0 AND a.superseded_ms = 0
			AND NOT EXISTS (SELECT 1 FROM compensation c WHERE c.workflow_id = w.id AND c.run_id = w.run_id AND c.started_ms <= a.asked_ms)`},
}
