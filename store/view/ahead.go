package view

import (
	"context"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// AheadJobs are blocked jobs of a claim class that are equally far from being ready.
type AheadJobs struct {
	Class placement.Class
	Steps int64 // 1: behind jobs that are not blocked, 2: behind those of step 1, …
	Count int64
}

// maxAheadGates is how many dependencies between gates are followed. Of larger workflows it is not
// known what is ahead.
const maxAheadGates = 200_000

// Ahead returns the blocked jobs of a workflow by how many steps they are from being ready,
// nearest first; nothing if there are too many dependencies to follow.
func (s Scheduling) Ahead(ctx context.Context, workflowID int64) ([]AheadJobs, error) {
	tx, err := s.DB.BeginRead(ctx)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // a read has nothing to lose
	l := factReader{ctx: ctx, tx: tx, nowMS: s.DB.Now().UnixMilli()}
	type edge struct{ gate, behind int64 }
	edges, err := selectFacts(&l, `SELECT DISTINCT d.gate_id, COALESCE(j.gate_id, 0) FROM gate g JOIN gate_dependency d ON d.gate_id = g.id JOIN job j ON j.id = d.job_id
		WHERE g.workflow_id = ?1 AND g.open > 0 AND j.status IN {open} LIMIT ?2`, []any{workflowID, maxAheadGates},
		func(r sqlite.Scanner) (e edge, err error) { return e, r.Scan(&e.gate, &e.behind) })
	if err != nil {
		return nil, fmt.Errorf("read the gates of workflow %d: %w", workflowID, err)
	}
	if len(edges) == maxAheadGates {
		return nil, nil
	}
	behind := map[int64][]int64{}
	for _, e := range edges {
		behind[e.gate] = append(behind[e.gate], e.behind)
	}
	classes, err := selectFacts(&l, SelectClasses+`WHERE c.workflow_id = ?`, []any{workflowID}, ScanClass)
	if err != nil {
		return nil, err
	}
	type group struct{ gate, class, n int64 }
	groups, err := selectFacts(&l, `SELECT g.id, j.class_id, COUNT(*) FROM gate g JOIN job j ON j.gate_id = g.id
		WHERE g.workflow_id = ?1 AND g.open > 0 GROUP BY 1, 2`, []any{workflowID},
		func(r sqlite.Scanner) (x group, err error) { return x, r.Scan(&x.gate, &x.class, &x.n) })
	if err != nil {
		return nil, fmt.Errorf("count the blocked jobs of workflow %d: %w", workflowID, err)
	}
	steps := stepsOf(behind)
	counts := map[[2]int64]int64{} // by step and class
	for _, g := range groups {
		if step := steps[g.gate]; step > 0 {
			counts[[2]int64{step, g.class}] += g.n
		}
	}
	var all []AheadJobs
	for _, c := range classes {
		for key, n := range counts {
			if key[1] == c.ID && !c.Login {
				all = append(all, AheadJobs{Class: c.Class, Steps: key[0], Count: n})
			}
		}
	}
	slices.SortFunc(all, func(a, b AheadJobs) int {
		if a.Steps != b.Steps {
			return int(a.Steps - b.Steps)
		}
		return int(a.Class.ID - b.Class.ID)
	})
	return all, nil
}

// stepsOf returns how many steps the jobs of each gate are from being ready, by the gates that
// the jobs are in for which they wait. Gates that have opened are not among the keys.
func stepsOf(behind map[int64][]int64) map[int64]int64 {
	steps := make(map[int64]int64, len(behind))
	waiting := make(map[int64]int, len(behind)) // open gates before each gate
	before := map[int64][]int64{}               // the gates behind each gate
	var open []int64
	for gate, list := range behind {
		for _, b := range list {
			if _, blocked := behind[b]; blocked && b != gate {
				waiting[gate]++
				before[b] = append(before[b], gate)
			}
		}
		if waiting[gate] == 0 {
			steps[gate] = 1
			open = append(open, gate)
		}
	}
	for len(open) > 0 {
		gate := open[len(open)-1]
		open = open[:len(open)-1]
		for _, next := range before[gate] {
			steps[next] = max(steps[next], steps[gate]+1)
			if waiting[next]--; waiting[next] == 0 {
				open = append(open, next)
			}
		}
	}
	return steps
}
