package allocation

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestHealthyLife has an allocation run its course, with as few calls as possible.
func TestHealthyLife(t *testing.T) {
	w := newWorld(t, 2)
	w.pollOnce()
	if n := len(w.cluster.Calls()); n != 0 {
		t.Errorf("without allocations Slurm was called %d times", n)
	}
	a := w.submit()
	if a.State != compute.AllocationPending || a.SlurmJobID == 0 {
		t.Fatalf("submitted: %+v", a)
	}
	w.work(w.scripts[0], 2)
	before := len(w.cluster.Calls())
	w.run(10 * time.Minute)
	if a = w.only(); a.State != compute.AllocationActive || a.NodeList == "" || a.LimitMS == 0 {
		t.Errorf("active: %+v", a)
	}
	if n := w.calls(slurm.Squeue); n > 12 {
		t.Errorf("%d squeue in 10 minutes", n)
	}
	if n := len(w.cluster.Calls()) - before; n > 20 {
		t.Errorf("%d calls in 10 minutes", n)
	}
	if n := w.calls(slurm.Sacct); n != 0 {
		t.Errorf("%d sacct while all was well", n)
	}
	queue, err := w.client.Queue(t.Context(), slurm.QueueQuery{})
	w.must(err)
	if got := queue.Jobs[0].Comment; got != "0/2 done, 2 running" {
		t.Errorf("the comment is %q", got)
	}
	w.leave(w.scripts[0], 0)
	w.run(2 * time.Minute)
	w.ended(a, compute.AllocationDone)
	if files, _ := filepath.Glob(w.loop.submitter.secrets.path("*")); len(files) != 0 {
		t.Errorf("secrets are left: %q", files)
	}
	w.sound()
}

// TestCrashes has the daemon die around sbatch.
func TestCrashes(t *testing.T) {
	t.Run("after the intent", func(t *testing.T) {
		w := newWorld(t, 1)
		remove := w.cluster.Inject(slurmtest.TimedOut(slurm.Sbatch, false))
		if _, err := w.loop.Submitter().Submit(t.Context(), w.want()); slurm.ClassOf(err) != slurm.Ambiguous {
			t.Fatal(err)
		}
		remove()
		w.boot(w.loop.submitter.secrets.dir)
		w.run(time.Minute)
		if a := w.only(); a.State != compute.AllocationIntent {
			t.Errorf("given up after a minute: %s, %s", a.State, a.CauseText)
		}
		w.run(2 * time.Minute)
		w.ended(w.only(), compute.AllocationNever)
		w.sound()
	})
	t.Run("after sbatch", func(t *testing.T) {
		w := newWorld(t, 1)
		remove := w.cluster.Inject(slurmtest.TimedOut(slurm.Sbatch, true))
		if _, err := w.loop.Submitter().Submit(t.Context(), w.want()); slurm.ClassOf(err) != slurm.Ambiguous {
			t.Fatal(err)
		}
		remove()
		w.boot(w.loop.submitter.secrets.dir)
		w.pollOnce()
		if a := w.only(); a.State == compute.AllocationIntent || a.SlurmJobID == 0 {
			t.Errorf("it was not found: %+v", a)
		}
		w.work(w.scripts[0], 1)
		w.sound()
	})
	t.Run("after sbatch, and the job is over", func(t *testing.T) {
		w := newWorld(t, 1)
		remove := w.cluster.Inject(slurmtest.TimedOut(slurm.Sbatch, true))
		_, _ = w.loop.Submitter().Submit(t.Context(), w.want())
		remove()
		w.scripts[0].over = true
		w.scripts[0].Exit(slurm.ExitCode{Code: 1})
		w.advance(5 * time.Minute) // squeue has forgotten it
		w.pollOnce()
		w.ended(w.only(), compute.AllocationFailed)
		w.sound()
	})
	t.Run("before the intent", func(t *testing.T) {
		w := newWorld(t, 1)
		_, _, err := w.loop.submitter.secrets.create("0123456789abcdef")
		w.must(err)
		w.loop.sweep(t.Context())
		if left, _ := w.loop.submitter.secrets.list(); len(left) != 0 {
			t.Errorf("secrets without an owner are left: %q", left)
		}
	})
}

// TestSweepKeepsLiveSecrets: a restarted daemon accepts the runners of the previous one.
func TestSweepKeepsLiveSecrets(t *testing.T) {
	w := newWorld(t, 1)
	w.submit()
	w.boot(w.loop.submitter.secrets.dir)
	w.loop.sweep(t.Context())
	w.must(w.register(w.scripts[0]))
}

func TestRejections(t *testing.T) {
	for _, tc := range []struct {
		says, class string
	}{
		{"sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy", "limit"},
		{"sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified", "permanent"},
		{"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)", "temporary"},
	} {
		t.Run(tc.class, func(t *testing.T) {
			w := newWorld(t, 1)
			w.cluster.Inject(slurmtest.Refusal(slurm.Sbatch, tc.says))
			_, err := w.loop.Submitter().Submit(t.Context(), w.want())
			if string(slurm.ClassOf(err)) != tc.class {
				t.Errorf("the error is %v", err)
			}
			a := w.only()
			if w.ended(a, compute.AllocationRefused); a.Refusal != tc.class {
				t.Errorf("the rejection is %q", a.Refusal)
			}
			if left, _ := w.loop.submitter.secrets.list(); len(left) != 0 {
				t.Errorf("secrets are left: %q", left)
			}
			w.pollOnce()
			if n := w.calls(slurm.Squeue); n != 0 {
				t.Errorf("%d squeue for nothing", n)
			}
		})
	}
	t.Run("by our own templates", func(t *testing.T) {
		w := newWorld(t, 1)
		want := w.want()
		want.Request.Extra = "--array=1-10"
		if _, err := w.loop.Submitter().Submit(t.Context(), want); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("the error is %v", err)
		}
		w.ended(w.only(), compute.AllocationRefused)
	})
}

// TestDuplicates has sbatch create two jobs for one intent: the one that reports first works,
// the other is canceled.
func TestDuplicates(t *testing.T) {
	w := newWorld(t, 2)
	w.submit()
	_, err := w.client.Submit(t.Context(), slurm.Submission{Script: w.scripts[0].Script})
	w.must(err)
	w.work(w.scripts[0], 2)
	if err := w.register(w.scripts[1]); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("the second one may work: %v", err)
	}
	w.run(3 * time.Minute)
	all := w.allocations()
	if len(all) != 2 || !all[1].IsDuplicate {
		t.Fatalf("there are %+v", all)
	}
	w.ended(all[1], compute.AllocationCanceled)
	if all[0].State != compute.AllocationActive {
		t.Errorf("the first one is %s (%s)", all[0].State, all[0].CauseText)
	}
	w.statuses(workflow.Running, workflow.Running)
	w.sound()
}

// TestOrphanOfAnotherDatabase: jobs that look like ours are left alone.
func TestOrphanOfAnotherDatabase(t *testing.T) {
	w := newWorld(t, 1)
	w.submit()
	_, err := w.client.Submit(t.Context(), slurm.Submission{
		Script: []byte("#!/bin/bash\n#SBATCH --job-name=torc:other.7.r1.fedcba98 --account=research\nsleep 1000\n")})
	w.must(err)
	w.run(5 * time.Minute)
	if n := w.calls(slurm.Scancel); n != 0 {
		t.Errorf("%d scancel", n)
	}
	w.only()
}

// TestEnds has an allocation with a running and a claimed job end in several ways.
func TestEnds(t *testing.T) {
	ready, canceled := workflow.Ready, workflow.Canceled
	for _, tc := range []struct {
		name    string
		end     func(w *world, id slurm.JobID)
		cause   compute.AllocationCause
		running workflow.JobStatus
	}{
		{"out of time", func(w *world, _ slurm.JobID) { w.advance(31 * time.Minute) }, compute.AllocationWalltime, workflow.Terminated},
		{"preempted", func(w *world, id slurm.JobID) {
			w.scripts[0].ignoresTerm = true // until the grace time is over
			w.cluster.Preempt(id)
		}, compute.AllocationPreempted, ready},
		{"out of memory", func(w *world, id slurm.JobID) { w.cluster.OutOfMemory(id) }, compute.AllocationOOM, workflow.Failed},
		{"no power", func(w *world, _ slurm.JobID) {
			w.scripts[0].over, w.scripts[0].gone = true, w.now
			w.cluster.KillNode(w.scripts[0].Nodes[0], true)
		}, compute.AllocationNodeFail, ready},
		{"scancel by the user", func(w *world, id slurm.JobID) { w.cluster.CancelAs(999, id) }, compute.AllocationCanceledUser, canceled},
		{"scancel by root", func(w *world, id slurm.JobID) { w.cluster.CancelAs(0, id) }, compute.AllocationCanceledAdmin, canceled},
		{"scancel by us", func(w *world, _ slurm.JobID) {
			_, err := w.store.Allocations.RequestCancel(w.Context(), []int64{1}, "no work is left")
			w.must(err)
		}, compute.AllocationCanceled, ready},
		{"its runner was killed", func(w *world, _ slurm.JobID) {
			w.vanish(w.scripts[0])
		}, compute.AllocationFailed, ready},
	} {
		for _, way := range []string{"seen in squeue", "seen in sacct", "without sacct"} {
			t.Run(tc.name+", "+way, func(t *testing.T) {
				w := newWorld(t, 2, func(o *slurmtest.Options) {
					o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "CANCEL", GraceTime: time.Second}}
				})
				a := w.submit()
				w.work(w.scripts[0], 1)
				w.pollOnce()
				if way == "without sacct" {
					w.cluster.Inject(slurmtest.AccountingDown())
				}
				tc.end(w, slurm.JobID{Number: a.SlurmJobID})
				if way == "seen in sacct" && tc.name != "scancel by us" {
					w.advance(10 * time.Minute)
				}
				w.run(4 * time.Minute)
				cause := tc.cause
				want := tc.running
				if way == "without sacct" && tc.cause == compute.AllocationCanceledAdmin {
					cause = compute.AllocationCanceledUser // nobody says by whom
				}
				w.ended(a, cause)
				w.statuses(want, ready)
				w.sound()
			})
		}
	}
}

// TestRequeue has Slurm restart an allocation by itself.
func TestRequeue(t *testing.T) {
	w := newWorld(t, 2, func(o *slurmtest.Options) {
		o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "REQUEUE"}}
	})
	w.loop.submitter.script.Requeue = true
	a := w.submit()
	w.work(w.scripts[0], 1)
	w.pollOnce()
	w.scripts[0].ignoresTerm = true
	w.cluster.Preempt(slurm.JobID{Number: a.SlurmJobID})
	w.run(time.Minute)
	all := w.allocations()
	if len(all) != 2 || all[1].RestartCount != 1 || all[1].State != compute.AllocationPending {
		t.Fatalf("the restarts are %+v", all)
	}
	w.ended(all[0], compute.AllocationPreempted)
	w.statuses(workflow.Ready, workflow.Ready)
	w.run(2 * time.Minute)
	w.work(w.scripts[1], 2)
	w.statuses(workflow.Running, workflow.Running)
	w.run(time.Minute)
	if a := w.allocations()[1]; a.State != compute.AllocationActive {
		t.Errorf("the second start is %s (%s)", a.State, a.CauseText)
	}
	w.sound()
}

// TestSuspended: an allocation that is suspended for an hour is kept, and so are its
// jobs; when it continues, its runner has time to call.
func TestSuspended(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.work(w.scripts[0], 1)
	w.cluster.Suspend(slurm.JobID{Number: a.SlurmJobID})
	w.scripts[0].silence = time.Hour
	w.run(time.Hour)
	w.cluster.Resume(slurm.JobID{Number: a.SlurmJobID})
	w.run(5 * time.Minute)
	if a := w.only(); a.State != compute.AllocationActive || a.CancelMS != 0 {
		t.Errorf("it is %s (%s%s)", a.State, a.CauseText, a.CancelWhy)
	}
	w.statuses(workflow.Running)
	w.run(15 * time.Minute) // and still no call
	w.ended(w.only(), compute.AllocationCanceled)
	w.statuses(workflow.Ready)
	w.sound()
}

// TestNewRunnerIsNotSilent: a runner that the daemon has just learned of does not count as
// silent yet, however long it did not call before.
func TestNewRunnerIsNotSilent(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.work(w.scripts[0], 1)
	w.scripts[0].silence = 24 * time.Hour
	w.run(9 * time.Minute)
	if a := w.only(); a.CancelMS != 0 {
		t.Errorf("canceled: %s", a.CancelWhy)
	}
	w.run(5 * time.Minute)
	w.ended(a, compute.AllocationCanceled)
}

// TestCancelIsRepeated has Slurm ignore scancel twice.
func TestCancelIsRepeated(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	remove := w.cluster.Inject(slurmtest.Fault{Program: slurm.Scancel, Answer: func(o slurm.Output) slurm.Output { return o }, Times: 2})
	defer remove()
	_, err := w.store.Allocations.RequestCancel(t.Context(), []int64{a.ID}, "no work is left")
	w.must(err)
	w.run(5 * time.Minute)
	w.ended(a, compute.AllocationCanceled)
	if n := w.calls(slurm.Scancel); n != 3 {
		t.Errorf("scancel was sent %d times", n)
	}
	w.sound()
}

// TestOutages: while Slurm gives no information nothing ends, and afterwards the true
// ends are recorded.
func TestOutages(t *testing.T) {
	for name, faults := range map[string][]slurmtest.Fault{
		"controller down":     {slurmtest.ControllerDown()},
		"everything down":     {slurmtest.ControllerDown(), slurmtest.AccountingDown()},
		"squeue is garbage":   {slurmtest.Garbage(slurm.Squeue, "<html>502</html>\n")},
		"squeue is empty":     {slurmtest.Garbage(slurm.Squeue, "")},
		"squeue is truncated": {slurmtest.Cut(slurm.Squeue, 100)},
		"squeue does not end": {slurmtest.TimedOut(slurm.Squeue, true)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			a := w.submit()
			w.work(w.scripts[0], 1)
			w.pollOnce()
			var remove []func()
			for _, f := range faults {
				remove = append(remove, w.cluster.Inject(f))
			}
			w.run(10 * time.Minute)
			if a := w.only(); a.State != compute.AllocationActive || a.AbsentMS != 0 {
				t.Errorf("during it: %s (%s)", a.State, a.CauseText)
			}
			w.statuses(workflow.Running)
			for _, r := range remove {
				r()
			}
			w.leave(w.scripts[0], 0)
			w.run(3 * time.Minute)
			w.ended(a, compute.AllocationDone)
			w.sound()
		})
	}
}

// TestForgotten has Slurm forget an allocation: it counts as gone only after two polls of
// two sources.
func TestForgotten(t *testing.T) {
	forget := func(w *world, programs ...string) {
		for _, p := range programs {
			answers := func(o slurm.Output) slurm.Output { // only the header
				heading, _, _ := strings.Cut(string(o.Stdout), "\n")
				return slurm.Output{Stdout: []byte(heading + "\n")}
			}
			w.cluster.Inject(slurmtest.Fault{Program: p, Done: true, Answer: answers})
		}
	}
	t.Run("by squeue and sacct", func(t *testing.T) {
		w := newWorld(t, 1)
		a := w.submit()
		forget(w, slurm.Squeue, slurm.Sacct)
		w.pollOnce()
		w.advance(30 * time.Second)
		w.pollOnce()
		if a := w.only(); a.State == compute.AllocationEnded {
			t.Fatalf("after 30 s: %s", a.CauseText)
		}
		w.run(time.Minute)
		w.ended(a, compute.AllocationLost)
	})
	t.Run("by squeue alone", func(t *testing.T) {
		w := newWorld(t, 1)
		w.submit()
		forget(w, slurm.Squeue)
		w.run(20 * time.Minute)
		if a := w.only(); a.State == compute.AllocationEnded {
			t.Errorf("sacct and scontrol show it as running, but it ended: %s", a.CauseText)
		}
	})
	t.Run("without accounting", func(t *testing.T) {
		w := newWorld(t, 1)
		w.loop.noAccounting = true
		a := w.submit()
		forget(w, slurm.Squeue)
		w.cluster.Inject(slurmtest.Refusal(slurm.Scontrol, "slurm_load_jobs error: Invalid job id specified"))
		w.run(2 * time.Minute)
		w.ended(a, compute.AllocationLost)
		if n := w.calls(slurm.Sacct); n != 0 {
			t.Errorf("%d sacct", n)
		}
	})
}

// TestSpoolIsReadFirst: the spool of a killed runner is delivered before its attempts are
// judged.
func TestSpoolIsReadFirst(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	refs := w.work(w.scripts[0], 1)
	w.pollOnce()
	tries := 0
	w.spool = func(runners []store.AllocationRunner) error {
		if tries++; tries == 1 {
			return errors.New("the disk does not answer")
		}
		zero := int64(0)
		_, err := w.store.Runners.Turn(t.Context(), runners[0].RunnerID, lease.TurnRequest{Turn: 3, RunID: w.workflow.RunID, Reports: []lease.Report{
			{LeaseRef: refs[0], StartedMS: w.now.UnixMilli(), EndedMS: w.now.UnixMilli(), Evidence: workflow.Evidence{ExitCode: &zero}}}})
		return err
	}
	w.vanish(w.scripts[0])
	w.run(3 * time.Minute)
	w.ended(a, compute.AllocationFailed)
	w.statuses(workflow.Completed)
	w.sound()
}

// TestReappeared: an abandoned allocation that Slurm has nevertheless is canceled.
func TestReappeared(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.must(w.store.Allocations.End(t.Context(), a.ID, compute.AllocationEnd{Cause: compute.AllocationLost, Confidence: workflow.Likely, Text: "lost"}))
	w.submit()
	w.run(2 * time.Minute)
	queue, err := w.client.Queue(t.Context(), slurm.QueueQuery{IDs: []slurm.JobID{{Number: a.SlurmJobID}}})
	w.must(err)
	for _, job := range queue.Jobs {
		if !job.State.Over() {
			t.Errorf("Slurm still has it: %s", job.State)
		}
	}
	if n := w.calls(slurm.Scancel); n != 1 {
		t.Errorf("%d scancel", n)
	}
	w.ended(a, compute.AllocationLost)
	w.sound()
}

// TestTheLastRunnerLeaves: Slurm is polled again soon about an allocation whose runners
// have all left, although Slurm still says that it runs.
func TestTheLastRunnerLeaves(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.work(w.scripts[0], 1)
	if next := w.pollOnce(); next != w.loop.set.Poll {
		t.Errorf("the next poll is in %s while a runner is working", next)
	}
	_, err := w.store.Runners.Leave(t.Context(), w.scripts[0].runner, lease.LeaveRequest{})
	w.must(err)
	if next := w.pollOnce(); next > w.loop.set.Hurry {
		t.Errorf("the next poll is in %s after the last runner has left", next)
	}
	if got := w.only(); got.ID != a.ID || got.State != compute.AllocationActive {
		t.Errorf("%+v", got)
	}
}
