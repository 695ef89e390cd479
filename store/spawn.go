package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
)

// Spawn adds the jobs that a running job requests to its workflow. It returns their ids in
// the order of the request, and the iteration of their lineage. Repeating the request
// returns the existing jobs.
func (s Jobs) Spawn(_ context.Context, callerID int64, request spawn.SpawnRequest) (ids []int64, iteration int64, err error) {
	err = s.shared.Do("spawn jobs", func(tx *core.Tx) error {
		caller, err := core.GetOne(tx, "job", callerID, view.SelectJob, new(view.JobScanner).Scan)
		if err != nil {
			return err
		}
		facts, err := spawnFacts(tx, &caller, request)
		if err != nil {
			return err
		}
		plan, err := spawn.Decide(facts)
		if err != nil {
			return err
		}
		ids, iteration = plan.IDs, plan.Iteration
		if plan.Replay {
			return nil
		}
		ids, err = spawnJobs(tx, &caller, &plan)
		return sqlite.Wrap(err, "spawn jobs for job %d", callerID)
	})
	return ids, iteration, err
}

// spawnFacts reads the facts for the plan of a request.
func spawnFacts(tx *core.Tx, caller *workflow.Job, request spawn.SpawnRequest) (f spawn.Facts, err error) {
	w, err := core.GetWorkflow(tx, caller.WorkflowID)
	if err != nil {
		return f, err
	}
	f = spawn.Facts{Request: request, CallerID: caller.ID, CallerName: caller.Name, CallerStatus: caller.Status, Env: w.Env}
	if w.DynamicJobs != nil && w.DynamicJobs.MaxIterations != nil {
		f.MaxIteration = *w.DynamicJobs.MaxIterations
	}
	names := map[string]bool{}
	for _, j := range request.Jobs {
		names[j.Name] = true
		for _, dep := range j.DependsOn {
			names[dep] = true
		}
	}
	list, err := jsonText(new(slices.Sorted(maps.Keys(names))))
	if err != nil {
		return f, fmt.Errorf("write the names of jobs to spawn: %w", err)
	}
	f.Existing, f.SameName.Jobs, err = idsByName(tx, `SELECT name, MIN(id), COUNT(*) FROM job WHERE workflow_id = ? AND name IN (SELECT value FROM json_each(?)) GROUP BY name`, w.ID, list)
	if err != nil {
		return f, fmt.Errorf("find jobs of workflow %d by name: %w", w.ID, err)
	}
	f.Requirements, f.SameName.Requirements, err = idsByName(tx, `SELECT name, MIN(id), COUNT(*) FROM resource_requirements WHERE workflow_id = ? GROUP BY name`, w.ID)
	if err != nil {
		return f, fmt.Errorf("find requirements of workflow %d by name: %w", w.ID, err)
	}
	f.Iteration, err = lineageIteration(tx, w.ID, request.LineageOf(caller.Name))
	return f, err
}

// idsByName returns ids by name, and how many rows share each name that is not unique.
func idsByName(tx *core.Tx, query string, args ...any) (ids, several map[string]int64, err error) {
	ids, several = map[string]int64{}, map[string]int64{}
	err = tx.Each(query, func(r sqlite.Scanner) error {
		var name string
		var id, n int64
		err := r.Scan(&name, &id, &n)
		if ids[name] = id; n > 1 {
			several[name] = n
		}
		return err
	}, args...)
	return ids, several, err
}

// lineageIteration returns the highest recorded iteration of a lineage.
func lineageIteration(tx *core.Tx, workflowID int64, lineage string) (highest int64, err error) {
	names, err := sqlite.Select(tx, sqlite.ScanString, `SELECT name FROM user_data WHERE workflow_id = ? AND name GLOB '__torc_lineage__*'`, workflowID)
	if err != nil {
		return 0, fmt.Errorf("read the lineage %q of workflow %d: %w", lineage, workflowID, err)
	}
	for _, name := range names {
		if n, ok := spawn.LineageIteration(lineage, name); ok {
			highest = max(highest, n)
		}
	}
	return highest, nil
}

// spawnJobs carries out a plan and returns the ids of the new jobs, which belong to the
// stage of the requesting job.
func spawnJobs(tx *core.Tx, caller *workflow.Job, plan *spawn.Plan) ([]int64, error) {
	workflowID := caller.WorkflowID
	if plan.Record != nil {
		if err := recordLineage(tx, workflowID, plan.Record); err != nil {
			return nil, err
		}
	}
	if len(plan.Jobs) == 0 {
		return []int64{}, nil
	}
	in, err := newJobInserter(tx, workflowID)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(plan.Jobs))
	for i := range plan.Jobs {
		p := &plan.Jobs[i]
		j := workflow.Job{
			Name: p.Name, Command: p.Command, Env: plan.Env, Status: workflow.Blocked, Priority: p.Priority, Labels: p.Labels,
			RunIf: p.RunIf, ResourceRequirementsID: &p.RequirementsID, Origin: new(workflow.OriginSpawn), StageID: caller.StageID,
		}
		if err := in.insert(&j); err != nil {
			return nil, err
		}
		ids[i] = j.ID
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	for i, p := range plan.Jobs {
		deps := slices.Clone(p.DependsOn)
		for _, sibling := range p.DependsOnSiblings {
			deps = append(deps, ids[sibling])
		}
		if err := setDependencies(tx, workflowID, ids[i], core.IDSet(deps)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// recordLineage writes a record of a lineage.
func recordLineage(tx *core.Tx, workflowID int64, record *spawn.LineageState) error {
	query := `INSERT INTO user_data (workflow_id, name, is_ephemeral, data) VALUES (?, ?, 1, ?)`
	if record.Final {
		query += ` ON CONFLICT (workflow_id, name) WHERE name GLOB '__torc_lineage__*' DO UPDATE SET data = excluded.data`
	}
	_, err := tx.Exec(query, workflowID, record.Name, string(record.Data))
	return sqlite.Wrap(err, "write user data %q", record.Name)
}
