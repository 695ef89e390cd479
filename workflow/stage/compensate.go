package stage

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

// UndoPrefix precedes the name of a job in the name of its undo.
const UndoPrefix = "undo/"

// CompensationOf returns the number of the compensation's stage; 0 if there is none.
func CompensationOf(d *workflow.Definition) int32 {
	return int32(1 + slices.IndexFunc(d.Stages, func(s workflow.StageDefinition) bool { return s.Kind == workflow.StageCompensation }))
}

// AddCompensation completes the compensation of a definition. Its stage already has the jobs
// that clean up. The map undos has the undo commands by the index of the job that they undo.
// Undos run before the jobs that clean up, in the reverse order of their jobs. The graph must
// not have a cycle.
//
// A failed undo does not prevent other undos: jobs that depend on it run anyway.
func AddCompensation(d *workflow.Definition, undos map[int32]string) {
	stage := CompensationOf(d)
	if stage == 0 {
		if len(undos) == 0 {
			return
		}
		d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageCompensation, Name: workflow.CompensationStage})
		stage = int32(len(d.Stages))
	}
	var policy *workflow.CompensationPolicy
	if d.Policy != nil {
		policy = d.Policy.OnFailure
	}
	c := compensator{def: d, stage: stage, retries: workflow.PolicyRef{Policy: policy.Retries()}}
	deps := graph.Dependencies(d)
	var last []int32
	if len(undos) > 0 {
		last = c.addUndos(undos, deps)
	}
	c.finishCleanup(deps, last)
}

// compensator adds the jobs of a compensation.
type compensator struct {
	def     *workflow.Definition
	stage   int32
	retries workflow.PolicyRef // applies after the jobs' own policies
}

// addUndos adds the undos, and returns those that run last.
func (c *compensator) addUndos(undos map[int32]string, deps [][]int32) (last []int32) {
	d := c.def
	n, order := runOrder(d, deps)
	after := graph.UndoOrder(n, order, func(i int) bool { return undos[int32(i)] != "" })
	at := make(map[int32]int32, len(after)) // the index of the undo of each job
	for i := range int32(len(deps)) {
		if undos[i] != "" {
			at[i] = int32(len(d.Jobs) + len(at))
		}
	}
	policy := &workflow.JobPolicy{RetryPolicies: []workflow.PolicyRef{c.retries}}
	known := map[graph.ListKey][]int32{}
	waited := map[int32]bool{}
	for i := range int32(len(deps)) {
		if undos[i] == "" {
			continue
		}
		before, shared := known[graph.KeyOf(after[i])]
		if !shared {
			for _, k := range after[i] {
				before = append(before, at[k])
				waited[at[k]] = true
			}
			known[graph.KeyOf(after[i])] = before
		}
		j := &d.Jobs[i]
		d.Jobs = append(d.Jobs, workflow.JobDefinition{
			Name: UndoPrefix + j.Name, Command: undos[i], JobSettings: j.JobSettings, Env: j.Env, Labels: j.Labels, Requirements: j.Requirements,
			Scheduler: j.Scheduler, JobOptions: workflow.JobOptions{Stdio: j.Stdio, Policy: policy}, RunIf: workflow.RunIfAlways, Stage: c.stage, Undoes: i + 1, DependsOn: before,
		})
	}
	for i := range int32(len(deps)) {
		if u, ok := at[i]; ok && !waited[u] {
			last = append(last, u)
		}
	}
	return last
}

// finishCleanup makes the jobs that clean up run after the undos.
func (c *compensator) finishCleanup(deps [][]int32, last []int32) {
	policies := map[*workflow.JobPolicy]*workflow.JobPolicy{}
	for i := range deps {
		j := &c.def.Jobs[i]
		if j.Stage != c.stage {
			continue
		}
		if policies[j.Policy] == nil {
			with := &workflow.JobPolicy{}
			if j.Policy != nil {
				*with = *j.Policy
			}
			with.RetryPolicies = append(slices.Clone(with.RetryPolicies), c.retries)
			policies[j.Policy] = with
		}
		j.Policy = policies[j.Policy]
		if len(deps[i]) == 0 {
			j.DependsOn, j.RunIf = last, workflow.RunIfAlways
		}
	}
}

// runOrder returns the graph of which job runs after which: the jobs of a sub-workflow after
// the job that stands for it, and the dependents of that job after all of them. The graph has
// additional nodes, after those of the jobs, for the ends of the stages.
func runOrder(d *workflow.Definition, deps [][]int32) (n int, order graph.Deps) {
	if len(d.Stages) == 0 {
		return len(deps), func(i int) []int32 { return deps[i] }
	}
	jobs := int32(len(deps))
	standsFor := make([]int32, len(d.Stages)+1) // the job of each stage
	within := make([][]int32, len(d.Stages)+1)
	for i := range jobs {
		if j := &d.Jobs[i]; j.Child > 0 {
			standsFor[j.Child] = i
		}
	}
	endOf := func(i int32) int32 {
		if child := d.Jobs[i].Child; child > 0 {
			return jobs + child
		}
		return i
	}
	behind := make([][]int32, int(jobs)+len(d.Stages)+1)
	for i := range jobs {
		for _, dep := range deps[i] {
			behind[i] = append(behind[i], endOf(dep))
		}
		s := d.Jobs[i].Stage
		if s > 0 && d.Stages[s-1].Kind == workflow.StageChild {
			behind[i] = append(behind[i], standsFor[s])
			within[s] = append(within[s], endOf(i))
		}
	}
	for s := 1; s <= len(d.Stages); s++ {
		if d.Stages[s-1].Kind == workflow.StageChild {
			behind[jobs+int32(s)] = append(within[s], standsFor[s])
		}
	}
	return len(behind), func(i int) []int32 { return behind[i] }
}
