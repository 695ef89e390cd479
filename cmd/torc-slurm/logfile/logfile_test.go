package logfile

import "testing"

func TestWorkflowOfLog(t *testing.T) {
	tests := map[string]int64{
		"job_wf12_j3_r1_a2.o":                   12,
		"job_wf12_j3_r1_a2_recovery.e":          12,
		"job_runner_node-7_wf3_r1.log":          3,
		"job_runner_wf9_wf4_r2.log":             4, // a host that is called wf9
		"job_runner_slurm_wf5_sl77_n0_pid1.log": 5,
		"slurm_output_wf6_sl77.o":               6,
		"watch_login_wf8.log":                   8,
		"result_wf1.csv":                        0,
		"job_wf_j3.o":                           0,
		"torc.db":                               0,
	}
	for name, want := range tests {
		if got, ok := WorkflowOf(name); got != want || ok != (want != 0) {
			t.Errorf("%s is of workflow %d, want %d", name, got, want)
		}
	}
}
