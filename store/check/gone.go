package check

import "github.com/torc-slurm/torc-slurm/store/row"

// goneRules find end jobs that started before the processes of the run had ended.
var goneRules = []rule{
	{"P11", `SELECT 'stage ' || s.id, 'it waits for runners, and is ' || iif(s.state != 'not_started' AND s.run_id = w.run_id AND s.generation = w.end_generation, s.state, 'not of a run that was aborted')
		FROM stage s JOIN workflow w ON w.id = s.workflow_id AND w.is_hidden = 0
		WHERE s.waits_for IS NOT NULL AND (w.given_up IS NULL OR s.state != 'not_started' AND s.run_id = w.run_id AND s.generation = w.end_generation)`},
	{"P11", `SELECT 'job ' || j.id, 'its runner ' || a.compute_node_id || ' began the end of run ' || a.run_id || ' at ' || a.start_ms || ', and attempt ' || o.attempt_id
			|| ' of job ' || o.job_id || ' of that run, which was aborted, ended at ' || o.end_ms
		FROM workflow w JOIN stage s ON s.workflow_id = w.id AND s.kind = 'end' AND s.parent_id IS NULL JOIN job j ON j.stage_id = s.id
			JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id
			JOIN attempt o ON o.workflow_id = w.id AND o.run_id = a.run_id AND o.compute_node_id = a.compute_node_id
				AND (o.reason LIKE '` + row.AbortedReason + `%' OR o.reason LIKE '` + row.GivenUpReason + `%') AND o.start_ms < a.start_ms AND o.end_ms > a.start_ms
		WHERE w.given_up IS NOT NULL AND w.is_hidden = 0`},
}
