package usage_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

func jobUse(id int64, status workflow.JobStatus, code int64, minutes float64, memoryMiB int64, cpu float64) usage.JobUse {
	bytes := memoryMiB << 20
	return usage.JobUse{
		JobID: id, JobName: "j", Status: status, ReturnCode: code, ExecSeconds: minutes * 60,
		PeakMemoryBytes: &bytes, PeakCPUPercent: &cpu,
		Requirements: workflow.ResourceRequirements{ID: 7, Name: "small", NumCPUs: 2, Memory: "1g", Runtime: "PT10M"},
	}
}

func TestUtilization(t *testing.T) {
	var got []string
	for _, u := range jobUse(1, workflow.Completed, 0, 5, 2048, 150).Utilization() {
		got = append(got, string(u.Resource), u.RequestedText(), u.UsedText())
		if over := u.OverPercent(); (over > 0) != (u.Resource == workflow.ResourceMemory) {
			t.Errorf("%s is %v percent over its request", u.Resource, over)
		}
	}
	want := []string{"Memory", "1.00 GiB", "2.00 GiB", "CPU", "200.0%", "150.0%", "Runtime", "10m", "5m"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	unmeasured := jobUse(1, workflow.Completed, 0, 5, 0, 0)
	unmeasured.PeakMemoryBytes, unmeasured.PeakCPUPercent = nil, nil
	if n := len(unmeasured.Utilization()); n != 1 {
		t.Errorf("%d comparisons without measurements, want the runtime alone", n)
	}
	unmeasured.Requirements.Name = workflow.DefaultRequirements
	if all := unmeasured.Utilization(); all != nil {
		t.Errorf("compared with the default requirements: %v", all)
	}
}

func TestCorrectRequirements(t *testing.T) {
	const oom, timeout = 137, 152
	tests := []struct {
		name       string
		uses       []usage.JobUse
		jobs       int
		noDownsize bool
		want       []string // resource, old, new
	}{
		{"nothing was run", nil, 1, false, nil},
		{"more memory than requested", []usage.JobUse{jobUse(1, workflow.Completed, 0, 9, 2000, 190)}, 2, false,
			[]string{"Memory", "1g", "2400m"}},
		{"the largest counts, in whole gibibytes", []usage.JobUse{
			jobUse(1, workflow.Completed, 0, 9, 2000, 190), jobUse(2, workflow.Failed, 1, 9, 20000, 190),
		}, 2, false, []string{"Memory", "1g", "24g"}},
		{"killed below its limit", []usage.JobUse{jobUse(1, workflow.Failed, oom, 9, 100, 190)}, 1, false,
			[]string{"Memory", "1g", "1229m"}},
		{"killed for its time", []usage.JobUse{jobUse(1, workflow.Terminated, timeout, 10, 1000, 190)}, 1, false,
			[]string{"Runtime", "PT10M", "PT12M"}},
		{"more CPUs", []usage.JobUse{jobUse(1, workflow.Completed, 0, 9, 1000, 390)}, 2, false, []string{"CPU", "2", "5"}},
		{"too large a request", []usage.JobUse{jobUse(1, workflow.Completed, 0, 1, 100, 50)}, 1, false,
			[]string{"Memory", "1g", "120m", "Runtime", "PT10M", "PT2M", "CPU", "2", "1"}},
		{"too large, but not to be lowered", []usage.JobUse{jobUse(1, workflow.Completed, 0, 1, 100, 50)}, 1, true, nil},
		{"too large, but another job has not run", []usage.JobUse{jobUse(1, workflow.Completed, 0, 1, 100, 50)}, 2, false, nil},
		{"too large, but another job failed", []usage.JobUse{
			jobUse(1, workflow.Completed, 0, 1, 100, 50), jobUse(2, workflow.Failed, 1, 1, 100, 50),
		}, 2, false, nil},
		{"only just enough", []usage.JobUse{jobUse(1, workflow.Completed, 0, 9.5, 1000, 199)}, 1, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range usage.CorrectRequirements(tt.uses, map[int64]int{7: tt.jobs}, usage.CorrectionOptions{
				MemoryMultiplier: 1.2, CPUMultiplier: 1.2, RuntimeMultiplier: 1.2, NoDownsize: tt.noDownsize,
				Codes: workflow.ReturnCodes{OOM: oom, Timeout: timeout},
			}) {
				got = append(got, string(c.Resource), c.Old, c.New)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCorrectionsSettle(t *testing.T) {
	uses := []usage.JobUse{jobUse(1, workflow.Completed, 0, 1, 5000, 450)}
	users := map[int64]int{7: 1}
	o := usage.CorrectionOptions{MemoryMultiplier: 1.2, CPUMultiplier: 1.2, RuntimeMultiplier: 1.2}
	for _, c := range usage.CorrectRequirements(uses, users, o) {
		uses[0].Requirements = c.Apply(uses[0].Requirements)
	}
	want := workflow.ResourceRequirements{ID: 7, Name: "small", NumCPUs: 6, Memory: "6000m", Runtime: "PT2M"}
	if diff := cmp.Diff(want, uses[0].Requirements); diff != "" {
		t.Errorf("corrected (-want +got):\n%s", diff)
	}
	if again := usage.CorrectRequirements(uses, users, o); again != nil {
		t.Errorf("corrected again: %+v", again)
	}
}
