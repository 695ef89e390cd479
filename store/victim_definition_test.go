package store

import (
	"fmt"
	"math/rand/v2"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// victimDefinition is a workflow of jobs in random order: with a condition of success,
// sub-workflows, end jobs, undos and a job that cleans up, each half of the time.
func victimDefinition() *workflow.Definition {
	d := &workflow.Definition{Name: "w", User: "me", Policy: &workflow.RunPolicy{}, FailureHandlers: []workflow.FailureHandlerDefinition{
		{Name: "h", Rules: []workflow.FailureRule{{ExitCodes: []int64{9}, MaxRetries: 3}, {ExitCodes: []int64{8}, MaxRetries: 2, RecoveryScript: "fix"}}}}}
	if rand.IntN(2) == 0 {
		d.Policy.End = &workflow.EndPolicy{SuccessIf: `completed_in("j?") > 5 && failed < 0.3 * total || attempts_by("lost") > 3`}
	}
	addVictimJobs(d, 0, "", 10+rand.IntN(40))
	if rand.IntN(2) == 0 {
		d.Policy.OnFailure = &workflow.CompensationPolicy{When: []workflow.CompensationCase{workflow.CompensateFailed, workflow.CompensateCanceled}}
		d.Stages = append(d.Stages, workflow.StageDefinition{Kind: workflow.StageCompensation, Name: workflow.CompensationStage})
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: "clean up", Command: "true", Stage: int32(len(d.Stages))})
		undos := map[int32]string{}
		for i, j := range d.Jobs {
			if j.Stage == 0 && j.Child == 0 && rand.IntN(3) == 0 {
				undos[int32(i)] = "true"
			}
		}
		stage.AddCompensation(d, undos)
	}
	return d
}

// addVictimJobs adds jobs to a stage, with stages of their own: some sub-workflows, which
// may contain others, and an end job.
func addVictimJobs(d *workflow.Definition, stage int32, prefix string, n int) {
	first := len(d.Jobs)
	var children []int
	for i := range n {
		j := workflow.JobDefinition{Name: fmt.Sprintf("%sj%d", prefix, i), Command: "true", FailureHandler: "h", RunIf: workflow.RunIf(max(0, rand.IntN(6)-3)), Stage: stage}
		for k := range i {
			if rand.IntN(i) < 2 {
				j.DependsOn = append(j.DependsOn, int32(first+k))
			}
		}
		if rand.IntN(12) == 0 {
			j.Command, j.FailureHandler = "", ""
			children = append(children, first+i)
		}
		d.Jobs = append(d.Jobs, j)
	}
	add := func(kind workflow.StageKind, name string) int32 {
		d.Stages = append(d.Stages, workflow.StageDefinition{Kind: kind, Name: name, Parent: stage})
		return int32(len(d.Stages))
	}
	if rand.IntN(2) == 0 {
		name := prefix + workflow.EndJobName
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: name, Command: "true", Stage: add(workflow.StageEnd, name)})
	}
	for _, i := range children {
		name := d.Jobs[i].Name
		d.Jobs[i].Child = add(workflow.StageChild, name)
		addVictimJobs(d, d.Jobs[i].Child, name+"/", 1+rand.IntN(5))
	}
}
