package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/row"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// definitionChunk is how many rows of a definition one use case writes at most, so that
// other use cases are not delayed.
const definitionChunk = 3000

// addJobs collects jobs until a commit is worthwhile.
func (d *DefinitionWriter) addJobs(jobs []workflow.JobDefinition) error {
	d.waiting = append(d.waiting, jobs...)
	for len(d.waiting) >= definitionChunk {
		if err := d.writeJobs(d.waiting[:definitionChunk]); err != nil {
			return err
		}
		d.waiting = d.waiting[definitionChunk:]
	}
	return nil
}

// flushJobs writes the collected jobs.
func (d *DefinitionWriter) flushJobs() error {
	jobs := d.waiting
	if d.waiting = nil; len(jobs) == 0 {
		return nil
	}
	return d.writeJobs(jobs)
}

// writeJobs stores jobs. Everything they refer to, except other jobs, must have arrived.
func (d *DefinitionWriter) writeJobs(defined []workflow.JobDefinition) error {
	jobs := make([]workflow.Job, len(defined))
	deps := make([][]int32, len(defined))
	undoes := make([]int32, len(defined))
	for i := range defined {
		undoes[i] = defined[i].Undoes
		var err error
		if jobs[i], err = d.job(&defined[i]); err != nil {
			return err
		}
		if deps[i], err = d.dependencies(&defined[i]); err != nil {
			return err
		}
	}
	c := jobChunk{d: d, jobs: jobs, deps: deps, undoes: undoes}
	if err := d.write("add jobs of a definition", c.write); err != nil {
		return err
	}
	c.keep()
	return nil
}

// job resolves a job's references, except those to other jobs.
func (d *DefinitionWriter) job(def *workflow.JobDefinition) (workflow.Job, error) {
	j := workflow.Job{
		WorkflowID: d.id, Name: def.Name, Command: def.Command, JobSettings: def.JobSettings, TorcJob: def.TorcJob, Env: def.Env,
		Priority: def.Priority, Labels: def.Labels, RunIf: def.RunIf, JobOptions: def.JobOptions,
	}
	requirements := def.Requirements
	if requirements == workflow.DefaultRequirements {
		requirements = ""
	}
	for _, ref := range []struct {
		what, name string
		known      map[string]int64
		field      **int64
	}{
		{"resource requirements", requirements, d.requirements, &j.ResourceRequirementsID},
		{"failure handler", def.FailureHandler, d.handlers, &j.FailureHandlerID},
		{"scheduler", def.Scheduler, d.schedulers, &j.SchedulerID},
	} {
		if ref.name == "" {
			continue
		}
		id, found := ref.known[ref.name]
		if !found {
			return j, workflow.Errorf(workflow.CodeInvalid, "job %q: unknown %s %q", def.Name, ref.what, ref.name)
		}
		*ref.field = &id
	}
	for _, ref := range []struct {
		number int32
		field  **int64
	}{{def.Stage, &j.StageID}, {def.Child, &j.ChildID}} {
		if ref.number < 0 || int(ref.number) > len(d.stages) {
			return j, workflow.Errorf(workflow.CodeInvalid, "job %q: stage number %d does not exist", def.Name, ref.number)
		}
		if ref.number > 0 {
			*ref.field = &d.stages[ref.number-1]
		}
	}
	if err := d.noteChild(def); err != nil {
		return j, err
	}
	if def.Undoes != 0 && def.Stage == 0 {
		return j, workflow.Errorf(workflow.CodeInvalid, "job %q undoes another job, but is in no compensation", def.Name)
	}
	links := view.LinksOf(&j)
	for i, list := range [][]int32{def.InputFiles, def.OutputFiles, def.InputUserData, def.OutputUserData} {
		ids := d.files
		if i >= 2 {
			ids = d.userData
		}
		for _, k := range list {
			if k < 0 || int(k) >= len(ids) {
				return j, workflow.Errorf(workflow.CodeInvalid, "job %q: %s number %d does not exist", def.Name, view.LinkTables[i].What, k)
			}
			*links[i] = append(*links[i], ids[k])
		}
	}
	return j, checkNewJob(&j)
}

// dependencies returns a job's dependencies, ascending and unique.
func (d *DefinitionWriter) dependencies(def *workflow.JobDefinition) ([]int32, error) {
	deps := def.DependsOn
	for i := 1; i < len(deps); i++ {
		if deps[i] <= deps[i-1] {
			deps = slices.Clone(deps)
			slices.Sort(deps)
			deps = slices.Compact(deps)
			break
		}
	}
	if len(deps) > 0 && deps[0] < 0 {
		return nil, workflow.Errorf(workflow.CodeInvalid, "job %q: job number %d does not exist", def.Name, deps[0])
	}
	return deps, nil
}

// noteChild records the sub-workflow job of a stage.
func (d *DefinitionWriter) noteChild(def *workflow.JobDefinition) error {
	if def.Child == 0 {
		return nil
	}
	if other, known := d.children[def.Child]; known {
		return workflow.Errorf(workflow.CodeInvalid, "job %q stands for stage number %d, as job %q does", def.Name, def.Child, other)
	}
	d.children[def.Child] = def.Name
	return nil
}

// jobChunk is a chunk of jobs that is being written.
type jobChunk struct {
	d    *DefinitionWriter
	jobs []workflow.Job
	deps [][]int32
	// undoes has the number of the job that each one undoes; 0: none.
	undoes []int32

	base  int64 // the id of the first
	gates map[row.GateHash]definedGate
	later []int32
}

// ids returns the ids of jobs, if all are known.
func (c *jobChunk) ids(indexes []int32) ([]int64, bool) {
	known := len(c.d.jobs)
	if int(indexes[len(indexes)-1]) >= known+len(c.jobs) {
		return nil, false
	}
	ids := make([]int64, len(indexes))
	for k, i := range indexes {
		if int(i) < known {
			ids[k] = c.d.jobs[i]
		} else {
			ids[k] = c.base + int64(int(i)-known)
		}
	}
	return ids, true
}

// write stores the jobs. What it learns is kept only after the commit.
func (c *jobChunk) write(tx *core.Tx) error {
	in, err := newJobInserter(tx, c.d.id)
	if err != nil {
		return err
	}
	c.base, c.gates, c.later = in.first, map[row.GateHash]definedGate{}, nil
	gateOf, firsts := graph.GroupByDependencies(len(c.jobs), func(i int) []int32 { return c.deps[i] })
	gates, err := c.makeGates(tx, firsts)
	if err != nil {
		return err
	}
	for i := range c.jobs {
		j := &c.jobs[i]
		j.GateID = nil
		if g := gateOf[i]; g >= 0 && gates[g].id != 0 {
			j.GateID, c.deps[i] = &gates[g].id, gates[g].deps
		} else if g >= 0 {
			c.later = append(c.later, int32(len(c.d.jobs)+i))
		}
		if j.UndoesID, err = c.undone(i); err != nil {
			return err
		}
		if err := in.insert(j); err != nil {
			return err
		}
	}
	return in.finish()
}

// undone returns the job that the i-th one undoes; nil if none.
func (c *jobChunk) undone(i int) (*int64, error) {
	number := c.undoes[i]
	if number == 0 {
		return nil, nil
	}
	if number > 0 && int(number) <= len(c.d.jobs)+i {
		ids, _ := c.ids([]int32{number - 1})
		return &ids[0], nil
	}
	return nil, workflow.Errorf(workflow.CodeInvalid, "job %q undoes job number %d, which does not precede it", c.jobs[i].Name, number)
}

// makeGates returns the gate of each job's dependencies; without id if one of them has not
// arrived.
func (c *jobChunk) makeGates(tx *core.Tx, firsts []int32) ([]definedGate, error) {
	maker, err := engine.NewGateMaker(tx, c.d.id)
	if err != nil {
		return nil, err
	}
	gates := make([]definedGate, len(firsts))
	for g, first := range firsts {
		deps := c.deps[first]
		ids, known := c.ids(deps)
		if !known {
			continue
		}
		hash := row.HashGate(ids)
		if gates[g], known = c.d.gates[hash]; known {
			continue
		}
		gates[g].deps = deps
		if gates[g].id, err = maker.Add(hash, ids); err != nil { // no job has run yet
			return nil, err
		}
		c.gates[hash] = gates[g]
	}
	return gates, maker.Finish()
}

// keep stores what the commit made valid.
func (c *jobChunk) keep() {
	d := c.d
	for i, deps := range c.deps {
		if n := len(deps); n > 0 && int(deps[n-1]) >= len(d.jobs) {
			d.isOrdered = false
		}
		d.jobs = append(d.jobs, c.base+int64(i))
	}
	d.deps = append(d.deps, c.deps...)
	d.later = append(d.later, c.later...)
	maps.Copy(d.gates, c.gates)
}

// joinLater sets the gates of jobs that arrived before some of their dependencies.
func (d *DefinitionWriter) joinLater(tx *core.Tx, later []int32) error {
	for _, i := range later {
		ids := make([]int64, len(d.deps[i]))
		for k, dep := range d.deps[i] {
			ids[k] = d.jobs[dep]
		}
		gate, err := engine.GateOf(tx, d.id, ids)
		if err != nil {
			return err
		}
		if err := tx.ExecOne(`UPDATE job SET gate_id = ? WHERE id = ?`, gate, d.jobs[i]); err != nil {
			return fmt.Errorf("set the dependencies of job %d: %w", d.jobs[i], err)
		}
	}
	return nil
}
