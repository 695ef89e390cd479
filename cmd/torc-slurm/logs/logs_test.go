package logs

import (
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli/clitest"
)

// Job 41 of workflow 12 has had three attempts in two runs.
var simJob = clitest.Routes{
	"GET /workflows":                    {Body: `{"items":[{"id":11,"name":"v","user":"ann"},{"id":12,"name":"w","user":"ann"}]}`},
	"GET /workflows/12":                 {Body: `{"id":12,"name":"w","user":"ann","description":"a sweep"}`},
	"GET /jobs":                         {Body: `{"items":[]}`},
	"GET /jobs?name=sim&workflow_id=12": {Body: `{"items":[{"id":41,"workflow_id":12,"name":"sim","command":"./sim"}]}`},
	"GET /jobs/41":                      {Body: `{"id":41,"workflow_id":12,"name":"sim","command":"./sim","status":"completed"}`},
	"GET /jobs/41/attempts": {Body: `{"attempts":[{"job_id":41,"run_id":1,"attempt_id":1,"ended_ms":1},{"job_id":41,"run_id":1,"attempt_id":2,"ended_ms":2},
		{"job_id":41,"run_id":2,"attempt_id":1,"ended_ms":3}]}`},
}

// simLogs are the files of its attempts.
var simLogs = map[string]string{
	"torc_output/job_stdio/job_wf12_j41_r1_a1.o":          "of the first run\n",
	"torc_output/job_stdio/job_wf12_j41_r1_a2.o":          "second attempt\n",
	"torc_output/job_stdio/job_wf12_j41_r1_a2.e":          "",
	"torc_output/job_stdio/job_wf12_j41_r2_a1.o":          "step 1\n\x1b[31mred\x1b[0m \x1b]0;title\x07 step 2\n",
	"torc_output/job_stdio/job_wf12_j41_r2_a1.e":          "Out of memory\n",
	"torc_output/job_stdio/job_wf12_j41_r2_a1_recovery.o": "mended\n",
	"other/job_stdio/job_wf12_j41_r2_a1.log":              "both in one\n",
}

// A job is found by its id, or by its name, of which the attempt may be a part.
var (
	byID   = []string{"GET /jobs/41", "GET /jobs/41/attempts"}
	byName = []string{
		"GET /workflows?is_archived=false&user=ann", "GET /jobs?name=sim%3A2&workflow_id=12",
		"GET /workflows?is_archived=false&user=ann", "GET /jobs?name=sim&workflow_id=12",
	}
)

func TestShow(t *testing.T) {
	clitest.Check(t, New,
		clitest.Case{Args: "logs show 41 --stdout --stderr", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: "error: if any flags in the group [stdout stderr] are set none of the others can be; [stderr stdout] were all set\n",
		}},
		// The latest run counts; several files are told apart.
		clitest.Case{Args: "logs show 41", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout:   "==> $DIR/torc_output/job_stdio/job_wf12_j41_r2_a1.o <==\nstep 1\n\x1b[31mred\x1b[0m \x1b]0;title\u0007 step 2\n\n==> $DIR/torc_output/job_stdio/job_wf12_j41_r2_a1.e <==\nOut of memory\n",
			Requests: byID,
		}},
		clitest.Case{Args: "logs show 41 --stdout", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout:   "step 1\n\x1b[31mred\x1b[0m \x1b]0;title\u0007 step 2\n",
			Requests: byID,
		}},
		clitest.Case{Args: "logs show 41 --stderr", Routes: simJob, Files: simLogs, Want: clitest.Result{Stdout: "Out of memory\n", Requests: byID}},
		clitest.Case{Args: "logs show 41 --recovery", Routes: simJob, Files: simLogs, Want: clitest.Result{Stdout: "mended\n", Requests: byID}},
		clitest.Case{Args: "logs show 41 -o other --stderr", Routes: simJob, Files: simLogs, Want: clitest.Result{Stdout: "both in one\n", Requests: byID}},
		clitest.Case{Args: "logs show 41 --stdout -n 1", Routes: simJob, Files: map[string]string{
			"torc_output/job_stdio/job_wf12_j41_r2_a1.o": "one\ntwo\nthree\n",
		}, Want: clitest.Result{Stdout: "three\n", Requests: byID}},
		// Where the runner wrote counts more than the folder of this command.
		clitest.Case{Args: "logs show 41 --stderr", Files: simLogs, Routes: simJob.With(clitest.Routes{
			"GET /jobs/41/attempts": {Body: `{"attempts":[{"job_id":41,"run_id":2,"attempt_id":1,"ended_ms":3,"output_dir":"$DIR/other"}]}`},
		}), Want: clitest.Result{
			Stdout: "both in one\n", Requests: byID,
		}},
		clitest.Case{Args: "logs show 41 --stderr", Files: simLogs, Routes: simJob.With(clitest.Routes{
			"GET /jobs/41/attempts": {Body: `{"attempts":[{"job_id":41,"run_id":2,"attempt_id":1,"ended_ms":3,"output_dir":"/nonexistent/moved"}]}`},
		}), Want: clitest.Result{
			Stdout: "Out of memory\n", Requests: byID,
		}},
		clitest.Case{Args: "logs show 41 41:2 --stdout", Routes: simJob.With(clitest.Routes{"GET /jobs?name=41%3A2&workflow_id=12": {Body: `{"items":[]}`}}), Files: simLogs, Want: clitest.Result{
			Stdout:   "==> $DIR/torc_output/job_stdio/job_wf12_j41_r2_a1.o <==\nstep 1\n\x1b[31mred\x1b[0m \x1b]0;title\u0007 step 2\n\n==> $DIR/torc_output/job_stdio/job_wf12_j41_r1_a2.o <==\nsecond attempt\n",
			Requests: slices.Concat(byID, []string{"GET /workflows?is_archived=false&user=ann", "GET /jobs?name=41%3A2&workflow_id=12"}, byID),
		}},
		clitest.Case{Args: "logs show sim:2", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout:   "second attempt\n",
			Requests: slices.Concat(byName, byID),
		}},
		clitest.Case{
			Args: "logs show -w 12 sim:1", Files: simLogs,
			Routes: simJob.With(clitest.Routes{"GET /jobs/41/attempts": {Body: `{"attempts":[{"job_id":41,"run_id":1,"attempt_id":1,"ended_ms":1},{"job_id":41,"run_id":1,"attempt_id":2,"ended_ms":2}]}`}}),
			Want: clitest.Result{
				Stdout: "of the first run\n",
				Requests: []string{
					"GET /jobs?name=sim%3A1&workflow_id=12",
					"GET /jobs?name=sim&workflow_id=12",
					"GET /jobs/41",
					"GET /jobs/41/attempts",
				},
			},
		},
		clitest.Case{Args: "logs show -w 12 sim:2 -f json", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout: `{
  "job_id": 41,
  "job_name": "sim",
  "run_id": 1,
  "attempt_id": 2,
  "files": [
    "$DIR/torc_output/job_stdio/job_wf12_j41_r1_a2.o",
    "$DIR/torc_output/job_stdio/job_wf12_j41_r1_a2.e"
  ]
}
`,
			Requests: []string{
				"GET /jobs?name=sim%3A2&workflow_id=12",
				"GET /jobs?name=sim&workflow_id=12",
				"GET /jobs/41",
				"GET /jobs/41/attempts",
			},
		}},
		// A terminal gets text and colors, unless all of it is wanted.
		clitest.Case{Args: "logs show -w 12 sim --stdout", Terminal: 80, Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout:   "step 1\n\x1b[31mred\x1b[0m \\x1b]0;title\\x07 step 2\n",
			Requests: []string{"GET /jobs?name=sim&workflow_id=12", "GET /jobs/41", "GET /jobs/41/attempts"},
		}},
		clitest.Case{Args: "logs show -w 12 41 --stdout --raw", Terminal: 80, Routes: simJob.With(clitest.Routes{"GET /jobs?name=41&workflow_id=12": {Body: `{"items":[]}`}}), Files: simLogs, Want: clitest.Result{
			Stdout:   "step 1\n\x1b[31mred\x1b[0m \x1b]0;title\u0007 step 2\n",
			Requests: []string{"GET /jobs?name=41&workflow_id=12", "GET /jobs/41", "GET /jobs/41", "GET /jobs/41/attempts"},
		}},
	)
}

func TestShowNothing(t *testing.T) {
	fresh := simJob.With(clitest.Routes{"GET /jobs/41/attempts": {Body: `{"attempts":[]}`}})
	clitest.Check(t, New,
		clitest.Case{Args: "logs show 41", Routes: fresh, Files: simLogs, Want: clitest.Result{
			Status: 3,
			Stderr: "error: job 41 has not been started yet\n" +
				"hint: `torc-slurm why 41` says what it waits for\n",
			Requests: byID,
		}},
		clitest.Case{Args: "logs show sim:7", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Status: 3,
			Stderr: "error: job 41 has no attempt 7\n",
			Requests: []string{
				"GET /workflows?is_archived=false&user=ann",
				"GET /jobs?name=sim%3A7&workflow_id=12",
				"GET /workflows?is_archived=false&user=ann",
				"GET /jobs?name=sim&workflow_id=12",
				"GET /jobs/41",
				"GET /jobs/41/attempts",
			},
		}},
		clitest.Case{Args: "logs show sim:0", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Status: 3,
			Stderr: "error: workflow 12 has no job \"sim:0\"\n" +
				"hint: `torc-slurm jobs list 12` lists them; -w chooses another workflow\n",
			Requests: []string{"GET /workflows?is_archived=false&user=ann", "GET /jobs?name=sim%3A0&workflow_id=12"},
		}},
		clitest.Case{Args: "logs show 41 -o empty", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Status: 3,
			Stderr: `error: there is no output of attempt 1 of job 41 in $DIR/empty
hint: was the workflow run on another machine, or with stdio none? --output-dir names another folder
`,
			Requests: byID,
		}},
		clitest.Case{Args: "logs show sim:2 --stderr", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stderr:   "Attempt 2 of job 41 has written nothing.\n",
			Requests: slices.Concat(byName, byID),
		}},
	)
}

// TestFollow: what is there when the job has ended is shown, and that is all.
func TestFollow(t *testing.T) {
	const waits = `{"id":41,"workflow_id":12,"name":"sim","command":"./sim","status":"ready"}`
	clitest.Check(t, New,
		clitest.Case{Args: "logs follow 41 -f json", Want: clitest.Result{
			Status: cli.ExitUsage,
			Stderr: `{
  "status": "error",
  "message": "logs follow writes the output of the job and supports no other format",
  "exit_status": 2
}
`,
		}},
		clitest.Case{Args: "logs follow 41", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout:   "step 1\n\x1b[31mred\x1b[0m \x1b]0;title\u0007 step 2\n\n==> $DIR/torc_output/job_stdio/job_wf12_j41_r2_a1.e <==\nOut of memory\n",
			Requests: []string{"GET /jobs/41", "GET /jobs/41", "GET /jobs/41/attempts"},
		}},
		clitest.Case{Args: "logs follow sim:2 --stdout", Routes: simJob, Files: simLogs, Want: clitest.Result{
			Stdout:   "second attempt\n",
			Requests: slices.Concat(byName, byID[:1], byName, byID),
		}},
		// A job that is canceled before its first attempt writes nothing.
		clitest.Case{
			Args: "logs follow 41 --stdout",
			Routes: simJob.With(clitest.Routes{
				"GET /jobs/41":          {Body: `{"id":41,"workflow_id":12,"name":"sim","command":"./sim","status":"canceled"}`},
				"GET /jobs/41/attempts": {Body: `{"attempts":[]}`},
			}),
			Want: clitest.Result{Requests: []string{"GET /jobs/41", "GET /jobs/41", "GET /jobs/41/attempts"}},
		},
		// Another attempt is followed as well.
		clitest.Case{
			Args: "logs follow 41", Files: simLogs,
			Routes: simJob.With(clitest.Routes{
				"GET /jobs/41": {Body: waits, Then: []clitest.Reply{{Body: waits}, {Body: strings.Replace(waits, "ready", "failed", 1)}}},
				"GET /jobs/41/attempts": {
					Body: `{"attempts":[{"job_id":41,"run_id":1,"attempt_id":1,"ended_ms":1}]}`,
					Then: []clitest.Reply{{Body: `{"attempts":[{"job_id":41,"run_id":1,"attempt_id":1,"ended_ms":1},{"job_id":41,"run_id":1,"attempt_id":2,"ended_ms":2}]}`}},
				},
			}),
			Want: clitest.Result{
				Stdout: `of the first run
second attempt
`,
				Stderr:   "--- attempt 2 ---\n",
				Requests: []string{"GET /jobs/41", "GET /jobs/41", "GET /jobs/41/attempts", "GET /jobs/41", "GET /jobs/41/attempts"},
			},
		},
	)
}
