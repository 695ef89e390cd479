package check

// loginRules find jobs held by runners that may not run them.
var loginRules = []rule{
	{"place", `SELECT 'job ' || j.id, 'it is held by runner ' || n.id || ', which takes ' ||
			CASE n.login WHEN 0 THEN 'none' ELSE 'only jobs' END || ' of the daemon''s host'
		FROM job j JOIN claim_class c ON c.id = j.class_id JOIN compute_node n ON n.id = j.compute_node_id
		WHERE j.status IN {live} AND n.runner_key IS NOT NULL AND (c.login = 1 AND n.login = 0 OR c.login = 0 AND n.login = 2)`},
}
