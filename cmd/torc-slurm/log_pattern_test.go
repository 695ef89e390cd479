package main

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMatchLine(t *testing.T) {
	tests := map[string]string{
		"slurmstepd: error: Detected 1 oom_kill event in StepId=3.0":                                    "out of memory",
		"slurmstepd: error: *** STEP 7.0 CANCELLED AT 10:00 DUE TO TIME LIMIT ***":                      "time limit reached",
		"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 10:00 DUE TO PREEMPTION":                       "preempted",
		"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 10:00 ***":                                  "canceled",
		"slurmstepd: error: couldn't chdir to `/x'":                                                     "working directory missing on the node",
		"slurmstepd: error: Exceeded step memory limit at some point.":                                  "out of memory",
		"slurmstepd: error: *** STEPD TERMINATED ON n1 AT 10:00 DUE TO JOB NOT ENDING WITH SIGNALS ***": "processes that SIGKILL did not end",
		"slurm_load_jobs error: Unable to contact slurm controller (connect failure)":                   "Slurm does not answer",
		"RuntimeError: CUDA out of memory. Tried to allocate 2 GiB":                                     "out of memory",
		"bash: line 1: ./nothing: No such file or directory":                                            "program or file missing",
		"ModuleNotFoundError: No module named 'numpy'":                                                  "Python module missing",
		"Traceback (most recent call last):":                                                            "Python exception",
		"time=2026-01-01T00:00:00Z level=ERROR msg=x":                                                   "error of the runner",
		"Warning: step size was reduced":                                                                "warning",
		"error: bad input":                                                                              "error",
		"the error was within its bounds":                                                               "",
		"errors: 0":                                                                                     "",
		"scancelled flights":                                                                            "",
		"":                                                                                              "",
	}
	for line, want := range tests {
		p, ok := matchLine(line)
		if p.description != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", line, p.description, want)
		}
	}
}

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
		if got, ok := workflowOfLog(name); got != want || ok != (want != 0) {
			t.Errorf("%s is of workflow %d, want %d", name, got, want)
		}
	}
}

// A log that is one long line takes no more memory than a short one.
func TestReadLineKeepsTheBeginning(t *testing.T) {
	r := bufio.NewReader(io.MultiReader(strings.NewReader("short\r\n"), strings.NewReader(strings.Repeat("x", 100_000)), strings.NewReader("\nlast")))
	for _, want := range []struct {
		n    int
		text string
		err  error
	}{{5, "short", nil}, {maxLogLine, strings.Repeat("x", maxLogLine), nil}, {4, "last", io.EOF}} {
		got, err := readLine(r)
		if got != want.text || !errors.Is(err, want.err) {
			t.Errorf("read %d characters (%.10s…) and %v, want %d and %v", len(got), got, err, want.n, want.err)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := readLine(bufio.NewReader(iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}
