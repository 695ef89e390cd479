package engine

// Columns of jobs, by what a job has become.
const (
	// AsNew are those of a job that has not begun: no lease, no delay, no recovery, no
	// hold, and its retries uncounted.
	AsNew = unclaimed + `, start_ms = NULL, not_before_ms = 0, settled_ms = NULL, ` + decided + `,
		skipped_by = NULL, ended_by = NULL, rule_counts = NULL, counted_failures = 0, avoid_nodes = NULL, ready_ms = NULL, first_ready_ms = NULL, told = 0`
	// unclaimed are those of a job that nobody has a lease on.
	unclaimed = `compute_node_id = NULL, claimed_ms = NULL`
	// decided are those of a job that waits for no recovery script and no person.
	decided = `phase = 0, recovery = NULL, hold = NULL`
	// notReady are those of a job that is not ready any more; that all its time was
	// over is not told again.
	notReady = `ready_ms = NULL, told = told & 8`
	// LeaseVoid takes the lease from whoever has one.
	LeaseVoid = `fence = fence + (status IN {live})`
	// asCanceled are those of a job that is canceled, whatever it waited for.
	asCanceled = LeaseVoid + `, not_before_ms = 0, ` + decided + `, ` + notReady
)

// nextAttempt is the number of a job's next attempt in a run, which is a parameter.
func nextAttempt(run string) string {
	return `1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a WHERE a.job_id = job.id AND a.run_id = ` + run + `), 0)`
}
