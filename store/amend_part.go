package store

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
)

// writeNamed stores the requirements, failure handlers and schedulers of the definition, of
// which those with a known name change. It returns the texts of all requirements by id.
func (a *amendment) writeNamed() (map[int64]string, error) {
	d := a.definition
	requirements := make(map[string]*specified, len(a.earlier.requirements))
	for i := range a.earlier.requirements {
		q := &a.earlier.requirements[i]
		if _, known := requirements[q.Name]; !known {
			requirements[q.Name] = q
		}
	}
	for i := range d.Requirements {
		q := &d.Requirements[i]
		if a.resolve.requirements[q.Name] != 0 {
			return nil, workflow.Errorf(workflow.CodeInvalid, "duplicate name %q of resource requirements", q.Name)
		}
		if err := a.writeRequirements(q, requirements[q.Name]); err != nil {
			return nil, fmt.Errorf("resource requirements %q: %w", q.Name, err)
		}
	}
	texts := map[int64]string{}
	err := a.tx.Each(`SELECT id, name, num_cpus, num_gpus, num_nodes, memory, runtime FROM resource_requirements WHERE workflow_id = ?`, func(r sqlite.Scanner) error {
		var q workflow.ResourceRequirements
		err := r.Scan(&q.ID, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime)
		texts[q.ID] = requirementsText(&q)
		return err
	}, a.id)
	if err != nil {
		return nil, fmt.Errorf("read the requirements of workflow %d: %w", a.id, err)
	}
	if err := a.writeHandlers(); err != nil {
		return nil, err
	}
	return texts, a.writeSchedulers()
}

// writeRequirements stores requirements. Those that were corrected since stay as they are
// if the specification says the same as before.
func (a *amendment) writeRequirements(q *workflow.ResourceRequirements, old *specified) error {
	if old == nil || q.Name == workflow.DefaultRequirements {
		name, id, err := a.resolve.insertRequirements(a.tx, q)
		a.resolve.requirements[name] = id
		return err
	}
	a.resolve.requirements[q.Name] = old.ID
	text := specifiedText(q)
	if old.text.Valid && old.text.String == text {
		return nil
	}
	memory, runtime, err := engine.Measure(*q)
	if err != nil {
		return err
	}
	if !old.text.Valid && specifiedText(&old.ResourceRequirements) == text {
		return a.tx.ExecOne(`UPDATE resource_requirements SET specified = ? WHERE id = ?`, text, old.ID)
	}
	old.Name = "" // jobs with requirements derived from it do not keep them
	return a.tx.ExecOne(`UPDATE resource_requirements SET num_cpus = ?, num_gpus = ?, num_nodes = ?, memory = ?, runtime = ?, memory_bytes = ?, runtime_s = ?, specified = ?
		WHERE id = ?`, q.NumCPUs, q.NumGPUs, q.NumNodes, q.Memory, q.Runtime, memory, runtime, text, old.ID)
}

// writeHandlers stores the failure handlers.
func (a *amendment) writeHandlers() error {
	ids := map[string]int64{}
	for id, h := range a.earlier.handlers {
		ids[h.Name] = id
	}
	for i := range a.definition.FailureHandlers {
		h := &a.definition.FailureHandlers[i]
		if a.resolve.handlers[h.Name] != 0 {
			return workflow.Errorf(workflow.CodeInvalid, "duplicate name %q of failure handler", h.Name)
		}
		rules, err := jsonText(&h.Rules)
		if err != nil {
			return fmt.Errorf("failure handler %q: %w", h.Name, err)
		}
		id, known := ids[h.Name]
		if known {
			_, err = a.tx.Exec(`UPDATE failure_handler SET rules = ?1 WHERE id = ?2 AND rules != ?1`, rules, id)
		} else {
			_, id, err = a.resolve.insertHandler(a.tx, h)
		}
		if err != nil {
			return fmt.Errorf("failure handler %q: %w", h.Name, err)
		}
		a.resolve.handlers[h.Name] = id
		a.earlier.handlers[id] = workflow.FailureHandler{ID: id, Name: h.Name, Rules: rules.(string)}
	}
	return nil
}

// writeSchedulers stores the Slurm schedulers. One with a known name is replaced under its
// id.
func (a *amendment) writeSchedulers() error {
	ids := map[string]int64{}
	for id, name := range a.earlier.schedulerNames {
		ids[name] = id
	}
	for i := range a.definition.SlurmSchedulers {
		c := &a.definition.SlurmSchedulers[i]
		if a.resolve.schedulers[c.Name] != 0 {
			return workflow.Errorf(workflow.CodeInvalid, "duplicate name %q of scheduler", c.Name)
		}
		id, known := ids[c.Name]
		var err error
		if known {
			err = a.tx.ExecOne(`UPDATE slurm_scheduler SET account = ?, gres = ?, mem = ?, nodes = ?, ntasks_per_node = ?, partition = ?, qos = ?, tmp = ?,
				walltime = ?, extra = ?, serialize_allocations = ? WHERE id = ?`, c.Account, given(c.Gres), given(c.Mem), c.Nodes, c.NtasksPerNode, given(c.Partition),
				given(c.QOS), given(c.Tmp), c.Walltime, given(c.Extra), c.SerializeAllocations, id)
		} else {
			_, id, err = a.resolve.insertScheduler(a.tx, c)
		}
		if err != nil {
			return fmt.Errorf("scheduler %q: %w", c.Name, err)
		}
		a.resolve.schedulers[c.Name] = id
	}
	return nil
}

// writeArtifacts stores the files and user data of the definition.
func (a *amendment) writeArtifacts() error {
	files := map[string]int{}
	for e, f := range a.earlier.side.Files {
		files[f.Name] = e
	}
	update := a.tx.NewBulkStatement(5, `UPDATE file SET path = v.column2, identifier = v.column3, st_mtime = v.column4, size = v.column5 FROM (VALUES `, `) v WHERE file.id = v.column1`)
	for i := range a.definition.Files {
		f := &a.definition.Files[i]
		e, known := files[f.Name]
		if !known {
			id, err := a.resolve.insertFile(a.tx, f)
			if err != nil {
				return fmt.Errorf("file %q: %w", f.Name, err)
			}
			a.resolve.files = append(a.resolve.files, id)
			continue
		}
		a.resolve.files = append(a.resolve.files, a.earlier.files[e])
		old := &a.earlier.side.Files[e]
		moved, known := old.Path != f.Path, a.stated || f.ModTime != nil
		if !moved && (!known || artifact.SameTime(old.ModTime, f.ModTime) && reflect.DeepEqual(old.Size, f.Size)) {
			continue
		}
		if err := update.Add(a.earlier.files[e], f.Path, given(f.Identifier), f.ModTime, f.Size); err != nil {
			return fmt.Errorf("amend the files of workflow %d: %w", a.id, err)
		}
	}
	if err := update.Flush(); err != nil {
		return fmt.Errorf("amend the files of workflow %d: %w", a.id, err)
	}
	return a.writeUserData()
}

// writeUserData stores the user data. What a job has written stays.
func (a *amendment) writeUserData() error {
	written := make([]bool, len(a.definition.UserData))
	for i := range a.definition.Jobs {
		for _, u := range a.definition.Jobs[i].OutputUserData {
			if u >= 0 && int(u) < len(written) {
				written[u] = true
			}
		}
	}
	records := map[string]int{}
	for e, u := range a.earlier.side.UserData {
		records[u.Name] = e
	}
	for i := range a.definition.UserData {
		u := &a.definition.UserData[i]
		e, known := records[u.Name]
		if !known {
			id, err := a.resolve.insertUserData(a.tx, u)
			if err != nil {
				return fmt.Errorf("user data %q: %w", u.Name, err)
			}
			a.resolve.userData = append(a.resolve.userData, id)
			continue
		}
		a.resolve.userData = append(a.resolve.userData, a.earlier.userData[e])
		if written[i] || a.earlier.side.UserData[e].Data == string(u.Data) {
			continue
		}
		if err := a.tx.ExecOne(`UPDATE user_data SET data = ?, is_ephemeral = ? WHERE id = ?`, view.Text(u.Data), u.IsEphemeral, a.earlier.userData[e]); err != nil {
			return fmt.Errorf("user data %q: %w", u.Name, err)
		}
	}
	return nil
}

// writeActions makes the actions those of the definition. Equal ones keep what they have
// done; those of recoveries stay.
func (a *amendment) writeActions() error {
	old, err := sqlite.Select(a.tx, view.ScanAction, `SELECT `+view.ActionColumns+` FROM workflow_action WHERE workflow_id = ? AND is_recovery = 0 ORDER BY id`, a.id)
	if err != nil {
		return fmt.Errorf("read the actions of workflow %d: %w", a.id, err)
	}
	for i := range old {
		if old[i].JobIDs, err = core.IDsOf(a.tx, `SELECT job_id FROM workflow_action_job WHERE action_id = ? ORDER BY job_id`, old[i].ID); err != nil {
			return fmt.Errorf("read the jobs of action %d: %w", old[i].ID, err)
		}
	}
	for i := range a.definition.Actions {
		row, err := a.action(&a.definition.Actions[i])
		if err != nil {
			return err
		}
		if same := slices.IndexFunc(old, func(x action.Record) bool {
			return x.TriggerType == row.TriggerType && x.ActionType == row.ActionType && x.Persistent == row.Persistent &&
				string(x.Config) == string(row.Config) && slices.Equal(x.JobIDs, row.JobIDs)
		}); same >= 0 {
			old = slices.Delete(old, same, same+1)
			continue
		}
		if _, err := record.InsertAction(a.tx, row); err != nil {
			return err
		}
	}
	for i := range old {
		if err := a.tx.ExecOne(`DELETE FROM workflow_action WHERE id = ?`, old[i].ID); err != nil {
			return fmt.Errorf("delete action %d: %w", old[i].ID, err)
		}
	}
	return nil
}

// action returns an action of the definition.
func (a *amendment) action(def *workflow.ActionDefinition) (action.Record, error) {
	row := action.Record{WorkflowID: a.id, TriggerType: def.TriggerType, ActionType: def.ActionType, Persistent: def.Persistent}
	var err error
	if row.Config, err = a.resolve.actionConfig(def); err != nil {
		return row, err
	}
	for _, i := range def.Jobs {
		if i < 0 || int(i) >= len(a.jobs) {
			return row, workflow.Errorf(workflow.CodeInvalid, "job number %d does not exist", i)
		}
		row.JobIDs = append(row.JobIDs, a.jobs[i].ID)
	}
	row.JobIDs = core.IDSet(row.JobIDs)
	row.RequiredTriggers = action.RequiredTriggers(def.TriggerType, row.JobIDs)
	return row, nil
}
