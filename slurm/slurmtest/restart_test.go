package slurmtest_test

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// eat turns a line that the fake understands into one that a real shell can run: a child
// that needs more memory than the job has.
const eat = "out-of-memory() { head -c 300000000 /dev/zero | tail >/dev/null; }\n"

func testCompleted(t *testing.T, s *site) {
	id := s.submit(t, "sleep 1", "-t5", "--job-name=torc:sweep.12.r1.0a1b2c3d", "-c2", "--mem=300")
	job := s.until(t, id, slurm.Completed)
	if job.Name != "torc:sweep.12.r1.0a1b2c3d" || job.CPUs != 2 || job.Nodes != 1 || job.TimeLimit != 5*time.Minute ||
		job.Account != "research" || job.QOS != "normal" || job.Partition != "debug" || job.Restarts != 0 ||
		job.Submit.IsZero() || job.Start.IsZero() || job.End.Before(job.Start) || job.NodeList == "" || job.Reason != "" {
		t.Errorf("job: %+v", job)
	}
	records := s.accounted(t, id, slurm.Completed)
	record := records.Restarts(id)[0]
	if record.Name != job.Name || record.Exit != (slurm.ExitCode{}) || record.NodeList != job.NodeList || !record.Started() ||
		!record.Over() || record.IsStep() || !record.End.Equal(job.End) || record.Cluster != "torctest" {
		t.Errorf("record: %+v", record)
	}
	if steps := records.Steps(id); len(steps) != 1 || steps[0].ID.Step != "batch" || steps[0].State != slurm.Completed {
		t.Errorf("steps: %+v", steps)
	}
}

func testFailed(t *testing.T, s *site) {
	id := s.submit(t, "sleep 0.1\nexit 3", "-t5")
	job := s.until(t, id, slurm.Failed)
	if job.Exit != (slurm.ExitCode{Code: 3}) || job.Reason != "NonZeroExitCode" {
		t.Errorf("job: %+v", job)
	}
	if record := s.accounted(t, id, slurm.Failed).Restarts(id)[0]; record.Exit != (slurm.ExitCode{Code: 3}) {
		t.Errorf("record: %+v", record)
	}
}

func testSignaled(t *testing.T, s *site) {
	id := s.submit(t, "kill -SEGV $$", "-t5")
	if job := s.until(t, id, slurm.Failed); job.Exit != (slurm.ExitCode{Signal: 11}) {
		t.Errorf("job: %+v", job)
	}
}

func testOutOfMemory(t *testing.T, s *site) {
	if s.noMemory {
		t.Skip("this machine has no cgroup for memory")
	}
	id := s.submit(t, eat+"out-of-memory\nexit 9", "-t5", "--mem=60")
	if job := s.until(t, id, slurm.OutOfMemory); job.Exit != (slurm.ExitCode{Signal: 125}) || job.Reason != "OutOfMemory" {
		t.Errorf("job: %+v", job)
	}
	if record := s.accounted(t, id, slurm.OutOfMemory).Restarts(id)[0]; record.Exit != (slurm.ExitCode{Signal: 125}) {
		t.Errorf("record: %+v", record)
	}
}

// A child is killed, but the script continues and exits with 0: Slurm reports
// OUT_OF_MEMORY nevertheless.
func testOutOfMemoryHidden(t *testing.T, s *site) {
	if s.noMemory {
		t.Skip("this machine has no cgroup for memory")
	}
	id := s.submit(t, eat+"out-of-memory\nexit 0", "-t5", "--mem=60")
	s.until(t, id, slurm.OutOfMemory)
}

func testTimeLimit(t *testing.T, s *site) {
	id := s.submit(t, "trap '' TERM\nsleep 120\nsleep 120\nsleep 120", "-t1")
	job := s.until(t, id, slurm.Running)
	if left := job.End.Sub(job.Start); left != time.Minute || job.TimeLeft > time.Minute || job.TimeLeft < 50*time.Second {
		t.Errorf("job: %+v", job)
	}
	job = s.until(t, id, slurm.Timeout)
	if ran := job.End.Sub(job.Start); ran < time.Minute || ran > 100*time.Second || job.Reason != "TimeLimit" {
		t.Errorf("it ran %v: %+v", ran, job)
	}
	s.accounted(t, id, slurm.Timeout)
}

// --signal=B: reaches the batch shell some time before the limit. (Slurm checks
// about once a minute: the real lead is up to a minute longer.)
func testWarning(t *testing.T, s *site) {
	id := s.submit(t, "sleep 90", "-t1", "--signal=B:USR1@30")
	job := s.until(t, id, slurm.Failed)
	if ran := job.End.Sub(job.Start); job.Exit.Signal != 10 || ran >= 90*time.Second {
		t.Errorf("it ran %v: %+v", ran, job)
	}
}

// A signal goes to the steps, of which this script has none, or to the shell.
func testSignal(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5")
	s.until(t, id, slurm.Running)
	if err := s.user.Signal(t.Context(), "USR1", false, id); err != nil {
		t.Fatal(err)
	}
	if err := s.user.Signal(t.Context(), "USR2", true, id); err != nil {
		t.Fatal(err)
	}
	if job := s.until(t, id, slurm.Failed); job.Exit.Signal != 12 {
		t.Errorf("job: %+v", job)
	}
}

func testCancelRunning(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5")
	s.until(t, id, slurm.Running)
	if err := s.user.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, slurm.Cancelled)
	if record := s.accounted(t, id, slurm.Cancelled).Restarts(id)[0]; record.CancelledBy == "" || record.CancelledBy == "0" {
		t.Errorf("record: %+v", record)
	}
	if err := s.user.Cancel(t.Context(), id); err != nil {
		t.Errorf("once again: %v", err)
	}
}

func testCancelWaiting(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5", "--begin=now+3600")
	if job := s.until(t, id, slurm.Pending); job.Reason != "BeginTime" || job.NodeList != "" {
		t.Errorf("job: %+v", job)
	}
	if err := s.user.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, slurm.Cancelled)
	if record := s.accounted(t, id, slurm.Cancelled).Restarts(id)[0]; record.Started() || record.End.IsZero() || record.CancelledBy == "" {
		t.Errorf("record: %+v", record)
	}
}

func testCancelAdmin(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5")
	s.until(t, id, slurm.Running)
	if err := s.root.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if record := s.accounted(t, id, slurm.Cancelled).Restarts(id)[0]; record.CancelledBy != "0" {
		t.Errorf("record: %+v", record)
	}
}

func testPreemptCancel(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5", "--partition=scavenge", "-c4", "--nodelist=n3")
	s.until(t, id, slurm.Running)
	higher := s.submit(t, "sleep 1", "-t5", "-c4", "--nodelist=n3")
	s.until(t, id, slurm.Preempted)
	s.until(t, higher, slurm.Completed)
	if record := s.accounted(t, id, slurm.Preempted).Restarts(id)[0]; !record.Over() {
		t.Errorf("record: %+v", record)
	}
}

func testPreemptRequeue(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5", "--partition=standby", "-c4", "--nodelist=n4")
	s.until(t, id, slurm.Running)
	higher := s.submit(t, "sleep 1", "-t5", "-c4", "--nodelist=n4")
	s.until(t, higher, slurm.Completed)
	job := s.until(t, id, slurm.Pending)
	if job.Restarts != 1 || job.Reason != "BeginTime" || job.NodeList != "" {
		t.Errorf("job: %+v", job)
	}
	s.accounted(t, id, slurm.Preempted)
	restarts := s.accounted(t, id, slurm.Pending).Restarts(id)
	if len(restarts) != 2 || restarts[0].State != slurm.Preempted || restarts[1].State != slurm.Pending {
		t.Errorf("restarts: %+v", restarts)
	}
}

func testPreemptNoRequeue(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5", "--partition=standby", "-c4", "--nodelist=n3", "--no-requeue")
	s.until(t, id, slurm.Running)
	s.submit(t, "sleep 1", "-t5", "-c4", "--nodelist=n3")
	if job := s.until(t, id, slurm.Preempted); job.Restarts != 0 {
		t.Errorf("job: %+v", job)
	}
}

func testNodeFail(t *testing.T, s *site) {
	gone := s.submit(t, "sleep 100", "-t5", "--nodelist=n2", "--no-requeue")
	again := s.submit(t, "sleep 100", "-t5", "--nodelist=n2", "--requeue")
	s.until(t, gone, slurm.Running)
	s.until(t, again, slurm.Running)
	s.kill(t, "n2")
	if job := s.until(t, gone, slurm.NodeFail); job.Reason != "NodeDown" {
		t.Errorf("job: %+v", job)
	}
	if job := s.until(t, again, slurm.Pending); job.Restarts != 1 {
		t.Errorf("job: %+v", job)
	}
	s.accounted(t, gone, slurm.NodeFail)
	s.accounted(t, again, slurm.NodeFail)
	restarts := s.accounted(t, again, slurm.Pending).Restarts(again)
	if len(restarts) != 2 || restarts[0].State != slurm.NodeFail {
		t.Errorf("restarts: %+v", restarts)
	}
	s.restore(t, "n2")
}

func testSuspend(t *testing.T, s *site) {
	id := s.submit(t, "sleep 6", "-t5")
	s.until(t, id, slurm.Running)
	s.admin(t, "suspend", id.String())
	if job := s.until(t, id, slurm.Suspended); !job.State.Active() || job.NodeList == "" {
		t.Errorf("job: %+v", job)
	}
	s.admin(t, "resume", id.String())
	s.until(t, id, slurm.Completed)
}

func testRequeue(t *testing.T, s *site) {
	id := s.submit(t, "sleep 100", "-t5")
	s.until(t, id, slurm.Running)
	s.admin(t, "requeue", id.String())
	if job := s.until(t, id, slurm.Pending); job.Restarts != 1 {
		t.Errorf("job: %+v", job)
	}
	s.accounted(t, id, slurm.Pending)
	restarts := s.accounted(t, id, slurm.Requeued).Restarts(id)
	if len(restarts) != 2 || !restarts[0].Over() || restarts[1].Over() {
		t.Errorf("restarts: %+v", restarts)
	}
	detail, found, err := s.user.ShowJob(t.Context(), id)
	if err != nil || !found || detail.Restarts != 1 || !detail.Requeue {
		t.Errorf("detail: %+v, %v, %v", detail, found, err)
	}
}
