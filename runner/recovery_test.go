package runner

import (
	"os"
	"testing"

	"github.com/torc-slurm/torc-slurm/runner/runnertest"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestRecoveryScript(t *testing.T) {
	dir := t.TempDir()
	j := job("test -e " + dir + "/repaired || exit 42")
	j.Repair = "echo $TORC_JOB_ID $TORC_ATTEMPT_ID $TORC_RETURN_CODE $TORC_CAUSE $MINE; pwd >&2; touch " + dir + "/repaired"
	j.Retries = 1
	j.Env = map[string]string{"MINE": "mine"}
	d := runnertest.New(j)
	d.Welcome.SubmissionDirectory = dir
	o := testOptions(t, d)
	s := run(t, o)
	got := d.Job(1)
	if got.Status != workflow.Completed || len(got.Attempts) != 2 || len(got.Repaired) != 1 {
		t.Fatalf("job %+v", got)
	}
	if r := got.Repaired[0]; r.ReturnCode != 0 || r.Error != "" {
		t.Errorf("recovery %+v", r)
	}
	if text := logText(t, o.OutputDir, 1, 1, "_recovery.o"); text != "1 1 42 exit mine\n" {
		t.Errorf("script saw %q", text)
	}
	if text := logText(t, o.OutputDir, 1, 1, "_recovery.e"); text != dir+"\n" {
		t.Errorf("script ran in %q", text)
	}
	if s.ByStatus[workflow.Pending] != 1 || s.ByStatus[workflow.Completed] != 1 {
		t.Errorf("summary %+v", s)
	}
	noViolations(t, d)
}

func TestFailingRecoveryScript(t *testing.T) {
	j := job("exit 1")
	j.Repair, j.Retries = "echo full >&2; exit 3", 1
	d := runnertest.New(j)
	run(t, testOptions(t, d))
	r := d.Job(1).Repaired
	if len(r) != 1 || r[0].ReturnCode != 3 || r[0].Evidence == nil {
		t.Fatalf("recovery %+v", r)
	}
	if e := r[0].Evidence; e.ExitCode == nil || *e.ExitCode != 3 || e.StderrTail != "full\n" || r[0].EndedMS < r[0].StartedMS || r[0].StartedMS == 0 {
		t.Errorf("evidence %+v of %+v", e, r[0])
	}
}

func TestRecoveryScriptOfAnotherRunner(t *testing.T) {
	dir := t.TempDir()
	j := job("touch " + dir + "/job")
	j.Recovery = &lease.Recovery{Script: "touch " + dir + "/script", TimeoutSeconds: 10}
	d := runnertest.New(j)
	o := testOptions(t, d)
	o.Client = d
	d.ExpectRecovery(1)
	run(t, o)
	if _, err := os.Stat(dir + "/script"); err != nil {
		t.Error(err)
	}
	if r := d.Job(1).Repaired; len(r) != 1 {
		t.Errorf("recovery %+v", r)
	}
	noViolations(t, d)
}

func TestRecoveryScriptIsBounded(t *testing.T) {
	t.Parallel()
	j := job("exit 1")
	j.Repair, j.Retries = "trap '' TERM; while :; do sleep 0.01; done", 1
	d := runnertest.New(j)
	d.RepairSeconds = 0.2
	quick(d, 0)
	run(t, testOptions(t, d))
	r := d.Job(1).Repaired
	if len(r) != 1 {
		t.Fatalf("recovery %+v", r)
	}
	contains(t, "error", r[0].Error, "did not end within 200ms")
}

func TestStopDuringRecovery(t *testing.T) {
	dir := t.TempDir()
	j := job("exit 1")
	j.Repair, j.Retries = "echo $$ > "+dir+"/pid; exec sleep 1000", 1
	d := runnertest.New(j)
	r := start(t, testOptions(t, d))
	pid := runnertest.ProcessIn(t, dir+"/pid")
	r.Stop(StopCancel)
	r.wait(t)
	if pid.Alive() {
		t.Error("the script lives")
	}
	if got := d.Job(1).Repaired; len(got) != 1 || got[0].Error == "" {
		t.Errorf("recovery %+v", got)
	}
}
