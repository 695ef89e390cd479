package check

// proposalRules compare proposals with what was decided about them.
var proposalRules = []rule{
	{"reference", `SELECT 'proposal ' || id, 'it is ' || state || ', but ' || iif(decided_ms = 0, 'nobody decided about it', 'a decision is recorded')
		FROM proposal WHERE (state = 'open') != (decided_ms = 0)`},
	{"reference", `SELECT 'proposal ' || id, 'it is applied and belongs to no workflow' FROM proposal WHERE state = 'applied' AND workflow_id IS NULL`},
	{"count", `SELECT 'proposal ' || id, 'it changes ' || job_count || ' jobs, but has the changes of ' || json_array_length(jobs)
		FROM proposal WHERE kind != 'create' AND json_array_length(jobs) != job_count`},
	{"count", `SELECT 'verdict ' || m.id, 'it is about ' || m.jobs || ' jobs, of which ' || m.succeeded || ' succeeded, ' || m.failed || ' failed and ' || m.canceled ||
			' were canceled, but ' || c.n || ' jobs belong to it, of which ' || c.succeeded || ' succeeded, ' || c.failed || ' failed and ' || c.canceled || ' were canceled'
		FROM (SELECT memory_id, COUNT(*) n, SUM(outcome = 'succeeded') succeeded, SUM(outcome = 'failed') failed, SUM(outcome = 'canceled') canceled
			FROM classification WHERE memory_id != 0 GROUP BY memory_id) c JOIN verdict_memory m ON m.id = c.memory_id
		WHERE c.n > m.jobs OR c.succeeded > m.succeeded OR c.failed > m.failed OR c.canceled > m.canceled`},
}
