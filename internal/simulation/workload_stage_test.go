package simulation

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// addStages turns some jobs of a workload into sub-workflows, and gives it an end
// job and a compensation.
func addStages(d *workflow.Definition, s seed) {
	c := s.of("stages")
	jobs := len(d.Jobs)
	if c.is(0.4) {
		for i := range jobs {
			if c.is(0.1) {
				addChild(d, c, i, 1)
			}
		}
	}
	if c.is(0.4) {
		addEnd(d, c, 0, "")
	}
	if c.is(0.5) {
		addCompensation(d, c, jobs)
	}
}

// addStage adds a stage and returns its number.
func addStage(d *workflow.Definition, stage workflow.StageDefinition) int32 {
	d.Stages = append(d.Stages, stage)
	return int32(len(d.Stages))
}

// addChild makes a sub-workflow of a job.
func addChild(d *workflow.Definition, c chance, place, depth int) {
	parent := &d.Jobs[place]
	parent.Command, parent.FailureHandler, parent.Requirements, parent.RunTimeout, parent.Policy = "", "", "", nil, nil
	name := parent.Name
	stage := workflow.StageDefinition{Kind: workflow.StageChild, Name: name, Parent: parent.Stage}
	if c.is(0.3) {
		stage.Policy.SuccessIf = "completed >= 0.5 * total"
	}
	number := addStage(d, stage)
	d.Jobs[place].Child = number
	first := len(d.Jobs)
	for i := range 1 + c.IntN(4) {
		j := workflow.JobDefinition{
			Name: fmt.Sprintf("%s/k%d", name, i), Command: "work", Stage: number, Requirements: oneOf(c, shapes...).Name,
			FailureHandler: oneOf(c, "", "again", "repair"), RunIf: workflow.RunIf(oneOf(c, 0, 0, 0, 1, 2)),
		}
		for before := range i {
			if c.is(0.4) {
				j.DependsOn = append(j.DependsOn, int32(first+before))
			}
		}
		d.Jobs = append(d.Jobs, j)
	}
	if depth < 3 && c.is(0.2) {
		addChild(d, c, first, depth+1)
	}
	if c.is(0.4) {
		addEnd(d, c, number, name+"/")
	}
}

// addEnd gives a stage an end job.
func addEnd(d *workflow.Definition, c chance, stage int32, prefix string) {
	end := workflow.EndJob{Command: "end", Timeout: oneOf(c, "", "20s"), Retries: int64(c.IntN(3))}
	name := prefix + workflow.EndJobName
	j, err := end.Job(name, addStage(d, workflow.StageDefinition{Kind: workflow.StageEnd, Name: name, Parent: stage}))
	if err != nil {
		panic(err)
	}
	d.Jobs = append(d.Jobs, j)
}

// addCompensation gives some of the first jobs undos, and adds jobs that clean up.
func addCompensation(d *workflow.Definition, c chance, jobs int) {
	const failed, canceled = workflow.CompensateFailed, workflow.CompensateCanceled
	d.Policy.OnFailure = &workflow.CompensationPolicy{
		When:        oneOf(c, nil, []workflow.CompensationCase{canceled}, []workflow.CompensationCase{failed, canceled}, []workflow.CompensationCase{failed, canceled}),
		Timeout:     oneOf(c, "PT10M", "PT1H", "PT3H"),
		MaxAttempts: oneOf(c, nil, new(int64(1)), new(int64(5))),
	}
	if n := c.IntN(4); n > 0 {
		stage := addStage(d, workflow.StageDefinition{Kind: workflow.StageCompensation, Name: workflow.CompensationStage})
		first := int32(len(d.Jobs))
		for i := range int32(n) {
			j := workflow.JobDefinition{Name: fmt.Sprintf("on_failure/c%d", i), Command: "clean", Stage: stage, Requirements: oneOf(c, shapes...).Name}
			if i > 0 && c.is(0.5) {
				j.DependsOn = []int32{first + int32(c.IntN(int(i)))}
			}
			d.Jobs = append(d.Jobs, j)
		}
	}
	undos := map[int32]string{}
	for i := range int32(jobs) {
		if d.Jobs[i].Child == 0 && c.is(0.4) {
			undos[i] = "undo"
		}
	}
	stage.AddCompensation(d, undos)
}

// addLimits limits a workload: its failures and its time.
func addLimits(d *workflow.Definition, s seed) {
	c := s.of("limits")
	if c.is(0.2) {
		d.Policy.CancelSiblingsOn = append(d.Policy.CancelSiblingsOn, workflow.SiblingRule{Cause: oneOf(c, workflow.CauseSignal, workflow.CauseTimeout, workflow.CauseLost)})
	}
	if c.is(0.15) {
		d.Policy.MaxFailures = new(int64(1 + c.IntN(3)))
	}
	if c.is(0.1) {
		d.Policy.Deadline = &workflow.Deadline{
			After: oneOf(c, "PT10M", "PT1H"), Policy: oneOf(c, workflow.DeadlineAlert, workflow.DeadlineStopNew, workflow.DeadlineFail),
		}
	}
	if !c.is(0.3) {
		return
	}
	for i := range d.Jobs {
		if d.Jobs[i].Command == "work" && c.is(0.15) {
			d.Jobs[i].Policy = &workflow.JobPolicy{Timeouts: timeouts(c)}
		}
	}
}

// addAbort has a run aborted while most of it is still running.
func addAbort(d *workflow.Definition, s seed) {
	if c := s.of("give up"); c.is(0.15) {
		d.Policy.Deadline = &workflow.Deadline{After: oneOf(c, "PT2M", "PT5M", "PT10M"), Policy: workflow.DeadlineFail}
	}
}

// timeouts draws timeouts that the daemon enforces.
func timeouts(c chance) *workflow.Timeouts {
	const fail, failWorkflow, alert = workflow.OnTimeoutFail, workflow.OnTimeoutFailWorkflow, workflow.OnTimeoutAlert
	switch c.IntN(3) {
	case 0:
		return &workflow.Timeouts{Queue: &workflow.TimeLimit{After: oneOf(c, "PT2M", "PT20M"), Policy: oneOf(c, alert, fail, fail, failWorkflow)}}
	case 1:
		return &workflow.Timeouts{Total: &workflow.TimeLimit{After: oneOf(c, "PT1M", "PT10M"), Policy: oneOf(c, alert, fail, fail, failWorkflow)}}
	}
	return &workflow.Timeouts{Heartbeat: &workflow.TimeLimit{After: shortHeartbeat, Policy: oneOf(c, workflow.OnTimeoutRetry, fail, failWorkflow, alert)}}
}

// shortHeartbeat is longer than the silence of a runner whose messages are lost.
const shortHeartbeat = "PT6M"

// kindOf returns the kind of the stage that a job is in; empty for the main one.
func (w *world) kindOf(place int32) workflow.StageKind {
	if n := w.def.Jobs[place].Stage; n > 0 {
		return w.def.Stages[n-1].Kind
	}
	return ""
}

// within lists the jobs of a stage (0: the main one), with those of its sub-workflows,
// but not its end job.
func (w *world) within(stage int32) (all []int32) {
	for i := range w.def.Jobs {
		j := &w.def.Jobs[i]
		if j.Stage != stage {
			continue
		}
		all = append(all, int32(i))
		if j.Child > 0 {
			all = append(all, w.within(j.Child)...)
			if end, ok := w.endOf(j.Child); ok {
				all = append(all, end)
			}
		}
	}
	return all
}

// endOf returns the end job of a stage.
func (w *world) endOf(stage int32) (place int32, ok bool) {
	i := slices.IndexFunc(w.def.Jobs, func(j workflow.JobDefinition) bool {
		return j.Stage > 0 && w.def.Stages[j.Stage-1].Kind == workflow.StageEnd && w.def.Stages[j.Stage-1].Parent == stage
	})
	return int32(i), i >= 0
}

// parentOf returns the sub-workflow job whose jobs are in a child stage.
func (w *world) parentOf(stage int32) (place int32, ok bool) {
	i := slices.IndexFunc(w.def.Jobs, func(j workflow.JobDefinition) bool { return stage > 0 && j.Child == stage })
	return int32(i), i >= 0
}

// dependsOn reports whether a job depends on another one of its stage, directly or
// indirectly.
func (w *world) dependsOn(place, other int32) bool {
	for _, on := range w.def.Jobs[place].DependsOn {
		if on == other || w.dependsOn(on, other) {
			return true
		}
	}
	return false
}
