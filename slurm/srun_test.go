package slurm

import (
	"strings"
	"testing"
)

// TestRefusedStep has what srun 22.05 of a real cluster printed, word for word, except
// for the unknown reason.
func TestRefusedStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stderr string
		refused      bool
		class        Class
	}{
		{"controller stopped", "srun: error: Unable to confirm allocation for job 2: Unable to contact slurm controller (connect failure)\n" +
			"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 2\n", true, Temporary},
		{"controller hangs", "srun: error: Unable to confirm allocation for job 2: Socket timed out on send/recv operation\n" +
			"srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 2\n", true, Temporary},
		{"controller with an old state", "srun: error: Unable to confirm allocation for job 1: Job is pending execution\n", true, Temporary},
		{"no room, immediate", "srun: error: Unable to create step for job 2: Requested nodes are busy\n", true, Temporary},
		{"told to end while it waited", "srun: Job 2 step creation temporarily disabled, retrying (Requested nodes are busy)\n" +
			"srun: Cancelled pending job step with signal 15\n" +
			"srun: error: Unable to create step for job 2: Job/step already completing or completed\n", true, NotFound},
		{"allocation is over", "srun: error: Unable to confirm allocation for job 999999: Invalid job id specified\n", true, NotFound},
		{"no room, node", "srun: error: Unable to create step for job 2: Requested node configuration is not available\n", true, Shortage},
		{"no room, memory", "srun: error: Unable to create step for job 2: Memory required by task is not available\n", true, Shortage},
		{"no room, CPUs", "srun: error: Unable to create step for job 2: More processors requested than permitted\n", true, Shortage},
		{"unknown reason", "srun: error: Unable to create step for job 2: Some error of another version\n", true, Permanent},
		{"waited, and started", "srun: Job 2 step creation temporarily disabled, retrying (Requested nodes are busy)\n" +
			"srun: Step created for job 2\nsrun: error: n1: task 0: Exited with exit code 4\n", false, ""},
		{"a command that failed", "srun: error: n1: task 0: Exited with exit code 3\n", false, ""},
		{"a node that failed", "srun: error: Node failure on n1\n", false, ""},
	}
	for _, tt := range tests {
		got, refused := RefusedStep(tt.stderr)
		if refused != tt.refused || refused && got.Class != tt.class {
			t.Errorf("%s: %+v, %v", tt.name, got, refused)
		}
		if refused && got.Passes() != (tt.class != Permanent) {
			t.Errorf("%s: passes: %v", tt.name, got.Passes())
		}
	}
}

func TestStepErrorsAreLowerCase(t *testing.T) {
	t.Parallel()
	for _, row := range stepErrors {
		if row.text != strings.ToLower(row.text) {
			t.Errorf("%q is compared with lower case", row.text)
		}
	}
}
