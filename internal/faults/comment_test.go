package faults

import (
	"regexp"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// TestComment: squeue and scontrol show the progress of the workflow.
func TestComment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(8, 6, ""))
	a := w.untilRunning(id, 2)
	progress := regexp.MustCompile(`[1-7]/8 done`)
	says := func(program string, args ...string) func() bool {
		return func() bool {
			out, err := w.real.User().Run(t.Context(), slurm.Command{Program: program, Args: args})
			return err == nil && progress.Match(out.Stdout)
		}
	}
	job := text(a.SlurmJobID)
	w.eventually(time.Minute, "squeue shows the progress", says(slurm.Squeue, "--noheader", "--format=%k", "--jobs="+job))
	w.eventually(time.Minute, "scontrol shows the progress", says(slurm.Scontrol, "show", "job", job))
	w.settle(id, nil)
	w.expectOneAttempt(id)
}
