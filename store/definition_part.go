package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// Add stores the lists of a chunk. Jobs are numbered in order of arrival, over all chunks;
// so are files and user data. A job may depend on a later one; everything else must arrive
// before, or with, what refers to it. The chunk must not be changed afterwards.
func (d *DefinitionWriter) Add(chunk *workflow.Definition) error {
	if err := addRows(d, "file", &d.files, chunk.Files, d.insertFile); err != nil {
		return err
	}
	if err := addRows(d, "user data", &d.userData, chunk.UserData, d.insertUserData); err != nil {
		return err
	}
	if err := addNamed(d, "resource requirements", d.requirements, chunk.Requirements, d.insertRequirements); err != nil {
		return err
	}
	if err := addNamed(d, "failure handler", d.handlers, chunk.FailureHandlers, d.insertHandler); err != nil {
		return err
	}
	if err := addNamed(d, "scheduler", d.schedulers, chunk.SlurmSchedulers, d.insertScheduler); err != nil {
		return err
	}
	if err := addRows(d, "stage", &d.stages, chunk.Stages, d.insertStage); err != nil {
		return err
	}
	if err := d.addJobs(chunk.Jobs); err != nil {
		return err
	}
	if len(chunk.Actions) == 0 {
		return nil
	}
	if err := d.flushJobs(); err != nil {
		return err
	}
	var actions []int64
	return addRows(d, "action", &actions, chunk.Actions, d.insertAction)
}

// addRows stores rows that are referred to by number.
func addRows[T any](d *DefinitionWriter, what string, ids *[]int64, rows []T, insert func(*core.Tx, *T) (int64, error)) error {
	for chunk := range slices.Chunk(rows, definitionChunk) {
		added := make([]int64, len(chunk))
		err := d.write("add "+what+" rows of a definition", func(tx *core.Tx) (err error) {
			for i := range chunk {
				if added[i], err = insert(tx, &chunk[i]); err != nil {
					return fmt.Errorf("%s of a definition: %w", what, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		*ids = append(*ids, added...)
	}
	return nil
}

// addNamed stores rows that are referred to by name, which insert returns.
func addNamed[T any](d *DefinitionWriter, what string, ids map[string]int64, rows []T, insert func(*core.Tx, *T) (string, int64, error)) error {
	var added map[string]int64
	if len(rows) == 0 {
		return nil
	}
	err := d.write("add "+what+" rows of a definition", func(tx *core.Tx) error {
		added = map[string]int64{}
		for i := range rows {
			name, id, err := insert(tx, &rows[i])
			if err != nil {
				return fmt.Errorf("%s %q: %w", what, name, err)
			}
			if ids[name] != 0 || added[name] != 0 {
				return workflow.Errorf(workflow.CodeInvalid, "duplicate name %q of %s", name, what)
			}
			added[name] = id
		}
		return nil
	})
	maps.Copy(ids, added)
	return err
}

func (d *DefinitionWriter) insertFile(tx *core.Tx, f *workflow.FileDefinition) (int64, error) {
	if err := workflow.CheckName("file", f.Name); err != nil {
		return 0, err
	}
	return tx.Insert(`INSERT INTO file (workflow_id, name, path, identifier, st_mtime, size) VALUES (?, ?, ?, ?, ?, ?)`,
		d.id, f.Name, f.Path, given(f.Identifier), f.ModTime, f.Size)
}

func (d *DefinitionWriter) insertUserData(tx *core.Tx, u *workflow.UserDataDefinition) (int64, error) {
	row := artifact.UserData{WorkflowID: d.id, Name: u.Name, IsEphemeral: u.IsEphemeral, Data: u.Data}
	err := record.InsertUserData(tx, &row, record.UserDataLinks{})
	return row.ID, err
}

func (d *DefinitionWriter) insertRequirements(tx *core.Tx, q *workflow.ResourceRequirements) (string, int64, error) {
	if q.Name == workflow.DefaultRequirements {
		return q.Name, 0, workflow.Errorf(workflow.CodeInvalid, "the name is reserved for the workflow's default requirements")
	}
	row := *q
	row.WorkflowID = d.id
	id, err := engine.InsertRequirements(tx, row)
	if err != nil {
		return q.Name, id, err
	}
	return q.Name, id, tx.ExecOne(`UPDATE resource_requirements SET specified = ? WHERE id = ?`, specifiedText(q), id)
}

func (d *DefinitionWriter) insertHandler(tx *core.Tx, h *workflow.FailureHandlerDefinition) (string, int64, error) {
	if err := workflow.CheckName("failure handler", h.Name); err != nil {
		return h.Name, 0, err
	}
	rules, err := json.Marshal(h.Rules)
	if err != nil {
		return h.Name, 0, err
	}
	id, err := tx.Insert(`INSERT INTO failure_handler (workflow_id, name, rules) VALUES (?, ?, ?)`, d.id, h.Name, string(rules))
	return h.Name, id, err
}

func (d *DefinitionWriter) insertScheduler(tx *core.Tx, c *workflow.SlurmSchedulerDefinition) (string, int64, error) {
	id, err := record.InsertSlurmScheduler(tx, compute.SlurmScheduler{
		WorkflowID: d.id, Name: c.Name, Account: c.Account, Gres: given(c.Gres), Mem: given(c.Mem), Nodes: c.Nodes, NtasksPerNode: c.NtasksPerNode,
		Partition: given(c.Partition), QOS: given(c.QOS), Tmp: given(c.Tmp), Walltime: c.Walltime, Extra: given(c.Extra),
		SerializeAllocations: c.SerializeAllocations,
	})
	return c.Name, id, err
}

func (d *DefinitionWriter) insertAction(tx *core.Tx, a *workflow.ActionDefinition) (int64, error) {
	row := action.Record{WorkflowID: d.id, TriggerType: a.TriggerType, ActionType: a.ActionType, Persistent: a.Persistent}
	var err error
	if row.Config, err = d.actionConfig(a); err != nil {
		return 0, err
	}
	for _, i := range a.Jobs {
		if i < 0 || int(i) >= len(d.jobs) {
			return 0, workflow.Errorf(workflow.CodeInvalid, "job number %d does not exist", i)
		}
		row.JobIDs = append(row.JobIDs, d.jobs[i])
	}
	row.JobIDs = core.IDSet(row.JobIDs)
	row.RequiredTriggers = action.RequiredTriggers(a.TriggerType, row.JobIDs)
	return record.InsertAction(tx, row)
}

// actionConfig returns the config of an action as torc's runners read it.
func (d *DefinitionWriter) actionConfig(a *workflow.ActionDefinition) (json.RawMessage, error) {
	config := map[string]any{}
	switch {
	case a.TriggerType == action.TriggerAutoSchedule:
		return d.autoScheduleConfig(a)
	case a.ActionType == action.RunCommands:
		config["commands"] = a.Commands
	case a.ActionType == action.ScheduleNodes:
		if a.Scheduler != "" {
			id, found := d.schedulers[a.Scheduler]
			if !found {
				return nil, workflow.Errorf(workflow.CodeInvalid, "unknown scheduler %q", a.Scheduler)
			}
			config["scheduler_id"] = id
		}
		config["scheduler_type"] = a.SchedulerType
		config["num_allocations"] = max(a.NumAllocations, 1)
		config["start_one_worker_per_node"] = a.StartOneWorkerPerNode
		if a.MaxParallelJobs != nil {
			config["max_parallel_jobs"] = *a.MaxParallelJobs
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return text, action.ValidateConfig(a.TriggerType, a.ActionType, text)
}

// autoScheduleConfig returns the limits for the daemon's requests of allocations.
func (d *DefinitionWriter) autoScheduleConfig(a *workflow.ActionDefinition) (json.RawMessage, error) {
	config := action.NodesConfig{SchedulerType: a.SchedulerType}
	core.Set(&config.MaxParallelJobs, a.MaxParallelJobs)
	core.Set(&config.AutoSchedule, a.AutoSchedule)
	if a.Scheduler != "" {
		id, found := d.schedulers[a.Scheduler]
		if !found {
			return nil, workflow.Errorf(workflow.CodeInvalid, "unknown scheduler %q", a.Scheduler)
		}
		config.SchedulerID = &id
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return text, action.ValidateConfig(a.TriggerType, a.ActionType, text)
}

// specifiedText returns what a specification says about requirements, by which a later one
// is compared: the requirements themselves may have been corrected since.
func specifiedText(q *workflow.ResourceRequirements) string {
	return fmt.Sprintf("cpus=%d gpus=%d nodes=%d memory=%s runtime=%s", q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime)
}
