package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/amend"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// now stores what the jobs of the definition refer to, and returns the definition as a side
// of the comparison. It returns CodeInvalid if the definition is inconsistent.
func (a *amendment) now() (*amend.Side, error) {
	d := a.definition
	a.resolve = &DefinitionWriter{
		id: a.id, requirements: map[string]int64{}, handlers: map[string]int64{}, schedulers: map[string]int64{}, children: map[int32]string{},
	}
	requirements, err := a.writeNamed()
	if err != nil {
		return nil, err
	}
	if err := a.writeArtifacts(); err != nil {
		return nil, err
	}
	if err := a.matchStages(); err != nil {
		return nil, err
	}
	if a.insert, err = newJobInserter(a.tx, a.id); err != nil {
		return nil, err
	}
	side := &amend.Side{Jobs: make([]amend.Job, len(d.Jobs)), Stated: a.stated}
	for _, f := range d.Files {
		side.Files = append(side.Files, amend.File{Name: f.Name, Path: f.Path, ModTime: f.ModTime, Size: f.Size})
	}
	for _, u := range d.UserData {
		side.UserData = append(side.UserData, amend.UserData{Name: u.Name, Data: string(u.Data)})
	}
	named := make(map[string]int, len(a.earlier.rows))
	for e := range a.earlier.side.Jobs {
		named[a.earlier.side.Jobs[e].Name] = e
	}
	a.jobs, a.columns = make([]workflow.Job, len(d.Jobs)), make([]jobColumns, len(d.Jobs))
	for i := range d.Jobs {
		var old *earlierJob
		if e, found := named[d.Jobs[i].Name]; found {
			old = &a.earlier.rows[e]
		}
		if err := a.nowJob(i, old, requirements, &side.Jobs[i]); err != nil {
			return nil, err
		}
	}
	for i := range d.Jobs {
		for _, u := range d.Jobs[i].OutputUserData {
			side.UserData[u].Data = ""
		}
	}
	return side, a.depend(side)
}

// nowJob resolves a job of the definition. Old is the job of the workflow with its name; nil
// if there is none.
func (a *amendment) nowJob(i int, old *earlierJob, requirements map[int64]string, side *amend.Job) error {
	def := &a.definition.Jobs[i]
	j, err := a.resolve.job(def)
	if err != nil {
		return err
	}
	if _, err := a.resolve.dependencies(def); err != nil {
		return err
	}
	var c jobColumns
	if old != nil {
		c.origin = old.columns.origin
		if c.origin == workflow.OriginRemoved {
			c.origin = ""
		}
		if old.key.Held { // a user holds it
			j.UserHold = &workflow.UserHold{}
		}
		if err := a.sameStage(&j, old); err != nil {
			return err
		}
		a.keepRequirements(&j, old)
	}
	if err := a.columnsOf(&j, &c); err != nil {
		return fmt.Errorf("job %q: %w", j.Name, err)
	}
	a.jobs[i], a.columns[i] = j, c
	side.Name, side.Command, side.Stage, side.Child = j.Name, j.Command, def.Stage, def.Child
	if j.InvocationScript != nil {
		side.Script = *j.InvocationScript
	}
	if side.Env = a.definition.Env; len(j.Env) > 0 {
		side.Env = workflow.MergeEnv(a.definition.Env, j.Env)
	}
	side.InputFiles, side.OutputFiles, side.InputUserData, side.OutputUserData = def.InputFiles, def.OutputFiles, def.InputUserData, def.OutputUserData
	policy, err := jsonText(j.Policy)
	if err != nil {
		return fmt.Errorf("job %q: %w", j.Name, err)
	}
	side.Settings = amend.Settings{
		Requirements: requirements[*j.ResourceRequirementsID], Priority: j.Priority, Labels: workflow.JoinLabels(j.Labels), Scheduler: def.Scheduler,
		RunIf: j.RunIf, Stdio: c.stdio, RunTimeout: c.timeout,
	}
	side.Settings.Policy, _ = policy.(string)
	if j.FailureHandlerID != nil {
		h := a.earlier.handlers[*j.FailureHandlerID]
		side.Settings.FailureHandler = h.Name + " " + h.Rules
	}
	return nil
}

// keepRequirements keeps the requirements that a rule or a user gave a job of its own, as
// long as the specification says the same as before.
func (a *amendment) keepRequirements(j *workflow.Job, old *earlierJob) {
	if j.ResourceRequirementsID == nil {
		return
	}
	var base string
	for i := range a.earlier.requirements {
		if q := &a.earlier.requirements[i]; q.ID == *j.ResourceRequirementsID {
			base = q.Name
			break
		}
	}
	for i := range a.earlier.requirements {
		q := &a.earlier.requirements[i]
		if q.ID == old.key.RequirementsID && base != "" && engine.DerivedRequirements(q.Name, base) {
			j.ResourceRequirementsID = &q.ID
		}
	}
}

// columnsOf sets the columns of a job.
func (a *amendment) columnsOf(j *workflow.Job, c *jobColumns) (err error) {
	c.command, c.runIf = j.Command, int64(j.RunIf)
	if c.class, err = a.insert.class(j); err != nil {
		return err
	}
	if j.FailureHandlerID != nil {
		c.handler = *j.FailureHandlerID
	}
	if j.Policy != nil && j.Policy.Timeouts != nil && j.Policy.Timeouts.Run != nil {
		j.RunTimeout = j.Policy.Timeouts.Run.Enforced()
	}
	for _, v := range []struct {
		read func() (any, error)
		to   any
	}{
		{func() (any, error) { return a.insert.env(j.Env) }, &c.env},
		{func() (any, error) { return a.insert.policy(j.Policy) }, &c.policy},
		{func() (any, error) { return jsonText(j.Stdio) }, &c.stdio},
		{func() (any, error) { return jsonText(j.RunTimeout) }, &c.timeout},
		{func() (any, error) { return row.TorcExtra{Keys: &j.TorcJob}.Value() }, &c.extra},
	} {
		value, err := v.read()
		if err != nil {
			return err
		}
		switch to := v.to.(type) {
		case *int64:
			*to, _ = value.(int64)
		case *string:
			*to, _ = value.(string)
		}
	}
	return nil
}

// depend sets what the jobs of the definition depend on: what they name, and the jobs of
// their stage that write what they read.
func (a *amendment) depend(side *amend.Side) error {
	d := a.definition
	for i := range d.Jobs {
		if deps := d.Jobs[i].DependsOn; len(deps) > 0 && int(slices.Max(deps)) >= len(d.Jobs) {
			return workflow.Errorf(workflow.CodeInvalid, "job %q depends on job number %d, which does not exist", d.Jobs[i].Name, slices.Max(deps))
		}
	}
	a.deps = graph.Dependencies(d)
	for i := range a.deps {
		if len(d.Stages) > 0 {
			a.deps[i] = slices.DeleteFunc(slices.Clone(a.deps[i]), func(k int32) bool { return d.Jobs[k].Stage != d.Jobs[i].Stage })
		}
		side.Jobs[i].DependsOn = a.deps[i]
	}
	cycle := graph.FindCycle(len(a.deps), func(i int) []int32 { return a.deps[i] })
	if cycle == nil {
		return nil
	}
	return workflow.Errorf(workflow.CodeInvalid, "the jobs depend on each other in a cycle: %s", graph.CycleText(cycle, func(i int) string { return d.Jobs[i].Name }))
}

// matchStages requires that the definition has the stages of the workflow.
func (a *amendment) matchStages() error {
	stages, err := sqlite.Select(a.tx, row.ScanStage, `SELECT `+row.StageColumns+` FROM `+row.StageTables+` WHERE s.workflow_id = ? ORDER BY s.id`, a.id)
	if err != nil {
		return fmt.Errorf("read the stages of workflow %d: %w", a.id, err)
	}
	now := a.definition.Stages
	same := len(now) == len(stages)
	for i := 0; same && i < len(now); i++ {
		var parent int64
		if p := now[i].Parent; p > 0 && int(p) <= i {
			parent = stages[p-1].ID
		}
		same = now[i].Kind == stages[i].Kind && now[i].Name == stages[i].Name && idOrZero(stages[i].ParentID) == parent
	}
	if !same {
		return workflow.Errorf(workflow.CodeInvalid, "the definition has other sub-workflows, another end job or another compensation than workflow %d", a.id).
			WithHint("create a new workflow from it: run the specification without --resume")
	}
	for i := range now {
		if err := now[i].Validate(); err != nil {
			return err
		}
		policy, err := json.Marshal(now[i].Policy)
		if err != nil {
			return err
		}
		if err := a.tx.ExecOne(`UPDATE stage SET policy = ? WHERE id = ?`, string(policy), stages[i].ID); err != nil {
			return fmt.Errorf("amend stage %q: %w", now[i].Name, err)
		}
		a.resolve.stages = append(a.resolve.stages, stages[i].ID)
	}
	return nil
}

// sameStage rejects a job that is in another stage than before.
func (a *amendment) sameStage(j *workflow.Job, old *earlierJob) error {
	if idOrZero(j.StageID) != old.stage.Int64 || idOrZero(j.ChildID) != old.child.Int64 {
		return workflow.Errorf(workflow.CodeInvalid, "job %q is now in another sub-workflow or compensation", j.Name).
			WithHint("give it another name, or create a new workflow from the specification")
	}
	return nil
}

// writeJobs stores the new jobs, and updates those that have changed.
func (a *amendment) writeJobs() error {
	for i := range a.jobs {
		if a.plan.Jobs[i].Earlier >= 0 {
			a.jobs[i].ID = a.earlier.rows[a.plan.Jobs[i].Earlier].id
			continue
		}
		if err := a.insert.insert(&a.jobs[i]); err != nil {
			return err
		}
	}
	if err := a.insert.finish(); err != nil {
		return err
	}
	gates, err := a.makeGates()
	if err != nil {
		return err
	}
	settings := row.JobSettingColumns()
	columns := append([]string{"command", "env_id", "policy_id", "failure_handler_id", "class_id", "undoes_id", "run_if", "torc_extra", "stdio", "run_timeout", "origin", "gate_id"}, settings...)
	set := make([]string, len(columns))
	for k, column := range columns {
		set[k] = fmt.Sprintf("%s = v.column%d", column, k+2)
	}
	update := a.tx.NewBulkStatement(len(columns)+1, `UPDATE job SET `+strings.Join(set, ", ")+` FROM (VALUES `, `) v WHERE job.id = v.column1`)
	for i := range a.jobs {
		c := &a.columns[i]
		if n := a.definition.Jobs[i].Undoes; n > 0 && int(n) <= len(a.jobs) {
			c.undoes = a.jobs[n-1].ID
		} else if n != 0 {
			return workflow.Errorf(workflow.CodeInvalid, "job %q undoes job number %d, which does not exist", a.jobs[i].Name, n)
		}
		if e := a.plan.Jobs[i].Earlier; e >= 0 {
			old := &a.earlier.rows[e]
			if old.columns == *c && a.earlier.gateOf[e] == gates[i] && reflect.DeepEqual(old.settings, a.jobs[i].JobSettings) {
				continue
			}
		} else if gates[i] == 0 && c.undoes == 0 {
			continue
		}
		values := []any{
			a.jobs[i].ID, c.command, orNull(c.env), orNull(c.policy), orNull(c.handler), c.class, orNull(c.undoes), c.runIf,
			orNull(c.extra), orNull(c.stdio), orNull(c.timeout), orNull(c.origin), orNull(gates[i]),
		}
		if err := update.Add(append(values, row.JobSettings(&a.jobs[i].JobSettings)...)...); err != nil {
			return fmt.Errorf("amend jobs of workflow %d: %w", a.id, err)
		}
	}
	err = update.Flush()
	return sqlite.Wrap(err, "amend jobs of workflow %d", a.id)
}

// orNull returns the value of a column that is null instead of zero.
func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// makeGates returns the gate of each job of the definition; 0 if it has none.
func (a *amendment) makeGates() ([]int64, error) {
	known := make(map[row.GateHash]int64, len(a.earlier.gates))
	for id, deps := range a.earlier.gates {
		known[row.HashGate(deps)] = id
	}
	maker, err := engine.NewGateMaker(a.tx, a.id)
	if err != nil {
		return nil, err
	}
	gateOf, firsts := graph.GroupByDependencies(len(a.jobs), func(i int) []int32 { return a.deps[i] })
	ids := make([]int64, len(firsts))
	for g, first := range firsts {
		deps := make([]int64, len(a.deps[first]))
		for k, i := range a.deps[first] {
			deps[k] = a.jobs[i].ID
		}
		slices.Sort(deps)
		hash := row.HashGate(deps)
		id, found := known[hash]
		if !found {
			if id, err = maker.Add(hash, deps); err != nil {
				return nil, err
			}
			known[hash] = id
		}
		ids[g] = id
	}
	gates := make([]int64, len(a.jobs))
	for i, g := range gateOf {
		if g >= 0 {
			gates[i] = ids[g]
		}
	}
	return gates, maker.Finish()
}

// writeLinks updates what the jobs of the workflow read and write.
func (a *amendment) writeLinks() error {
	for k, table := range view.LinkTables {
		insert := a.tx.NewBulk(table.Name, "job_id, "+table.Column)
		var changed []int64
		var links [][2]int64
		for i := range a.jobs {
			e := a.plan.Jobs[i].Earlier
			if e < 0 {
				continue
			}
			id, now := a.jobs[i].ID, *view.LinksOf(&a.jobs[i])[k]
			if slices.Equal(a.earlier.links[k][id], now) {
				continue
			}
			changed = append(changed, id)
			for _, target := range now {
				links = append(links, [2]int64{id, target})
			}
		}
		if len(changed) == 0 {
			continue
		}
		if _, err := a.tx.Exec(`DELETE FROM `+table.Name+` WHERE job_id IN (SELECT value FROM json_each(?))`, sqlite.IDList(changed)); err != nil {
			return fmt.Errorf("amend what jobs of workflow %d read and write: %w", a.id, err)
		}
		for _, link := range links {
			if err := insert.Add(link[0], link[1]); err != nil {
				return fmt.Errorf("amend what jobs of workflow %d read and write: %w", a.id, err)
			}
		}
		if err := insert.Flush(); err != nil {
			return fmt.Errorf("amend what jobs of workflow %d read and write: %w", a.id, err)
		}
	}
	return nil
}

// idOrZero returns an optional id; 0 if there is none.
func idOrZero(id *int64) int64 {
	if id == nil {
		return 0
	}
	return *id
}
