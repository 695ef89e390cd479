package check

import "fmt"

// leasePeriod is how long, in ms, a daemon waits after its start for a runner to report.
const leasePeriod = 60_000

// attemptRules compare attempts, leases, late reports and jobs. Reports of torc's clients
// have no evidence, and their fence may not be that of a lease.
var attemptRules = []rule{
	{"P1", `SELECT 'job ' || j.id, 'attempt ' || j.attempt_id || ' of run ' || w.run_id || ' has ended, but the job is still '
			|| iif(j.status = {pending}, 'pending', 'running')
		FROM job j JOIN workflow w ON w.id = j.workflow_id JOIN attempt a ON a.job_id = j.id AND a.run_id = w.run_id AND a.attempt_id = j.attempt_id
		WHERE j.status IN {live} AND j.phase = 0`},
	// A new run may have started since.
	{"P1", `SELECT 'job ' || j.id, 'its recovery script runs, but its attempt ' || j.attempt_id || ' has not ended so'
		FROM job j WHERE j.phase = 1 AND NOT EXISTS (SELECT 1 FROM attempt a
			WHERE a.job_id = j.id AND a.attempt_id = j.attempt_id AND a.action = 'recover')`},
	// A job that was held manually before it ran may be classified as failed.
	{"P1", `SELECT 'job ' || j.id, 'it has ended, but its attempt ' || j.attempt_id || ' has not ended so'
		FROM job j WHERE j.status IN ({completed}, {failed}, {terminated}) AND NOT EXISTS (SELECT 1 FROM attempt a
			WHERE a.job_id = j.id AND a.attempt_id = j.attempt_id AND (a.status = {completed}) = (j.status = {completed}))
		AND NOT EXISTS (SELECT 1 FROM classification c WHERE c.job_id = j.id AND c.attempt_id = j.attempt_id AND c.status = j.status)`},
	{"P1", `SELECT 'job ' || l.job_id, 'the report of attempt ' || l.attempt_id || ' of run ' || l.run_id || ' was late, and was recorded as well'
		FROM late_report l JOIN attempt a ON a.job_id = l.job_id AND a.run_id = l.run_id AND a.attempt_id = l.attempt_id AND a.fence = l.fence
		WHERE a.evidence IS NOT NULL AND a.start_ms IS json_extract(l.report, '$.StartedMS') AND a.end_ms IS json_extract(l.report, '$.EndedMS')`},
	{"P1", `SELECT 'job ' || r.job_id, 'the result of attempt ' || r.attempt_id || ' of run ' || r.run_id || ' is that of the job, but nothing ended so'
		FROM job j JOIN result r ON r.id = j.result_id
		WHERE NOT EXISTS (SELECT 1 FROM attempt a WHERE a.job_id = r.job_id AND a.run_id = r.run_id AND a.attempt_id = r.attempt_id)`},
	{"P2", `SELECT 'job ' || job_id, 'fence ' || fence || ' has ended ' || COUNT(*) || ' attempts'
		FROM attempt WHERE fence > 0 AND evidence IS NOT NULL GROUP BY job_id, fence HAVING COUNT(*) > 1`},
	{"P2", `SELECT 'job ' || job_id, 'the fence fell from ' || before || ' to ' || fence || ' with attempt ' || attempt_id || ' of run ' || run_id
		FROM (SELECT job_id, run_id, attempt_id, fence, LAG(fence) OVER (PARTITION BY job_id ORDER BY run_id, attempt_id) AS before FROM attempt)
		WHERE fence < before`},
	{"P2", `SELECT 'job ' || j.id, 'its fence is ' || j.fence || ', but attempt ' || a.attempt_id || ' of run ' || a.run_id || ' had ' || a.fence
		FROM job j JOIN attempt a ON a.job_id = j.id WHERE a.fence > j.fence`},
	{"P2", `SELECT 'job ' || j.id, 'runner ' || n.id || ' holds it, but is not there any more'
		FROM job j JOIN compute_node n ON n.id = j.compute_node_id WHERE j.status IN {live} AND n.is_active = 0 AND n.runner_key IS NOT NULL`},
	{"P2", `SELECT 'job ' || id, 'it is running without a lease' FROM job
		WHERE status IN {live} AND compute_node_id IS NOT NULL AND claimed_ms IS NOT NULL AND fence = 0`},
	{"P5", fmt.Sprintf(`SELECT 'job ' || a.job_id, 'attempt ' || a.attempt_id || ' of run ' || a.run_id || ' was taken for lost '
			|| (a.end_ms - o.started_ms) || ' ms after the daemon''s start, but its runner lived'
		FROM owner o JOIN attempt a ON a.end_ms BETWEEN o.started_ms AND o.started_ms + %d AND json_extract(a.evidence, '$.lost_runner') = 1
			AND json_extract(a.evidence, '$.slurm') IS NULL -- whom Slurm ended we have not declared dead
		JOIN late_report l ON l.job_id = a.job_id AND l.run_id = a.run_id AND l.attempt_id = a.attempt_id AND l.fence = a.fence
		WHERE json_extract(l.report, '$.EndedMS') > a.end_ms`, leasePeriod)},
}

// eventRules check the event log.
var eventRules = []rule{
	{"P18", `SELECT 'workflow ' || w.id, 'its log ends at ' || w.event_seq || ', it has ' || COUNT(e.id) || ' events from '
			|| COALESCE(MIN(e.seq), 0) || ' to ' || COALESCE(MAX(e.seq), 0)
		FROM workflow w LEFT JOIN event e ON e.workflow_id = w.id WHERE w.is_hidden = 0
		GROUP BY w.id HAVING COUNT(e.id) != w.event_seq OR COALESCE(MAX(e.seq), 0) != w.event_seq OR COALESCE(MIN(e.seq), 1) != 1`},
	{"P18", `SELECT 'workflow ' || workflow_id, 'event ' || seq || ' was written before event ' || before
		FROM (SELECT workflow_id, seq, LAG(seq) OVER (PARTITION BY workflow_id ORDER BY id) AS before FROM event) WHERE seq < before`},
}
