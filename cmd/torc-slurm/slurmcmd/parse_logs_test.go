package slurmcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/logfile"
	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/workflow/logscan"
)

// TestRealSlurmLogs names what Slurm 22.05 wrote when jobs of a real cluster
// ended badly: testdata/slurm-22.05 has its files, unchanged.
func TestRealSlurmLogs(t *testing.T) {
	const dir = "testdata/slurm-22.05"
	files, err := filepath.Glob(dir + "/slurm_output_*.e")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	var ids []string
	for _, f := range files {
		_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".e"), "_sl")
		ids = append(ids, id)
	}
	s := slurmLogs{places: logscan.NewPlaces(ids...)}
	for _, f := range files {
		if err := s.file(logfile.File{Dir: dir, Path: filepath.Base(f)}); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	rows := make([][]string, len(s.report.Issues))
	for i, x := range s.report.Issues {
		for _, column := range slurmIssueColumns.Columns[1:] { // the name of the file has the Slurm job
			rows[i] = append(rows[i], column.Cell(x))
		}
	}
	cli.WriteTable(&b, []string{"Line", "Slurm Job", "Node", "Severity", "What", "Text", "Jobs"}, rows, 0)
	golden.Compare(t, "testdata/slurm-22.05/issues.txt", b.String())
}

// TestSlurmLogs: what Slurm's step daemon says in particular is not hidden by
// the fact that it says something.
func TestSlurmLogs(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) logfile.File {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return logfile.File{Dir: dir, Path: name}
	}
	batch := write("slurm_output_wf1_sl77.e", `slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***
slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-11-21T10:00:00 DUE TO PREEMPTION ***
slurmstepd: error: *** JOB 77 ON n3 CANCELLED AT 2026-11-21T10:00:00 ***
slurmstepd: error: Detected 1 oom_kill event in StepId=77.batch. Some of the step tasks have been OOM Killed.
slurmstepd: error: something else
srun: error: n4: task 0: Exited with exit code 1
all is well
`)
	other := write("slurm_output_wf1_sl88.e", "Segmentation fault\n") // of no allocation of the workflow
	job := write("job_wf1_j5_r1_a1.e", "numpy: MemoryError\n")
	again := write("job_wf1_j5_r2_a1.e", "bash: disk quota exceeded\n")

	five := []affectedJob{{5, "five"}}
	s := slurmLogs{places: logscan.NewPlaces("77", "99")}
	s.places.AddJob("77", logscan.Job{ID: 5, Name: "five"})
	s.places.AddJob("99", logscan.Job{ID: 5, Name: "five"})
	s.places.AddAttempt("77", logscan.Attempt{Job: 5, Run: 1, Number: 1})
	for _, f := range []logfile.File{batch, other, job, again} {
		if err := s.file(f); err != nil {
			t.Fatal(err)
		}
	}
	type found struct {
		File, Node, What string
		Severity         logscan.Severity
	}
	var got []found
	for _, x := range s.report.Issues {
		got = append(got, found{x.File, x.Node, x.Description, x.Severity})
		if diff := cmp.Diff(five, x.Affected); diff != "" || x.SlurmJobID != map[bool]string{true: "99", false: "77"}[x.File == again.Path] {
			t.Errorf("%s: Slurm job %q, affected (-want +got):\n%s", x.Line, x.SlurmJobID, diff)
		}
	}
	want := []found{
		{batch.Path, "n3", "time limit reached", logscan.Error},
		{batch.Path, "n3", "preempted", logscan.Warning},
		{batch.Path, "n3", "canceled", logscan.Warning},
		{batch.Path, "", "out of memory", logscan.Error},
		{batch.Path, "", "error of the Slurm step", logscan.Error},
		{batch.Path, "n4", "error of srun", logscan.Error},
		{job.Path, "", "out of memory", logscan.Error},
		{again.Path, "", "disk quota exceeded", logscan.Error},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
	if s.report.FilesScanned != 3 || s.report.Errors != 6 || s.report.Warnings != 2 {
		t.Errorf("counted %d files, %d errors, %d warnings", s.report.FilesScanned, s.report.Errors, s.report.Warnings)
	}
}
