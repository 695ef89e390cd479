package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestSchedulerOf: whatever a runner says, torc's clients find its allocation.
func TestSchedulerOf(t *testing.T) {
	a := workflow.Allocation{ScheduledComputeNodeID: 7, SlurmJobID: 123}
	for said, want := range map[string]string{
		"": `{"scheduler_id":7,"slurm_job_id":"123","type":"slurm"}`,
		`{"scheduler_id":123,"slurm_node_id":1,"type":"x"}`: `{"scheduler_id":7,"slurm_job_id":"123","slurm_node_id":1,"type":"slurm"}`,
	} {
		var text []byte
		if said != "" {
			text = []byte(said)
		}
		if got, err := schedulerOf(&a, text); err != nil || string(got) != want {
			t.Errorf("schedulerOf(%s) = %s, %v, want %s", said, got, err, want)
		}
	}
	if _, err := schedulerOf(&a, []byte(`[1]`)); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a list: %v", err)
	}
}
