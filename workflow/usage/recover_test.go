package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func failedJob(id int64, cause workflow.CauseKind, code int64, seconds float64) FailedJob {
	return FailedJob{Cause: cause, JobUse: JobUse{JobID: id, Status: workflow.Failed, ReturnCode: code, ExecSeconds: seconds,
		Requirements: workflow.ResourceRequirements{ID: 7, Name: "small", NumCPUs: 1, NumNodes: 1, Memory: "1g", Runtime: "PT10M"}}}
}

func TestFailureGroup(t *testing.T) {
	more := int64(2 << 30)
	used := failedJob(1, "", 1, 60)
	used.PeakMemoryBytes = &more
	for _, tc := range []struct {
		name string
		job  FailedJob
		want FailureGroup
	}{
		{"oom", failedJob(1, workflow.CauseOOM, 0, 60), GroupMemory},
		{"its own limit", failedJob(1, workflow.CauseTimeout, 1, 60), GroupRuntime},
		{"a short rest of an allocation", failedJob(1, workflow.CauseWalltime, 152, 60), GroupOutside},
		{"walltime after all of its runtime", failedJob(1, workflow.CauseWalltime, 152, 590), GroupRuntime},
		{"node failure", failedJob(1, workflow.CauseNodeFail, 1, 60), GroupOutside},
		{"preempted", failedJob(1, workflow.CausePreempted, 1, 60), GroupOutside},
		{"canceled by its owner", failedJob(1, workflow.CauseCanceledUser, 1, 60), GroupUnknown},
		{"exit", failedJob(1, workflow.CauseExit, 137, 60), GroupUnknown},
		{"of torc: killed early", failedJob(1, "", 137, 60), GroupMemory},
		{"of torc: killed late", failedJob(1, "", 137, 570), GroupRuntime},
		{"of torc: more memory than asked for", used, GroupMemory},
		{"of torc: timeout", failedJob(1, "", 152, 60), GroupRuntime},
		{"of torc: lost", failedJob(1, "", -128, 60), GroupOutside},
		{"of torc: failed", failedJob(1, "", 3, 60), GroupUnknown},
	} {
		if got := tc.job.Group(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestCorrectFailed: a job gets what it needs, and its neighbours keep theirs.
func TestCorrectFailed(t *testing.T) {
	jobs := []FailedJob{failedJob(1, workflow.CauseOOM, 0, 60), failedJob(2, workflow.CauseTimeout, 1, 600), failedJob(3, workflow.CauseNodeFail, 1, 60)}
	o := CorrectionOptions{MemoryMultiplier: 1.5, CPUMultiplier: 1, RuntimeMultiplier: 1.5}
	type change struct {
		Memory, Runtime string
		Jobs            []int64
		Clone           bool
	}
	correct := func(users int) (got []change) {
		for _, c := range CorrectFailed(jobs, map[int64]int{7: users}, o) {
			got = append(got, change{c.To.Memory, c.To.Runtime, c.JobIDs, c.Clone})
		}
		return got
	}
	want := []change{{"1536m", "PT15M", []int64{1, 2}, true}}
	if diff := cmp.Diff(want, correct(5)); diff != "" {
		t.Errorf("with others (-want +got):\n%s", diff)
	}
	want[0].Clone = false
	if diff := cmp.Diff(want, correct(2)); diff != "" {
		t.Errorf("without others (-want +got):\n%s", diff)
	}
	if got := CorrectFailed(jobs[2:], map[int64]int{7: 1}, o); len(got) != 0 {
		t.Errorf("a node failure changes %v", got)
	}
}
