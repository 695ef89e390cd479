package logscan

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestMatch(t *testing.T) {
	tests := map[string]string{
		"slurmstepd: error: Detected 1 oom_kill event in StepId=3.0":                                    "out of memory",
		"slurmstepd: error: *** STEP 7.0 CANCELLED AT 10:00 DUE TO TIME LIMIT ***":                      "time limit reached",
		"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 10:00 DUE TO PREEMPTION":                       "preempted",
		"slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 10:00 ***":                                  "canceled",
		"slurmstepd: error: couldn't chdir to `/x'":                                                     "working directory missing on the node",
		"slurmstepd: error: Exceeded step memory limit at some point.":                                  "out of memory",
		"slurmstepd: error: *** STEPD TERMINATED ON n1 AT 10:00 DUE TO JOB NOT ENDING WITH SIGNALS ***": "processes not ended by SIGKILL",
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
		kind, ok := Match(line)
		if kind.Description != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", line, kind.Description, want)
		}
	}
}

func TestScan(t *testing.T) {
	var got []Finding
	err := Scan(strings.NewReader("fine\r\nslurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 10:00 DUE TO TIME LIMIT ***\nMemoryError"), func(f Finding) { got = append(got, f) })
	want := []Finding{
		{2, "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 10:00 DUE TO TIME LIMIT ***", Kind{"time limit reached", Error, workflow.CauseWalltime}},
		{3, "MemoryError", Kind{"out of memory", Error, workflow.CauseOOM}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if job, node := SlurmJob(got[0].Line), Node(got[0].Line); job != "7" || node != "n1" {
		t.Errorf("it is about Slurm job %q on node %q", job, node)
	}
	if job, node := SlurmJob("MemoryError"), Node("MemoryError"); job != "" || node != "" {
		t.Errorf("it names Slurm job %q and node %q", job, node)
	}
	broken := errors.New("the disk is gone")
	if err := Scan(iotest.ErrReader(broken), nil); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// A log that is one long line takes no more memory than a short one.
func TestReadLineKeepsTheBeginning(t *testing.T) {
	r := bufio.NewReader(io.MultiReader(strings.NewReader("short\r\n"), strings.NewReader(strings.Repeat("x", 100_000)), strings.NewReader("\nlast")))
	for _, want := range []struct {
		n    int
		text string
		err  error
	}{{5, "short", nil}, {maxLine, strings.Repeat("x", maxLine), nil}, {4, "last", io.EOF}} {
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
