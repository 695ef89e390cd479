package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/runner/process"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
)

func TestJobEnvironment(t *testing.T) {
	j := job("env -0 | tr '\\n' ' ' | tr '\\0' '\\n' | grep -E '^(TORC_|MINE|SHARED|INHERITED|.*_VISIBLE_DEVICES)' | sort")
	j.Name = "a name"
	j.Env = map[string]string{"MINE": "job's\nown", "SHARED": "job", "TORC_JOB_ID": "no"}
	j.GPUs = 2
	d := runnertest.New(j)
	d.Welcome.RunID = 1
	d.Welcome.Env = map[string]string{"SHARED": "workflow", "SHARED2": "workflow", "TORC_RUN_ID": "no", "CUDA_VISIBLE_DEVICES": "no"}
	d.Welcome.SubmissionDirectory = "/where"
	o := testOptions(t, d)
	o.APIURL = "http://here"
	o.Environ = append(inheritedEnvironment(), "INHERITED=yes", "SHARED2=inherited", "TORC_WORKFLOW_ID=77")
	o.Resources.GPUDevices = []string{"3", "5", "7"}
	run(t, o)
	want := []string{
		"CUDA_VISIBLE_DEVICES=3,5", "HIP_VISIBLE_DEVICES=3,5", "INHERITED=yes", "MINE=job's own",
		"ROCR_VISIBLE_DEVICES=3,5", "SHARED=job", "SHARED2=workflow",
		"TORC_API_URL=http://here", "TORC_ATTEMPT_ID=1", "TORC_ATTEMPT_KEY=KEY", "TORC_GPU_VISIBLE_DEVICES=3,5",
		"TORC_JOB_ID=1", "TORC_JOB_NAME=a name", "TORC_OUTPUT_DIR=" + o.OutputDir, "TORC_RUN_ID=1",
		"TORC_TERMINATION_FILE=" + o.OutputDir + "/termination/job_wf1_j1_r1_a1.txt",
		"TORC_WORKFLOW_ID=1", "TORC_WORKFLOW_SUBMISSION_DIR=/where",
	}
	var got []string
	for line := range strings.Lines(logText(t, o.OutputDir, 1, 1, ".o")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, process.AttemptKeyVariable+"=") {
			line = process.AttemptKeyVariable + "=KEY"
		}
		got = append(got, line)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestShellCommand(t *testing.T) {
	for _, c := range []struct{ script, command, want string }{
		{"", "run", "run"},
		{" \n\t\n", "run", "run"},
		{"srun -n 2", "run", "srun -n 2 run"},
		{"srun -n 2\n", "run", "srun -n 2 run"},
		{"module load x\nexport A=1\n", "run", "module load x\nexport A=1\nrun"},
	} {
		if got := shellCommand(c.script, c.command); got != c.want {
			t.Errorf("shellCommand(%q, %q) = %q, want %q", c.script, c.command, got, c.want)
		}
	}
}

func TestGPUPool(t *testing.T) {
	p := newGPUPool([]string{"a", "b", "c"})
	take := func(n int64, want string, wantShared bool) []string {
		t.Helper()
		got, shared := p.take(n)
		if strings.Join(got, "") != want || shared != wantShared {
			t.Errorf("take(%d) = %v, %v; want %s, %v", n, got, shared, want, wantShared)
		}
		return got
	}
	take(0, "", false)
	first := take(2, "ab", false)
	take(1, "c", false)
	take(2, "ab", true)
	take(2, "ca", true)
	p.give(first)
	take(2, "ab", false)
	take(9, "bca", true)
	if got, _ := newGPUPool(nil).take(1); got != nil {
		t.Errorf("devices %v of none", got)
	}
}

func TestDetectGPUs(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"CUDA_VISIBLE_DEVICES=0,2", "SLURM_JOB_GPUS=9"}, "0 2"},
		{[]string{"SLURM_STEP_GPUS=gpu:1,gpu:3", "SLURM_JOB_GPUS=9"}, "1 3"},
		{[]string{"SLURM_JOB_GPUS=4"}, "4"},
		{[]string{"CUDA_VISIBLE_DEVICES="}, ""},
		{[]string{"CUDA_VISIBLE_DEVICES=-1"}, ""},
		{[]string{"CUDA_VISIBLE_DEVICES=GPU-8f1,MIG-2"}, "GPU-8f1 MIG-2"},
	} {
		if got := strings.Join(detectGPUs(c.environ), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.environ, got, c.want)
		}
	}
	if got := rocmDevices([]string{"device,Device ID", "card0,0x740f", "card1,0x740f"}); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("rocm: %v", got)
	}
}

func TestDetectGPUsByTool(t *testing.T) {
	dir := t.TempDir()
	tool := func(name, script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	if got := detectGPUs(nil); len(got) != 0 {
		t.Errorf("no tool: %v", got)
	}
	tool("nvidia-smi", "exit 9")
	tool("rocm-smi", "echo device,id; echo card0,0x1; echo card1,0x1")
	if got := detectGPUs(nil); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("rocm-smi: %v", got)
	}
	tool("nvidia-smi", "echo 0; echo 1; echo 2")
	if got := detectGPUs(nil); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("nvidia-smi: %v", got)
	}
}

func TestGPUsComeBack(t *testing.T) {
	var jobs []runnertest.Job
	for range 6 {
		j := job("echo $CUDA_VISIBLE_DEVICES; exit 1")
		j.GPUs, j.Retries = 1, 1
		jobs = append(jobs, j)
	}
	d := runnertest.New(jobs...)
	o := testOptions(t, d)
	o.Resources.GPUDevices = []string{"0", "1"}
	run(t, o)
	for id := range int64(6) {
		if n := len(d.Job(id + 1).Attempts); n != 2 {
			t.Errorf("job %d has %d attempts", id+1, n)
		}
	}
}
