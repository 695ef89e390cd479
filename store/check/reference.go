package check

// referenceRules find references that no foreign key guards: to missing rows, or to rows of
// other workflows.
var referenceRules = []rule{
	{"reference", `SELECT 'job ' || j.id, 'its runner ' || j.compute_node_id || ' is not a node of its workflow'
		FROM job j LEFT JOIN compute_node n ON n.id = j.compute_node_id
		WHERE j.compute_node_id IS NOT NULL AND j.status IN {live} AND n.workflow_id IS NOT j.workflow_id`},
	{"reference", `SELECT 'job ' || j.id, 'it was skipped by ' || j.skipped_by || ', which is not a job of its workflow'
		FROM job j LEFT JOIN job x ON x.id = j.skipped_by WHERE j.skipped_by != 0 AND x.workflow_id IS NOT j.workflow_id
			AND j.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	{"reference", `SELECT 'job ' || j.id, 'its result ' || j.result_id || ' is not one of its own'
		FROM job j LEFT JOIN result r ON r.id = j.result_id WHERE j.result_id IS NOT NULL AND r.job_id IS NOT j.id`},
	{"reference", `SELECT 'job ' || j.id, 'its class ' || c.id || ' is of workflow ' || c.workflow_id
		FROM job j JOIN claim_class c ON c.id = j.class_id WHERE c.workflow_id != j.workflow_id`},
	{"reference", `SELECT 'job ' || j.id, 'its gate ' || g.id || ' is of workflow ' || g.workflow_id
		FROM job j JOIN gate g ON g.id = j.gate_id WHERE g.workflow_id != j.workflow_id`},
	{"reference", `SELECT 'job ' || j.id, 'its failure handler ' || h.id || ' is of workflow ' || h.workflow_id
		FROM job j JOIN failure_handler h ON h.id = j.failure_handler_id WHERE h.workflow_id != j.workflow_id`},
	{"reference", `SELECT 'class ' || c.id, 'its requirements ' || c.requirements_id || ' are not of its workflow'
		FROM claim_class c LEFT JOIN resource_requirements q ON q.id = c.requirements_id
		WHERE q.workflow_id IS NOT c.workflow_id AND EXISTS (SELECT 1 FROM job j WHERE j.class_id = c.id)`},
	{"reference", `SELECT 'gate ' || d.gate_id, 'its dependency ' || d.job_id || ' is not a job of its workflow'
		FROM gate_dependency d JOIN gate g ON g.id = d.gate_id LEFT JOIN job j ON j.id = d.job_id WHERE j.workflow_id IS NOT g.workflow_id`},
	{"reference", `SELECT 'attempt ' || a.run_id || '/' || a.attempt_id || ' of job ' || a.job_id, 'the job is not there or of another workflow'
		FROM attempt a LEFT JOIN job j ON j.id = a.job_id WHERE j.workflow_id IS NOT a.workflow_id`},
	{"reference", `SELECT 'failed recovery after attempt ' || x.run_id || '/' || x.attempt_id || ' of job ' || x.job_id,
			'the attempt is not there, or was not followed by a recovery script'
		FROM failed_recovery x LEFT JOIN attempt a ON a.job_id = x.job_id AND a.run_id = x.run_id AND a.attempt_id = x.attempt_id
		WHERE a.action IS NOT 'recover' OR a.workflow_id != x.workflow_id`},
	{"reference", `SELECT 'late report ' || l.id, 'its job ' || l.job_id || ' is not there or of another workflow'
		FROM late_report l LEFT JOIN job j ON j.id = l.job_id WHERE j.workflow_id IS NOT l.workflow_id`},
	{"reference", `SELECT 'result ' || r.id, 'its job ' || r.job_id || ' is not there or of another workflow'
		FROM result r LEFT JOIN job j ON j.id = r.job_id WHERE j.workflow_id IS NOT r.workflow_id`},
	{"reference", `SELECT 'event ' || e.id, 'its workflow ' || e.workflow_id || ' is not there'
		FROM event e LEFT JOIN workflow w ON w.id = e.workflow_id WHERE w.id IS NULL AND e.type != 'user_action'`},
	{"reference", `SELECT 'input file ' || f.file_id || ' of job ' || f.job_id, 'one of them is not there, or they are of different workflows'
		FROM job_input_file f LEFT JOIN job j ON j.id = f.job_id LEFT JOIN file x ON x.id = f.file_id
		WHERE j.workflow_id IS NOT x.workflow_id OR x.id IS NULL`},
	{"reference", `SELECT 'output file ' || f.file_id || ' of job ' || f.job_id, 'one of them is not there, or they are of different workflows'
		FROM job_output_file f LEFT JOIN job j ON j.id = f.job_id LEFT JOIN file x ON x.id = f.file_id
		WHERE j.workflow_id IS NOT x.workflow_id OR x.id IS NULL`},
	{"reference", `SELECT 'input data ' || f.user_data_id || ' of job ' || f.job_id, 'one of them is not there, or they are of different workflows'
		FROM job_input_user_data f LEFT JOIN job j ON j.id = f.job_id LEFT JOIN user_data x ON x.id = f.user_data_id
		WHERE j.workflow_id IS NOT x.workflow_id OR x.id IS NULL`},
	{"reference", `SELECT 'output data ' || f.user_data_id || ' of job ' || f.job_id, 'one of them is not there, or they are of different workflows'
		FROM job_output_user_data f LEFT JOIN job j ON j.id = f.job_id LEFT JOIN user_data x ON x.id = f.user_data_id
		WHERE j.workflow_id IS NOT x.workflow_id OR x.id IS NULL`},
	{"reference", `SELECT 'action ' || t.action_id, 'its job ' || t.job_id || ' is not a job of its workflow'
		FROM workflow_action_job t JOIN workflow_action a ON a.id = t.action_id LEFT JOIN job j ON j.id = t.job_id
		WHERE j.workflow_id IS NOT a.workflow_id`},
}

// countRules recount derived numbers.
var countRules = []rule{
	{"count", `SELECT 'workflow ' || COALESCE(c.workflow_id, j.workflow_id), 'job_count says ' || COALESCE(c.n, 0) || ' jobs of status '
			|| COALESCE(c.status, j.status) || ', there are ' || COALESCE(j.n, 0)
		FROM (SELECT workflow_id, status, COUNT(*) AS n FROM job GROUP BY 1, 2) j
		FULL JOIN job_count c ON c.workflow_id = j.workflow_id AND c.status = j.status
		WHERE COALESCE(c.n, 0) != COALESCE(j.n, 0)
			AND COALESCE(c.workflow_id, j.workflow_id) NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	{"count", `SELECT 'workflow ' || COALESCE(c.workflow_id, a.workflow_id), 'cause_count says ' || COALESCE(c.n, 0) || ' attempts of run '
			|| COALESCE(c.run_id, a.run_id) || ' ended with ' || COALESCE(c.cause, a.cause) || ', ' || COALESCE(c.retried, 0)
			|| ' were retried, ' || COALESCE(c.counted, 0)
			|| ' of them counted, it is ' || COALESCE(a.n, 0) || ', ' || COALESCE(a.retried, 0) || ' and ' || COALESCE(a.counted, 0)
		FROM (SELECT workflow_id, run_id, cause, COUNT(*) AS n, SUM(action IN ('retry', 'recover')) AS retried, SUM(counted) AS counted
			FROM attempt GROUP BY 1, 2, 3) a
		FULL JOIN cause_count c ON c.workflow_id = a.workflow_id AND c.run_id = a.run_id AND c.cause = a.cause
		WHERE (COALESCE(c.n, 0) != COALESCE(a.n, 0) OR COALESCE(c.retried, 0) != COALESCE(a.retried, 0) OR COALESCE(c.counted, 0) != COALESCE(a.counted, 0))
			AND COALESCE(c.workflow_id, a.workflow_id) NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	{"count", `SELECT 'workflow ' || w.id, 'it counts ' || w.claim_holds || ' claim holds, but has ' || COALESCE(h.n, 0)
		FROM workflow w LEFT JOIN (SELECT workflow_id, COUNT(*) AS n FROM claim_hold WHERE ended_ms = 0 GROUP BY 1) h ON h.workflow_id = w.id
		WHERE w.claim_holds != COALESCE(h.n, 0)`},
	{"count", `SELECT 'gate ' || g.id, 'it says that ' || g.open || ' dependencies are open and ' || g.failed || ' failed, it is '
			|| c.open || ' and ' || c.failed
		FROM gate g JOIN (SELECT d.gate_id, SUM(j.status NOT BETWEEN {completed} AND {disabled}) AS open, SUM(j.status BETWEEN {failed} AND {terminated}) AS failed
			FROM gate_dependency d JOIN job j ON j.id = d.job_id GROUP BY d.gate_id) c ON c.gate_id = g.id
		WHERE (g.open != c.open OR g.failed != c.failed) AND g.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
}
