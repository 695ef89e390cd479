package check

// proposalRules compare proposals with what was decided about them.
var proposalRules = []rule{
	{"reference", `SELECT 'proposal ' || id, 'it is ' || state || ', but ' || iif(decided_ms = 0, 'nobody decided about it', 'a decision is recorded')
		FROM proposal WHERE (state = 'open') != (decided_ms = 0)`},
	{"reference", `SELECT 'proposal ' || id, 'it is applied and belongs to no workflow' FROM proposal WHERE state = 'applied' AND workflow_id IS NULL`},
	{"count", `SELECT 'proposal ' || id, 'it changes ' || job_count || ' jobs, but has the changes of ' || json_array_length(jobs)
		FROM proposal WHERE kind != 'create' AND json_array_length(jobs) != job_count`},
}
