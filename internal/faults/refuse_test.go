package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

const (
	timesOut = `echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1`
	hangs    = `exec sleep 1000`
)

// TestUnclearSubmission: sbatch fails in a way that does not say whether there is a job.
// There is one: it is found and used.
func TestUnclearSubmission(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"TimesOut": timesOut, "Hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t), "call_timeout_secs=6")
			w.unclearSubmission(how)
		})
	}
}

func (w *world) unclearSubmission(how string) {
	w.sbatchFailsOnce(true, how)
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(2, 3, ""))
	w.settle(id, nil)
	if all := w.allocations(id); len(all) != 1 {
		w.t.Errorf("there are %d allocations, want one", len(all))
	}
	w.expectSubmissions(1)
}

// TestLostSubmission: the same, but there is no job: another one is requested.
func TestLostSubmission(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]string{"TimesOut": timesOut, "Hangs": hangs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, slurmtest.UseReal(t), "call_timeout_secs=6")
			w.lostSubmission(how)
		})
	}
}

func (w *world) lostSubmission(how string) {
	w.sbatchFailsOnce(false, how)
	id := w.submit(shape("debug", "", 10*time.Minute) + sweep(2, 3, ""))
	w.settle(id, nil)
	w.expectSubmissions(2)
	if !hasAllocation(w.allocations(id), func(a api.Allocation) bool { return a.Cause == "never" }) {
		w.t.Error("no allocation was aborted")
	}
}

// TestSubmitLimit: the account may have four jobs and run two of them. The daemon waits
// for the limit, and nothing is lost.
func TestSubmitLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	spec := strings.ReplaceAll(sweep(16, 3, ""), "max_ready_age", "max_allocations: 8, max_ready_age")
	id := w.submit(`slurm_schedulers: [{name: s, account: limited, partition: debug, mem: 300M, nodes: 1, walltime: "00:02:00", extra: "--cpus-per-task=1"}]
` + strings.ReplaceAll(spec, "PT3S", "PT1M"))
	w.settle(id, nil)
	if n := w.submissions(); n > 12 {
		t.Errorf("sbatch was called %d times for 16 jobs of 3 s", n)
	}
}

// TestInvalidAccount: a permanent rejection by Slurm is shown, not retried forever.
func TestInvalidAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.submitRejected(`account: nobodys, partition: debug, walltime: "00:10:00"`, "Invalid account")
}

func TestInvalidPartition(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.submitRejected(`account: research, partition: nowhere, walltime: "00:10:00"`, "partition")
}

func TestInvalidTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slurmtest.UseReal(t))
	w.submitRejected(`account: research, partition: debug, walltime: "2-00:00:00"`, "time limit")
}

// submitRejected submits what Slurm rejects.
func (w *world) submitRejected(scheduler, reason string) {
	w.t.Helper()
	spec := "slurm_schedulers: [{name: s, " + scheduler + ", mem: 300M, nodes: 1}]\n" + sweep(2, 3, "")
	w.write("spec.yaml", "name: "+w.name()+"\n"+spec, 0o644)
	out, err := w.command("submit", "--skip-checks", "-o", w.path("out"), "spec.yaml").CombinedOutput()
	w.t.Logf("submit: %v\n%s", err, out)
	if !strings.Contains(string(out), reason) {
		w.t.Errorf("submit does not say %q", reason)
	}
	const id = 1
	w.eventually(time.Minute, "why names the reason", func() bool {
		jobs := w.jobs(id)
		return len(jobs) > 0 && strings.Contains(w.why(*jobs[0].ID), reason)
	})
	w.run("cancel", "--no-prompts", text(id))
	w.checkGone()
	if n := w.submissions(); n > 6 {
		w.t.Errorf("sbatch was called %d times", n)
	}
}

func (w *world) submissions() (n int) {
	for _, c := range w.calls() {
		if c.program == "sbatch" {
			n++
		}
	}
	return n
}

func (w *world) expectSubmissions(want int) {
	w.t.Helper()
	if n := w.submissions(); n != want {
		w.t.Errorf("sbatch was called %d times, want %d", n, want)
	}
}
