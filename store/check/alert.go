package check

// alertRules compare alerts with their events, counts and notifications.
var alertRules = []rule{
	{"count", `SELECT 'alerts of kind ' || a.kind, 'alert_count says ' || COALESCE(c.n, 0) || ', there are ' || a.n
		FROM (SELECT kind, COUNT(*) AS n FROM alert GROUP BY kind) a LEFT JOIN alert_count c ON c.kind = a.kind WHERE COALESCE(c.n, 0) < a.n`},
	{"reference", `SELECT 'workflow ' || w.id, 'it has ' || COALESCE(a.n, 0) || ' alerts and ' || COALESCE(e.n, 0) || ' events of alerts'
		FROM workflow w LEFT JOIN (SELECT workflow_id, COUNT(*) AS n FROM alert GROUP BY 1) a ON a.workflow_id = w.id
		LEFT JOIN (SELECT workflow_id, COUNT(*) AS n FROM event WHERE type = 'alert' GROUP BY 1) e ON e.workflow_id = w.id
		WHERE w.is_hidden = 0 AND COALESCE(a.n, 0) != COALESCE(e.n, 0)`},
	{"reference", `SELECT 'notification ' || n.id, 'its alert ' || n.alert_id || ' is of workflow ' || a.workflow_id || ', not of ' || n.workflow_id
		FROM notification n JOIN alert a ON a.id = n.alert_id WHERE a.workflow_id != n.workflow_id`},
	{"reference", `SELECT 'notification ' || n.id, 'it is ' || n.state || ' after ' || n.tries || ' tries, in batch ' || n.batch
		FROM notification n WHERE (n.tries = 0) != (n.batch = 0) OR n.tries = 0 AND n.state != 'pending' OR n.batch > n.id`},
	{"reference", `SELECT 'notification ' || n.id, 'it is ' || n.state || ', but what it is sent with is ' || b.state
		FROM notification n JOIN notification b ON b.id = n.batch WHERE n.state != b.state OR n.tries != b.tries`},
}
