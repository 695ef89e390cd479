package slurm

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow/failure"
)

// MovedForward reports whether Slurm has moved the end of a running job forward, as
// it does with a job that is preempted with a grace time, and returns the evidence in
// words.
func (j *Job) MovedForward() (why string, is bool) {
	if j.State != Running {
		return "", false
	}
	left, is := failure.CutShort(j.Start, j.End, j.TimeLimit)
	return fmt.Sprintf("its end was moved forward with %s of its time limit left, as for a preemption with a grace time", left), is
}
