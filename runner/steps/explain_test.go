package steps

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestExplainByWords(t *testing.T) {
	for _, tc := range []struct {
		name, stderr string
		code         int64
		want         string // step state, exit code or signal, spawn error
	}{
		{"nothing", "", 3, "exit 3"},
		{"printed by the command itself", "Out Of Memory\nslurm is fine\n", 1, "exit 1"},
		{"killed for memory", "srun: error: n1: task 0: Out Of Memory\n", 1, "OUT_OF_MEMORY"},
		{"its child was", "x\nslurmstepd-n1: error: Detected 1 oom-kill event(s) in StepId=1.2.\n", 0, "OUT_OF_MEMORY exit 0"},
		{"srun abandoned it and exits with 0", "srun: error: Timed out waiting for job step to complete\n", 0, "signal 9"},
		{"never started", "srun: error: Unable to create step for job 12: Job/step already completing or completed\n", 1, "spawn"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := workflow.Evidence{ExitCode: &tc.code}
			ExplainByStderr(&e, tc.stderr, false)
			var got []string
			if e.Slurm != nil {
				got = append(got, e.Slurm.StepState)
			}
			if e.ExitCode != nil {
				got = append(got, "exit "+string('0'+rune(*e.ExitCode)))
			}
			if e.Signal != 0 {
				got = append(got, "signal "+string('0'+rune(e.Signal)))
			}
			if e.SpawnError != "" {
				got = append(got, "spawn")
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}

func TestExplainByStep(t *testing.T) {
	code := func(n int64) *int64 { return &n }
	e := workflow.Evidence{ExitCode: code(1)}
	ExplainByStep(&e, &slurm.Record{State: slurm.OutOfMemory, MaxRSS: 5 << 20, Exit: slurm.ExitCode{Signal: 125}})
	if e.ExitCode != nil || e.Slurm.StepState != "OUT_OF_MEMORY" || e.Slurm.ExitCode != "0:125" || e.PeakMemoryBytes != 5<<20 {
		t.Errorf("out of memory: %+v, %+v", e, e.Slurm)
	}
	e = workflow.Evidence{ExitCode: code(139)}
	ExplainByStep(&e, &slurm.Record{State: slurm.Cancelled})
	if e.Slurm != nil || *e.ExitCode != 139 {
		t.Errorf("died by its own signal: %+v", e.Slurm)
	}
}
