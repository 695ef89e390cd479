package check

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// moving selects the workflows whose jobs continue when their dependencies are complete.
const moving = `(SELECT id FROM workflow WHERE is_halted = 0 AND is_hidden = 0)`

// openGates selects the gates with an incomplete dependency.
const openGates = `(SELECT g.gate_id, MIN(d.id) AS first FROM gate_dependency g JOIN job d ON d.id = g.job_id
		WHERE d.status NOT BETWEEN {completed} AND {disabled} GROUP BY g.gate_id)`

// gateRules compare the statuses of jobs with those of their dependencies, without the
// counters.
var gateRules = []rule{
	{"P6", `SELECT 'job ' || j.id, 'it is ready, but its dependency ' || o.first || ' is not complete'
		FROM job j JOIN ` + openGates + ` o ON o.gate_id = j.gate_id
		WHERE j.status = {ready} AND j.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1)`},
	// A dependency that ran in an earlier run, or was skipped, was complete before. A
	// canceled one counts as complete for the jobs behind it before its process has ended.
	// Attempts of runs before an amendment had other dependencies.
	{"P6", `WITH skipped AS MATERIALIZED (SELECT json_extract(data, '$.run_id') AS run_id, json_extract(data, '$.first_job_id') AS first,
				json_extract(data, '$.last_job_id') AS last FROM event WHERE type IN ('jobs_skipped', 'jobs_not_needed')),
			amended AS MATERIALIZED (SELECT workflow_id, MAX(json_extract(data, '$.from_run')) AS run_id FROM event
				WHERE type = 'user_action' AND json_extract(data, '$.action') = 'amend_workflow' GROUP BY workflow_id),
			ended AS (SELECT job_id, run_id, MIN(end_ms) AS end_ms, MIN(hostname) AS host, MAX(hostname) AS host2, MIN(evidence IS NOT NULL) AS ours
				FROM attempt WHERE action IN ('none', 'fail', 'hold') AND cause != 'canceled_user' GROUP BY job_id, run_id),
			allowed AS (SELECT d.gate_id, e.run_id, e.host, MAX(e.end_ms) AS end_ms FROM gate_dependency d JOIN ended e ON e.job_id = d.job_id
				WHERE e.ours AND e.host = e.host2 AND NOT EXISTS (SELECT 1 FROM skipped s WHERE s.run_id <= e.run_id AND e.job_id BETWEEN s.first AND s.last)
				AND NOT EXISTS (SELECT 1 FROM attempt x WHERE x.job_id = e.job_id AND x.run_id < e.run_id)
				GROUP BY 1, 2, 3)
		SELECT 'job ' || j.id, 'attempt ' || a.attempt_id || ' of run ' || a.run_id || ' started ' || (g.end_ms - a.start_ms)
			|| ' ms before a dependency ended on the same host'
		FROM allowed g JOIN job j ON j.gate_id = g.gate_id JOIN attempt a ON a.job_id = j.id AND a.run_id = g.run_id AND a.hostname = g.host
			LEFT JOIN amended m ON m.workflow_id = j.workflow_id
		WHERE a.start_ms < g.end_ms AND a.evidence IS NOT NULL AND j.status > {ready}
			AND a.run_id >= COALESCE(m.run_id, 0)
			AND a.attempt_id = (SELECT MAX(attempt_id) FROM attempt x WHERE x.job_id = a.job_id AND x.run_id = a.run_id)`},
	{"gate", `SELECT 'job ' || j.id, 'it is blocked, but has no open dependency'
		FROM job j LEFT JOIN ` + openGates + ` o ON o.gate_id = j.gate_id WHERE j.status = {blocked} AND o.gate_id IS NULL AND j.workflow_id IN ` + moving + `
			AND (j.stage_id IS NULL OR j.stage_id IN (SELECT id FROM stage WHERE state = 'running'))`},
	{"gate", `SELECT 'job ' || id, 'it was skipped by job ' || skipped_by || ', but is not canceled' FROM job WHERE skipped_by > 0 AND status != {canceled}`},
	{"gate", `SELECT 'job ' || id, 'it was not needed, but is not disabled' FROM job
		WHERE skipped_by = 0 AND status != {disabled} AND NOT (status = {blocked} AND undoes_id IS NOT NULL)`},
	// The undo job of a job that never started is not needed, whatever its dependencies
	// did.
	{"gate", `SELECT 'job ' || j.id, 'it was not needed, but a dependency was unsuccessful'
		FROM job j WHERE j.status = {disabled} AND j.skipped_by = 0 AND j.undoes_id IS NULL AND j.workflow_id IN ` + moving + ` AND j.gate_id IN
			(SELECT g.gate_id FROM gate_dependency g JOIN job d ON d.id = g.job_id WHERE d.status BETWEEN {failed} AND {terminated})`},
	// The jobs of a stage are also skipped if its sub-workflow job does not run, because of
	// a job outside. They stay skipped if somebody continues the stage through another of
	// its jobs.
	{"gate", `SELECT 'job ' || j.id, 'it was skipped, but no dependency was unsuccessful'
		FROM job j WHERE j.status = {canceled} AND j.skipped_by IS NOT NULL AND j.workflow_id IN ` + moving + ` AND COALESCE(j.gate_id, 0) NOT IN
			(SELECT g.gate_id FROM gate_dependency g JOIN job d ON d.id = g.job_id WHERE d.status BETWEEN {failed} AND {terminated} OR d.status = {uninitialized})
			AND NOT EXISTS (SELECT 1 FROM stage s JOIN job p ON p.child_id = iif(s.kind = 'end', s.parent_id, s.id)
				WHERE s.id = j.stage_id AND (p.status BETWEEN {failed} AND {terminated} OR p.status = {uninitialized}))
			AND (j.stage_id IS NULL OR EXISTS (
				WITH RECURSIVE above (id) AS (SELECT x.stage_id FROM job x WHERE x.id = j.skipped_by
					UNION ALL SELECT s.parent_id FROM above JOIN stage s ON s.id = above.id)
				SELECT 1 FROM above WHERE id = j.stage_id))`},
}

// gateHashes compares the gates' hashes with their dependencies. With a wrong hash, jobs
// with other dependencies would share the gate.
func (c *checker) gateHashes() error {
	var gate int64
	var stored []byte
	var deps []int64
	compare := func() {
		if hash := row.HashGate(deps); len(deps) > 0 && string(hash[:]) != string(stored) {
			c.found("gate", fmt.Sprintf("gate %d", gate), "its hash does not match its %d dependencies", len(deps))
		}
	}
	err := c.Each(`SELECT g.id, g.hash, d.job_id FROM gate g JOIN gate_dependency d ON d.gate_id = g.id
		WHERE g.workflow_id NOT IN (SELECT id FROM workflow WHERE is_hidden = 1) ORDER BY g.id, d.job_id`, func(r sqlite.Scanner) error {
		var id, dep int64
		var hash []byte
		if err := r.Scan(&id, &hash, &dep); err != nil {
			return err
		}
		if id != gate {
			compare()
			gate, stored, deps = id, hash, deps[:0]
		}
		deps = append(deps, dep)
		return nil
	})
	compare()
	return err
}

// cycles finds jobs that depend on themselves. Jobs and gates are nodes of one graph, which
// is therefore no larger than the tables.
func (c *checker) cycles() error {
	nodes := map[int64]int32{} // jobs by id, gates by -id
	var names []int64
	var before [][]int32
	node := func(key int64) int32 {
		n, known := nodes[key]
		if !known {
			n = int32(len(names))
			nodes[key], names, before = n, append(names, key), append(before, nil)
		}
		return n
	}
	edge := func(r sqlite.Scanner) error {
		var from, to int64
		if err := r.Scan(&from, &to); err != nil {
			return err
		}
		a, b := node(from), node(to)
		before[a] = append(before[a], b)
		return nil
	}
	if err := c.Each(`SELECT id, -gate_id FROM job WHERE gate_id IS NOT NULL`, edge); err != nil {
		return err
	}
	if err := c.Each(`SELECT -gate_id, job_id FROM gate_dependency`, edge); err != nil {
		return err
	}
	if cycle := graph.FindCycle(len(names), func(i int) []int32 { return before[i] }); len(cycle) > 0 {
		jobs := cycle[:0]
		for _, n := range cycle {
			if id := names[n]; id > 0 {
				jobs = append(jobs, int(id))
			}
		}
		c.found("gate", fmt.Sprintf("job %d", jobs[0]), "it depends on itself through jobs %v", jobs)
	}
	return nil
}
