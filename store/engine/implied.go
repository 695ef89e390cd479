package engine

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// addImpliedDependencies makes jobs depend on the jobs that write what they read. A job
// does not depend on itself. The caller has to count the gates.
func addImpliedDependencies(tx *core.Tx, workflowID int64) error {
	missing, err := missingDependencies(tx, workflowID)
	if err != nil || len(missing) == 0 {
		return err
	}
	gates, err := view.GateDependencies(tx.Query, workflowID)
	if err != nil {
		return err
	}
	known := make(map[row.GateHash]int64, len(gates))
	for id, deps := range gates {
		known[row.HashGate(deps)] = id
	}
	maker, err := NewGateMaker(tx, workflowID)
	if err != nil {
		return err
	}
	joins := make([]jobGate, 0, len(missing))
	for len(missing) > 0 {
		job, n := missing[0], 1
		deps := append(slices.Clone(gates[job.gateID]), job.dependsOn)
		for ; n < len(missing) && missing[n].jobID == job.jobID; n++ {
			deps = append(deps, missing[n].dependsOn)
		}
		missing = missing[n:]
		deps = core.IDSet(deps)
		hash := row.HashGate(deps)
		gate, found := known[hash]
		if !found {
			if gate, err = maker.Add(hash, deps); err != nil {
				return err
			}
			known[hash] = gate
		}
		joins = append(joins, jobGate{job.jobID, gate})
	}
	if err := maker.Finish(); err != nil {
		return err
	}
	if err := joinGates(tx, joins); err != nil {
		return err
	}
	return checkCycles(tx, workflowID)
}

// jobGate is a job and its new gate.
type jobGate struct{ jobID, gateID int64 }

// joinGates sets the gates of jobs.
func joinGates(tx *core.Tx, joins []jobGate) error {
	update := tx.NewBulkStatement(2, `UPDATE job SET gate_id = v.column2 FROM (VALUES `, `) v WHERE job.id = v.column1`)
	for _, j := range joins {
		if err := update.Add(j.jobID, j.gateID); err != nil {
			return fmt.Errorf("set dependencies of jobs: %w", err)
		}
	}
	err := update.Flush()
	return sqlite.Wrap(err, "set dependencies of jobs")
}

// missingDependency is an edge that the graph lacks.
type missingDependency struct {
	jobID, gateID, dependsOn int64 // gateID is 0 if the job has none
}

// missingDependencies returns the edges that files and user data imply and that the graph
// lacks, by job.
func missingDependencies(tx *core.Tx, workflowID int64) ([]missingDependency, error) {
	missing, err := sqlite.Select(tx, func(r sqlite.Scanner) (m missingDependency, err error) {
		return m, r.Scan(&m.jobID, &m.gateID, &m.dependsOn)
	}, `SELECT i.job_id AS consumer, COALESCE(j.gate_id, 0), i.producer FROM (
			SELECT i.job_id, o.job_id AS producer FROM file f
				JOIN job_output_file o ON o.file_id = f.id JOIN job_input_file i ON i.file_id = f.id WHERE f.workflow_id = ?1
			UNION
			SELECT i.job_id, o.job_id FROM user_data d
				JOIN job_output_user_data o ON o.user_data_id = d.id JOIN job_input_user_data i ON i.user_data_id = d.id WHERE d.workflow_id = ?1
		) i JOIN job j ON j.id = i.job_id
		WHERE i.job_id != i.producer AND j.stage_id IS (SELECT p.stage_id FROM job p WHERE p.id = i.producer)
			AND NOT EXISTS (SELECT 1 FROM gate_dependency d WHERE d.job_id = i.producer AND d.gate_id = j.gate_id)
		ORDER BY consumer`, workflowID)
	return missing, sqlite.Wrap(err, "find implied dependencies of workflow %d", workflowID)
}

// checkCycles rejects a graph with a cycle.
func checkCycles(tx *core.Tx, workflowID int64) error {
	gates, err := view.GateDependencies(tx.Query, workflowID)
	if err != nil {
		return err
	}
	type node struct {
		id, gate int64
		name     string
	}
	nodes, err := sqlite.Select(tx, func(r sqlite.Scanner) (n node, err error) { return n, r.Scan(&n.id, &n.gate, &n.name) },
		`SELECT id, COALESCE(gate_id, 0), name FROM job WHERE workflow_id = ? ORDER BY id`, workflowID)
	if err != nil {
		return fmt.Errorf("read the graph of workflow %d: %w", workflowID, err)
	}
	index := make(map[int64]int32, len(nodes))
	for i, n := range nodes {
		index[n.id] = int32(i)
	}
	indexes := make(map[int64][]int32, len(gates))
	for gate, ids := range gates {
		for _, id := range ids {
			indexes[gate] = append(indexes[gate], index[id])
		}
	}
	cycle := graph.FindCycle(len(nodes), func(i int) []int32 { return indexes[nodes[i].gate] })
	if cycle == nil {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalid, "the jobs depend on each other in a cycle: %s",
		graph.CycleText(cycle, func(i int) string { return nodes[i].name })).
		WithHint("a job depends on what depends_on names and on the jobs that write what it reads")
}
