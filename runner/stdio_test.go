package runner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestStdioModes(t *testing.T) {
	const base = "job_wf1_j1_r1_a1"
	for mode, want := range map[workflow.StdioMode]map[string]string{
		"":                     {base + ".o": "out\n", base + ".e": "err\n"},
		workflow.StdioSeparate: {base + ".o": "out\n", base + ".e": "err\n"},
		workflow.StdioCombined: {base + ".log": "out\nerr\n"},
		workflow.StdioNoStdout: {base + ".e": "err\n"},
		workflow.StdioNoStderr: {base + ".o": "out\n"},
		workflow.StdioNone:     {},
	} {
		t.Run(string(mode), func(t *testing.T) {
			j := job("echo out; echo err >&2")
			j.Stdio = &workflow.StdioConfig{Mode: mode}
			o := testOptions(t, runnertest.New(j))
			run(t, o)
			got := make(map[string]string)
			for _, name := range logNames(t, o.OutputDir) {
				data, err := os.ReadFile(filepath.Join(o.OutputDir, output.StdioDir, name))
				if err != nil {
					t.Fatal(err)
				}
				got[name] = string(data)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeleteOnSuccess(t *testing.T) {
	good, bad := job("echo x"), job("echo x; exit 1")
	good.Stdio = &workflow.StdioConfig{DeleteOnSuccess: ptr(true)}
	bad.Stdio = good.Stdio
	o := testOptions(t, runnertest.New(good, bad))
	run(t, o)
	names := logNames(t, o.OutputDir)
	slices.Sort(names)
	if want := []string{"job_wf1_j2_r1_a1.e", "job_wf1_j2_r1_a1.o"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
}

func TestExistingLogIsKept(t *testing.T) {
	o := testOptions(t, runnertest.New(job("echo new")))
	path := output.LogPath(o.OutputDir, 1, 1, 1, 1, ".o")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".1", []byte("older\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, o)
	for ending, want := range map[string]string{".o": "new\n", ".o.1": "older\n", ".o.2": "old\n"} {
		if got := logText(t, o.OutputDir, 1, 1, ending); got != want {
			t.Errorf("the file with %s is %q, want %q", ending, got, want)
		}
	}
}

func TestBinaryOutput(t *testing.T) {
	d := runnertest.New(job("head -c 100000 /dev/urandom | tee /dev/stderr; exit 1"))
	o := testOptions(t, d)
	run(t, o)
	e := d.Job(1).Attempts[0].Evidence
	if !utf8.ValidString(e.StderrTail) || len(e.StderrTail) == 0 || len(e.StderrTail) > output.TailSize {
		t.Errorf("tail of %d bytes, valid: %v", len(e.StderrTail), utf8.ValidString(e.StderrTail))
	}
	if out, err := logText(t, o.OutputDir, 1, 1, ".o"), logText(t, o.OutputDir, 1, 1, ".e"); len(out) != 100000 || out != err {
		t.Errorf("files of %d and %d bytes", len(out), len(err))
	}
}

func TestUnwritableOutput(t *testing.T) {
	d := runnertest.New(job("true"), runnertest.Job{Grant: job("true").Grant, After: []int64{1}})
	o := testOptions(t, d)
	// A directory in the place of the file cannot be written to, even by root.
	if err := os.MkdirAll(output.LogPath(o.OutputDir, 1, 1, 1, 1, ".o"), 0o777); err != nil {
		t.Fatal(err)
	}
	run(t, o)
	e := d.Job(1).Attempts[0].Evidence
	contains(t, "spawn error", e.SpawnError, "open output file")
	if e.SpawnOfCommand || e.SpawnErrno == 0 || e.ExitCode != nil {
		t.Errorf("evidence %+v", e)
	}
	if d.Job(2).Status != workflow.Completed {
		t.Error("the runner did not continue")
	}
}

func TestOutputDirectoryThatCannotBeMade(t *testing.T) {
	o := testOptions(t, runnertest.New())
	path := filepath.Join(o.OutputDir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.OutputDir = filepath.Join(path, "out")
	_, err := tryRun(t, o)
	if workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("error %v", err)
	}
}
