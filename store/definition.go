package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// DefinitionWriter creates a whole workflow from a definition that arrives in chunks. The
// workflow is invisible before Finish. It is for one goroutine; after an error, only Close
// may be called.
type DefinitionWriter struct {
	s    Workflows
	id   int64
	key  any // create_key; nil: none
	done bool

	workflow                           workflow.Workflow // without its jobs
	files, userData                    []int64           // ids
	requirements, handlers, schedulers map[string]int64
	stages                             []int64                  // ids
	children                           map[int32]string         // stages by number, with their sub-workflow jobs
	waiting                            []workflow.JobDefinition // not yet written
	jobs                               []int64                  // ids
	deps                               [][]int32                // of each job; equal lists are shared
	gates                              map[row.GateHash]definedGate
	later                              []int32              // jobs that depend on a job that came later
	isOrdered                          bool                 // no job depends on itself or a later one
	last                               func(*core.Tx) error // part of the transaction that finishes it; nil: none
}

// definedGate is a gate with its dependencies as indexes.
type definedGate struct {
	id   int64
	deps []int32
}

// BeginDefinition starts to create the workflow that header describes; it ignores the lists
// of header. The key comes from the client: a finished definition with the same key is
// found again (see Finished), an unfinished one is started again. Without a key, each call
// creates a workflow.
func (s Workflows) BeginDefinition(ctx context.Context, header *workflow.Definition, key string) (*DefinitionWriter, error) {
	w := headerWorkflow(header)
	if err := checkWorkflow(&w); err != nil {
		return nil, err
	}
	d := &DefinitionWriter{
		s: s, requirements: map[string]int64{}, handlers: map[string]int64{}, schedulers: map[string]int64{},
		children: map[int32]string{}, gates: map[row.GateHash]definedGate{}, isOrdered: true,
	}
	if key != "" {
		d.key = key
	}
	var leftover int64
	err := s.shared.By(ctx).Do("begin definition", func(tx *core.Tx) (err error) {
		d.done, leftover = false, 0
		var hidden bool
		err = tx.Row(`SELECT id, is_hidden FROM workflow WHERE create_key = ?`, []any{d.key}, &d.id, &hidden)
		switch {
		case err == nil && !hidden:
			d.done = true
			return nil
		case err == nil:
			leftover = d.id
			if err := tx.ExecOne(`UPDATE workflow SET create_key = NULL WHERE id = ?`, leftover); err != nil {
				return err
			}
		case !errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("find definition %v: %w", d.key, err)
		}
		if d.id, err = insertWorkflow(tx, w); err != nil {
			return err
		}
		d.workflow = w
		d.workflow.ID = d.id
		return tx.ExecOne(`UPDATE workflow SET is_hidden = 1, create_key = ? WHERE id = ?`, d.key, d.id)
	})
	if err == nil && leftover != 0 {
		err = s.deleteRows(leftover)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// headerWorkflow returns the workflow of a definition, with torc's defaults.
func headerWorkflow(d *workflow.Definition) workflow.Workflow {
	w := workflow.Workflow{
		Name: d.Name, User: d.User, Description: given(d.Description), Project: given(d.Project), Metadata: d.Metadata,
		Env: d.Env, SubmissionDirectory: given(d.SubmissionDirectory), SpecPath: given(d.SpecPath), TorcWorkflow: d.TorcWorkflow,
		ComputeNodeWaitForNewJobsSeconds:         workflow.DefaultWaitForNewJobsSeconds,
		ComputeNodeWaitForHealthyDatabaseMinutes: workflow.DefaultWaitForHealthyDatabaseMinutes,
		ComputeNodeMinTimeForNewJobsSeconds:      workflow.DefaultMinTimeForNewJobsSeconds,
		UsePendingFailed:                         &d.UsePendingFailed, EnforceRuntime: d.EnforceRuntime,
		ExecutionConfig: d.ExecutionConfig, ResourceMonitor: d.ResourceMonitor, SlurmDefaults: d.SlurmDefaults, DynamicJobs: d.DynamicJobs,
		Policy: d.Policy,
	}
	if w.EnableROCrate == nil {
		w.EnableROCrate = new(false)
	}
	core.Set(&w.ComputeNodeWaitForNewJobsSeconds, d.ComputeNodeWaitForNewJobsSeconds)
	core.Set(&w.ComputeNodeIgnoreWorkflowCompletion, d.ComputeNodeIgnoreWorkflowCompletion)
	core.Set(&w.ComputeNodeWaitForHealthyDatabaseMinutes, d.ComputeNodeWaitForHealthyDatabaseMinutes)
	core.Set(&w.ComputeNodeMinTimeForNewJobsSeconds, d.ComputeNodeMinTimeForNewJobsSeconds)
	return w
}

// given returns s, or nil if it is empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Finished returns the id and the number of jobs of the workflow if it exists already. Then
// nothing is left to do.
func (d *DefinitionWriter) Finished(ctx context.Context) (id, jobs int64, finished bool, err error) {
	if !d.done {
		return 0, 0, false, nil
	}
	err = d.s.DB.Read.QueryRowContext(ctx, `SELECT COALESCE(SUM(n), 0) FROM job_count WHERE workflow_id = ?`, d.id).Scan(&jobs)
	if err != nil {
		return 0, 0, false, fmt.Errorf("count the jobs of workflow %d: %w", d.id, err)
	}
	return d.id, jobs, true, nil
}

// Finish checks that all jobs and files that the client sent have arrived, and makes the
// workflow visible. It returns the workflow's id.
func (d *DefinitionWriter) Finish(ctx context.Context, jobs, files int64) (int64, error) {
	if err := d.flushJobs(); err != nil {
		return 0, err
	}
	if int64(len(d.jobs)) != jobs || int64(len(d.files)) != files {
		return 0, workflow.Errorf(workflow.CodeInvalid, "the definition is incomplete: %d of %d jobs and %d of %d files have arrived",
			len(d.jobs), jobs, len(d.files), files)
	}
	if err := d.checkNames(ctx); err != nil {
		return 0, err
	}
	if err := d.checkOrder(ctx); err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(d.later, definitionChunk) {
		if err := d.write("finish definition", func(tx *core.Tx) error { return d.joinLater(tx, chunk) }); err != nil {
			return 0, err
		}
	}
	err := d.write("finish definition", func(tx *core.Tx) error {
		if err := checkStages(tx, d.id); err != nil {
			return err
		}
		if err := requireJobs(tx, &d.workflow, d.workflow.Policy); err != nil {
			return err
		}
		if err := tx.ExecOne(`UPDATE workflow SET is_hidden = 0 WHERE id = ?`, d.id); err != nil || d.last == nil {
			return err
		}
		return d.last(tx)
	})
	if err != nil {
		return 0, err
	}
	d.done = true
	return d.id, nil
}

// Try does all that Finish does, and then fails with an error, so that Close deletes it.
func (d *DefinitionWriter) Try(ctx context.Context, jobs, files int64, failure error) (int64, error) {
	d.last = func(*core.Tx) error { return failure }
	return d.Finish(ctx, jobs, files)
}

// Close deletes what was written, unless the workflow is finished.
func (d *DefinitionWriter) Close() error {
	if d.done {
		return nil
	}
	d.done = true
	err := d.write("drop definition", func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE workflow SET create_key = NULL WHERE id = ?`, d.id)
	})
	if workflow.CodeOf(err) == workflow.CodeConflict {
		return nil // another request restarted the creation and deletes it
	}
	if err != nil {
		return err
	}
	return d.s.deleteRows(d.id)
}

// write runs a use case if the workflow still belongs to this writer.
func (d *DefinitionWriter) write(name string, fn func(*core.Tx) error) error {
	return d.s.shared.Do(name, func(tx *core.Tx) error {
		var one int
		err := tx.Row(`SELECT 1 FROM workflow WHERE id = ? AND is_hidden = 1 AND create_key IS ?`, []any{d.id, d.key}, &one)
		if errors.Is(err, sql.ErrNoRows) {
			return workflow.Errorf(workflow.CodeConflict, "the creation of workflow %d was started again by another request", d.id)
		}
		if err != nil {
			return fmt.Errorf("read workflow %d: %w", d.id, err)
		}
		return fn(tx)
	})
}

// checkNames rejects duplicate job names.
func (d *DefinitionWriter) checkNames(ctx context.Context) error {
	var name string
	err := d.s.DB.Read.QueryRowContext(ctx, `SELECT name FROM job WHERE workflow_id = ? GROUP BY name HAVING COUNT(*) > 1 LIMIT 1`, d.id).Scan(&name)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check the names of workflow %d: %w", d.id, err)
	}
	return workflow.Errorf(workflow.CodeInvalid, "duplicate job name %q", name)
}

// checkOrder rejects dependencies on missing jobs, and cycles.
func (d *DefinitionWriter) checkOrder(ctx context.Context) error {
	if d.isOrdered {
		return nil
	}
	for _, i := range d.later {
		if last := d.deps[i][len(d.deps[i])-1]; int(last) >= len(d.jobs) {
			return workflow.Errorf(workflow.CodeInvalid, "job number %d depends on job number %d, which does not exist", i, last)
		}
	}
	cycle := graph.FindCycle(len(d.jobs), func(i int) []int32 { return d.deps[i] })
	if cycle == nil {
		return nil
	}
	var failed error
	text := graph.CycleText(cycle, func(i int) (name string) {
		if err := d.s.DB.Read.QueryRowContext(ctx, `SELECT name FROM job WHERE id = ?`, d.jobs[i]).Scan(&name); err != nil && failed == nil {
			failed = fmt.Errorf("read the name of job %d: %w", d.jobs[i], err)
		}
		return name
	})
	if failed != nil {
		return failed
	}
	return workflow.Errorf(workflow.CodeInvalid, "the jobs depend on each other in a cycle: %s", text)
}
