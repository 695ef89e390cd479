package logs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

var troubled = map[string]string{
	"out/job_stdio/job_wf12_j41_r1_a1.e": "all is well\nslurmstepd: error: Detected 1 oom-kill event(s)\nModuleNotFoundError: No module named 'numpy'\n",
	"out/job_runner_n1_wf12_r1.log":      "warning: retrying\nwrite: No space left on device\n",
	"out/notes.txt":                      "Out of memory\n",
	"both/job_stdio/job_wf12_j1_r1_a1.e": "Killed\n",
	"both/job_stdio/job_wf13_j2_r1_a1.e": "fine\n",
	"none/readme":                        "nothing\n",
	"broken.tar.gz":                      "no archive",
}

func TestAnalyze(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "logs analyze out", Files: troubled, Want: clitest.Result{
			Stdout: `Detected Issues: 3 errors, 1 warnings in 2 files

job_runner_n1_wf12_r1.log
  1: warning: warning: retrying
  2: disk full: write: No space left on device

job_stdio/job_wf12_j41_r1_a1.e
  2: out of memory: slurmstepd: error: Detected 1 oom-kill event(s)
  3: Python module missing: ModuleNotFoundError: No module named 'numpy'

Error Type Summary
       1  Python module missing
       1  disk full
       1  out of memory
       1  warning
`,
		}},
		clitest.Case{Args: "logs analyze out -f json -w 12", Files: troubled, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "files_scanned": 2,
  "total_issues": 4,
  "errors": 3,
  "warnings": 1,
  "issues": [
    {
      "file": "job_runner_n1_wf12_r1.log",
      "line_number": 1,
      "line": "warning: retrying",
      "pattern_description": "warning",
      "severity": "warning"
    },
    {
      "file": "job_runner_n1_wf12_r1.log",
      "line_number": 2,
      "line": "write: No space left on device",
      "pattern_description": "disk full",
      "severity": "error"
    },
    {
      "file": "job_stdio/job_wf12_j41_r1_a1.e",
      "line_number": 2,
      "line": "slurmstepd: error: Detected 1 oom-kill event(s)",
      "pattern_description": "out of memory",
      "severity": "error"
    },
    {
      "file": "job_stdio/job_wf12_j41_r1_a1.e",
      "line_number": 3,
      "line": "ModuleNotFoundError: No module named 'numpy'",
      "pattern_description": "Python module missing",
      "severity": "error"
    }
  ],
  "summary": {
    "Python module missing": 1,
    "disk full": 1,
    "out of memory": 1,
    "warning": 1
  }
}
`,
		}},
		clitest.Case{Args: "logs analyze both", Files: troubled, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: `error: there are log files of several workflows in $DIR/both: 12, 13
hint: choose one with -w
`,
		}},
		clitest.Case{Args: "logs analyze both -w 13", Files: troubled, Want: clitest.Result{Stdout: "Detected Issues: 0 errors, 0 warnings in 1 file\n"}},
		clitest.Case{Args: "logs analyze both -w 14", Files: troubled, Want: clitest.Result{Status: cli.ExitFailed, Stderr: "error: there are no log files of workflow 14 in $DIR/both, only those of 12, 13\n"}},
		clitest.Case{Args: "logs analyze none", Files: troubled, Want: clitest.Result{Status: cli.ExitFailed, Stderr: "error: there are no log files in $DIR/none\n"}},
		clitest.Case{Args: "logs analyze away", Files: troubled, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: cannot read $DIR/away: stat $DIR/away: no such file or directory\n",
		}},
		clitest.Case{Args: "logs analyze broken.tar.gz", Files: troubled, Want: clitest.Result{
			Status: cli.ExitFailed,
			Stderr: "error: $DIR/broken.tar.gz is not a readable bundle (.tar.gz): gzip: invalid header\n",
		}},
	)
}

// TestBundle: an archive has the logs of one workflow, and is analyzed like the folder.
func TestBundle(t *testing.T) {
	const archive = "wf12.tar.gz"
	made := clitest.Run(t, New, clitest.Case{Args: "logs bundle 12 -o out", Files: troubled, Routes: simJob, Read: []string{archive, archive + ".part"}})
	const collected = "Collected 2 log files (154 B) in $DIR/wf12.tar.gz\n"
	if made.Stdout != collected || made.Stderr != "" || made.Status != 0 || len(made.Files) != 1 {
		t.Fatalf("exit status %d, %q, %q, %d files", made.Status, made.Stdout, made.Stderr, len(made.Files))
	}
	names := entries(t, made.Files[archive])
	if len(names) != 3 || names["wf12/job_stdio/job_wf12_j41_r1_a1.e"] != troubled["out/job_stdio/job_wf12_j41_r1_a1.e"] ||
		names["wf12/job_runner_n1_wf12_r1.log"] != troubled["out/job_runner_n1_wf12_r1.log"] {
		t.Errorf("the archive has %q", names)
	}
	clitest.Check(t, New,
		clitest.Case{Args: "logs analyze wf12.tar.gz", Files: map[string]string{archive: made.Files[archive]}, Want: clitest.Result{
			Stdout: `Bundle Information
  Workflow:   12 w
  User:       ann
  Collected:  2026-03-14T12:00:00Z
  Files:      2 (154 B)

Detected Issues: 3 errors, 1 warnings in 2 files

wf12/job_runner_n1_wf12_r1.log
  1: warning: warning: retrying
  2: disk full: write: No space left on device

wf12/job_stdio/job_wf12_j41_r1_a1.e
  2: out of memory: slurmstepd: error: Detected 1 oom-kill event(s)
  3: Python module missing: ModuleNotFoundError: No module named 'numpy'

Error Type Summary
       1  Python module missing
       1  disk full
       1  out of memory
       1  warning
`,
		}},
		clitest.Case{Args: "logs bundle 12 -o none", Files: troubled, Routes: simJob, Read: []string{archive, archive + ".part"}, Want: clitest.Result{
			Status: 3,
			Stderr: `error: there are no log files of workflow 12 in $DIR/none
hint: give the output directory of the workflow with -o
`,
			Requests: []string{"GET /workflows/12"},
		}},
		clitest.Case{Args: "logs bundle 12 -o away", Files: troubled, Routes: simJob, Want: clitest.Result{
			Status: 3,
			Stderr: `error: there is no directory $DIR/away
hint: give the output directory of the workflow with -o
`,
			Requests: []string{"GET /workflows/12"},
		}},
		clitest.Case{Args: "logs bundle 12 -o out --bundle-dir away", Files: troubled, Routes: simJob, Want: clitest.Result{
			Status:   cli.ExitUsage,
			Stderr:   "error: cannot write the archive: open $DIR/away/wf12.tar.gz.part: no such file or directory\n",
			Requests: []string{"GET /workflows/12"},
		}},
		clitest.Case{Args: "logs bundle -o out -f json", Files: troubled, Routes: simJob, Want: clitest.Result{
			Stdout: `{
  "workflow_id": 12,
  "workflow_name": "w",
  "workflow_description": "a sweep",
  "workflow_user": "ann",
  "collected_at": "2026-03-14T12:00:00Z",
  "files_collected": 2,
  "total_size_bytes": 154,
  "path": "$DIR/wf12.tar.gz"
}
`,
			Requests: []string{"GET /workflows?is_archived=false&user=ann", "GET /workflows/12"},
		}},
	)
}

// entries reads an archive.
func entries(t *testing.T, text string) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = string(data)
	}
}
