package engine

// SQL assignments of job columns, by what the job becomes.
const (
	// AsNew is for a job that has not started: no lease, delay, recovery or hold, and no
	// counted retries.
	AsNew = unclaimed + `, start_ms = NULL, not_before_ms = 0, settled_ms = NULL, ` + decided + `,
		skipped_by = NULL, ended_by = NULL, rule_counts = NULL, counted_failures = 0, avoid_nodes = NULL, ready_ms = NULL, first_ready_ms = NULL, told = 0`
	// unclaimed is for a job without a lease.
	unclaimed = `compute_node_id = NULL, claimed_ms = NULL`
	// decided is for a job that waits for neither a recovery script nor a person.
	decided = `phase = 0, recovery = NULL, hold = NULL`
	// notReady is for a job that is no longer ready. An expired total timeout is not
	// reported again.
	notReady = `ready_ms = NULL, told = told & 8`
	// LeaseVoid voids the lease, if there is one.
	LeaseVoid = `fence = fence + (status IN {live})`
	// asCanceled is for a job that is canceled.
	asCanceled = LeaseVoid + `, not_before_ms = 0, ` + decided + `, ` + notReady
)

// nextAttempt returns the number of a job's next attempt as SQL; run is a parameter.
func nextAttempt(run string) string {
	return `1 + COALESCE((SELECT MAX(a.attempt_id) FROM attempt a WHERE a.job_id = job.id AND a.run_id = ` + run + `), 0)`
}
