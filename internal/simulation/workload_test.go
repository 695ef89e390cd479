package simulation

import (
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// shapes are the requirements that jobs may have.
var shapes = []workflow.ResourceRequirements{
	{Name: "small", NumCPUs: 1, NumNodes: 1, Memory: "100m", Runtime: "PT2M"},
	{Name: "wide", NumCPUs: 3, NumNodes: 1, Memory: "1g", Runtime: "PT5M"},
	{Name: "long", NumCPUs: 1, NumNodes: 1, Memory: "500m", Runtime: "PT10M"},
}

// workload draws a workflow. Most of its jobs depend on a few earlier ones.
func workload(s seed) *workflow.Definition {
	c := s.of("workload")
	wait := int64(c.IntN(120))
	d := &workflow.Definition{
		Name: "sim", User: "sim", Requirements: shapes, ComputeNodeWaitForNewJobsSeconds: &wait,
		FailureHandlers: []workflow.FailureHandlerDefinition{
			{Name: "again", Rules: []workflow.FailureRule{{MatchAllExitCodes: true, MaxRetries: 3}}},
			{Name: "repair", Rules: []workflow.FailureRule{
				{ExitCodes: []int64{74}, MaxRetries: 4, RecoveryScript: "repair"}, {ExitCodes: []int64{1}, MaxRetries: 2},
			}},
		},
	}
	end := s.of("end")
	d.Policy = &workflow.RunPolicy{}
	if end.is(0.3) {
		d.Policy.CancelSiblingsOn = []workflow.SiblingRule{{Cause: workflow.CauseExit}}
	}
	if end.is(0.3) {
		d.Policy.End = &workflow.EndPolicy{SuccessIf: `completed >= 0.5 * total && failed_in("j?") < 3`}
	}
	for i := range 1 + c.IntN(40) {
		j := workflow.JobDefinition{
			Name: fmt.Sprintf("j%d", i), Command: "work", Priority: int64(c.IntN(3)),
			Requirements: oneOf(c, shapes...).Name, FailureHandler: oneOf(c, "", "again", "repair"), RunIf: workflow.RunIfOf(!c.is(0.2)),
		}
		if j.RunIf == workflow.RunIfAlways && end.is(0.4) {
			j.RunIf = workflow.RunIfFailure
		}
		if c.is(0.1) {
			j.RunTimeout = &workflow.RunTimeout{AfterSeconds: 20, GraceSeconds: 3}
		}
		for before := max(0, i-8); before < i; before++ {
			if c.is(0.15) {
				j.DependsOn = append(j.DependsOn, int32(before))
			}
		}
		d.Jobs = append(d.Jobs, j)
	}
	addStages(d, s)
	addLimits(d, s)
	addAbort(d, s)
	return d
}

// fate is the course of one execution of a command.
type fate struct {
	spawnError bool
	lasts      time.Duration
	code       int
	signal     int
	deaf       bool          // ignores SIGTERM
	lingers    time.Duration // after SIGTERM
}

// fateOf draws the course of an execution of a command.
func fateOf(s seed, command string, job, attempt int64) fate {
	c := s.of("fate", command, job, attempt)
	f := fate{
		spawnError: c.is(0.01), lasts: c.spread(100*time.Millisecond, 100*time.Second), deaf: c.is(0.1),
		lingers: c.spread(time.Millisecond, 4*time.Second),
	}
	if c.is(0.04) {
		f.lasts = c.spread(time.Minute, 30*time.Minute)
	}
	switch {
	case c.is(0.8):
	case c.is(0.8):
		f.code = oneOf(c, 1, 2, 74)
	default:
		f.signal = 11
	}
	return f
}
