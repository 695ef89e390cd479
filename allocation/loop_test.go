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
)

// TestHealthyLife has an allocation run its course, with as few calls as can
// be.
func TestHealthyLife(t *testing.T) {
	w := newWorld(t, 2)
	w.look()
	if n := len(w.cluster.Calls()); n != 0 {
		t.Errorf("without allocations Slurm was asked %d times", n)
	}
	a := w.submit()
	if a.State != workflow.AllocationPending || a.SlurmJobID == 0 {
		t.Fatalf("submitted: %+v", a)
	}
	w.work(w.lives[0], 2)
	before := len(w.cluster.Calls())
	w.run(10 * time.Minute)
	if a = w.only(); a.State != workflow.AllocationActive || a.NodeList == "" || a.LimitMS == 0 {
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
	w.leave(w.lives[0], 0)
	w.run(2 * time.Minute)
	w.ended(a, workflow.AllocationDone)
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
		if a := w.only(); a.State != workflow.AllocationIntent {
			t.Errorf("given up after a minute: %s, %s", a.State, a.CauseText)
		}
		w.run(2 * time.Minute)
		w.ended(w.only(), workflow.AllocationNever)
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
		w.look()
		if a := w.only(); a.State == workflow.AllocationIntent || a.SlurmJobID == 0 {
			t.Errorf("it was not found: %+v", a)
		}
		w.work(w.lives[0], 1)
		w.sound()
	})
	t.Run("after sbatch, and the job is over", func(t *testing.T) {
		w := newWorld(t, 1)
		remove := w.cluster.Inject(slurmtest.TimedOut(slurm.Sbatch, true))
		_, _ = w.loop.Submitter().Submit(t.Context(), w.want())
		remove()
		w.lives[0].over = true
		w.lives[0].Exit(slurm.ExitCode{Code: 1})
		w.pass(5 * time.Minute) // squeue has forgotten it
		w.look()
		w.ended(w.only(), workflow.AllocationFailed)
		w.sound()
	})
	t.Run("before the intent", func(t *testing.T) {
		w := newWorld(t, 1)
		_, _, err := w.loop.submitter.secrets.create("0123456789abcdef")
		w.must(err)
		w.loop.sweep(t.Context())
		if left, _ := w.loop.submitter.secrets.list(); len(left) != 0 {
			t.Errorf("secrets of nobody are left: %q", left)
		}
	})
}

// TestSweepKeepsLiveSecrets: a daemon that starts lets runners of before in.
func TestSweepKeepsLiveSecrets(t *testing.T) {
	w := newWorld(t, 1)
	w.submit()
	w.boot(w.loop.submitter.secrets.dir)
	w.loop.sweep(t.Context())
	w.must(w.arrive(w.lives[0]))
}

func TestRefusals(t *testing.T) {
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
			if w.ended(a, workflow.AllocationRefused); a.Refusal != tc.class {
				t.Errorf("the refusal is %q", a.Refusal)
			}
			if left, _ := w.loop.submitter.secrets.list(); len(left) != 0 {
				t.Errorf("secrets are left: %q", left)
			}
			w.look()
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
		w.ended(w.only(), workflow.AllocationRefused)
	})
}

// TestTwins has sbatch make two jobs of one intent: the one that reports first
// works, the other is canceled.
func TestTwins(t *testing.T) {
	w := newWorld(t, 2)
	w.submit()
	_, err := w.client.Submit(t.Context(), slurm.Submission{Script: w.lives[0].Script})
	w.must(err)
	w.work(w.lives[0], 2)
	if err := w.arrive(w.lives[1]); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("the second one may work: %v", err)
	}
	w.run(3 * time.Minute)
	all := w.allocations()
	if len(all) != 2 || !all[1].IsDuplicate {
		t.Fatalf("there are %+v", all)
	}
	w.ended(all[1], workflow.AllocationCanceled)
	if all[0].State != workflow.AllocationActive {
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

// TestEnds has an allocation with a running and a claimed job end in several
// ways.
func TestEnds(t *testing.T) {
	ready, canceled := workflow.Ready, workflow.Canceled
	for _, tc := range []struct {
		name    string
		end     func(w *world, id slurm.JobID)
		cause   workflow.AllocationCause
		running workflow.JobStatus
	}{
		{"out of time", func(w *world, _ slurm.JobID) { w.pass(31 * time.Minute) }, workflow.AllocationWalltime, workflow.Terminated},
		{"preempted", func(w *world, id slurm.JobID) {
			w.lives[0].deaf = true // until the grace is over
			w.cluster.Preempt(id)
		}, workflow.AllocationPreempted, ready},
		{"out of memory", func(w *world, id slurm.JobID) { w.cluster.OutOfMemory(id) }, workflow.AllocationOOM, workflow.Failed},
		{"no power", func(w *world, _ slurm.JobID) {
			w.lives[0].over, w.lives[0].gone = true, w.now
			w.cluster.KillNode(w.lives[0].Nodes[0], true)
		}, workflow.AllocationNodeFail, ready},
		{"scancel by the user", func(w *world, id slurm.JobID) { w.cluster.CancelAs(999, id) }, workflow.AllocationCanceledUser, canceled},
		{"scancel by root", func(w *world, id slurm.JobID) { w.cluster.CancelAs(0, id) }, workflow.AllocationCanceledAdmin, canceled},
		{"scancel by us", func(w *world, _ slurm.JobID) {
			_, err := w.store.RequestCancel(w.Context(), []int64{1}, "no work is left")
			w.must(err)
		}, workflow.AllocationCanceled, ready},
		{"its runner was killed", func(w *world, _ slurm.JobID) {
			w.vanish(w.lives[0])
		}, workflow.AllocationFailed, ready},
	} {
		for _, way := range []string{"seen in squeue", "seen in sacct", "without sacct"} {
			t.Run(tc.name+", "+way, func(t *testing.T) {
				w := newWorld(t, 2, func(o *slurmtest.Options) {
					o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "CANCEL", GraceTime: time.Second}}
				})
				a := w.submit()
				w.work(w.lives[0], 1)
				w.look()
				if way == "without sacct" {
					w.cluster.Inject(slurmtest.AccountingDown())
				}
				tc.end(w, slurm.JobID{Number: a.SlurmJobID})
				if way == "seen in sacct" && tc.name != "scancel by us" {
					w.pass(10 * time.Minute)
				}
				w.run(4 * time.Minute)
				cause := tc.cause
				want := tc.running
				if way == "without sacct" && tc.cause == workflow.AllocationCanceledAdmin {
					cause = workflow.AllocationCanceledUser // nobody says who it was
				}
				w.ended(a, cause)
				w.statuses(want, ready)
				w.sound()
			})
		}
	}
}

// TestRequeue has Slurm start an allocation again by itself.
func TestRequeue(t *testing.T) {
	w := newWorld(t, 2, func(o *slurmtest.Options) {
		o.Partitions = []slurmtest.Partition{{Name: "debug", PreemptMode: "REQUEUE"}}
	})
	w.loop.submitter.script.Requeue = true
	a := w.submit()
	w.work(w.lives[0], 1)
	w.look()
	w.lives[0].deaf = true
	w.cluster.Preempt(slurm.JobID{Number: a.SlurmJobID})
	w.run(time.Minute)
	all := w.allocations()
	if len(all) != 2 || all[1].RestartCount != 1 || all[1].State != workflow.AllocationPending {
		t.Fatalf("the lives are %+v", all)
	}
	w.ended(all[0], workflow.AllocationPreempted)
	w.statuses(workflow.Ready, workflow.Ready)
	w.run(2 * time.Minute)
	w.work(w.lives[1], 2)
	w.statuses(workflow.Running, workflow.Running)
	w.run(time.Minute)
	if a := w.allocations()[1]; a.State != workflow.AllocationActive {
		t.Errorf("the second life is %s (%s)", a.State, a.CauseText)
	}
	w.sound()
}

// TestSuspended: an allocation that is suspended for an hour is there, and so
// are its jobs; when it goes on its runner has time to be heard.
func TestSuspended(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.work(w.lives[0], 1)
	w.cluster.Suspend(slurm.JobID{Number: a.SlurmJobID})
	w.lives[0].silence = time.Hour
	w.run(time.Hour)
	w.cluster.Resume(slurm.JobID{Number: a.SlurmJobID})
	w.run(5 * time.Minute)
	if a := w.only(); a.State != workflow.AllocationActive || a.CancelMS != 0 {
		t.Errorf("it is %s (%s%s)", a.State, a.CauseText, a.CancelWhy)
	}
	w.statuses(workflow.Running)
	w.run(15 * time.Minute) // and still nobody is heard
	w.ended(w.only(), workflow.AllocationCanceled)
	w.statuses(workflow.Ready)
	w.sound()
}

// TestNewRunnerIsHeardOut: a runner that the daemon has just begun to know is
// not silent yet, whatever it was before.
func TestNewRunnerIsHeardOut(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.work(w.lives[0], 1)
	w.lives[0].silence = 24 * time.Hour
	w.run(9 * time.Minute)
	if a := w.only(); a.CancelMS != 0 {
		t.Errorf("canceled: %s", a.CancelWhy)
	}
	w.run(5 * time.Minute)
	w.ended(a, workflow.AllocationCanceled)
}

// TestCancelIsRepeated has Slurm ignore scancel twice.
func TestCancelIsRepeated(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	remove := w.cluster.Inject(slurmtest.Fault{Program: slurm.Scancel, Answer: func(o slurm.Output) slurm.Output { return o }, Times: 2})
	defer remove()
	_, err := w.store.RequestCancel(t.Context(), []int64{a.ID}, "no work is left")
	w.must(err)
	w.run(5 * time.Minute)
	w.ended(a, workflow.AllocationCanceled)
	if n := w.calls(slurm.Scancel); n != 3 {
		t.Errorf("scancel was sent %d times", n)
	}
	w.sound()
}

// TestOutages: while Slurm gives no information nothing ends, and afterwards
// the truth comes out.
func TestOutages(t *testing.T) {
	for name, faults := range map[string][]slurmtest.Fault{
		"controller down":     {slurmtest.ControllerDown()},
		"everything down":     {slurmtest.ControllerDown(), slurmtest.AccountingDown()},
		"squeue is garbage":   {slurmtest.Garbage(slurm.Squeue, "<html>502</html>\n")},
		"squeue is empty":     {slurmtest.Garbage(slurm.Squeue, "")},
		"squeue is cut":       {slurmtest.Cut(slurm.Squeue, 100)},
		"squeue does not end": {slurmtest.TimedOut(slurm.Squeue, true)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			a := w.submit()
			w.work(w.lives[0], 1)
			w.look()
			var remove []func()
			for _, f := range faults {
				remove = append(remove, w.cluster.Inject(f))
			}
			w.run(10 * time.Minute)
			if a := w.only(); a.State != workflow.AllocationActive || a.AbsentMS != 0 {
				t.Errorf("during it: %s (%s)", a.State, a.CauseText)
			}
			w.statuses(workflow.Running)
			for _, r := range remove {
				r()
			}
			w.leave(w.lives[0], 0)
			w.run(3 * time.Minute)
			w.ended(a, workflow.AllocationDone)
			w.sound()
		})
	}
}

// TestForgotten has Slurm forget an allocation: only two looks through two
// sources are believed.
func TestForgotten(t *testing.T) {
	forget := func(w *world, programs ...string) {
		for _, p := range programs {
			answers := func(o slurm.Output) slurm.Output { // the heading alone
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
		w.look()
		w.pass(30 * time.Second)
		w.look()
		if a := w.only(); a.State == workflow.AllocationEnded {
			t.Fatalf("after 30 s: %s", a.CauseText)
		}
		w.run(time.Minute)
		w.ended(a, workflow.AllocationLost)
	})
	t.Run("by squeue alone", func(t *testing.T) {
		w := newWorld(t, 1)
		w.submit()
		forget(w, slurm.Squeue)
		w.run(20 * time.Minute)
		if a := w.only(); a.State == workflow.AllocationEnded {
			t.Errorf("sacct and scontrol have it running, but it ended: %s", a.CauseText)
		}
	})
	t.Run("where nobody keeps accounts", func(t *testing.T) {
		w := newWorld(t, 1)
		w.loop.noAccounting = true
		a := w.submit()
		forget(w, slurm.Squeue)
		w.cluster.Inject(slurmtest.Refusal(slurm.Scontrol, "slurm_load_jobs error: Invalid job id specified"))
		w.run(2 * time.Minute)
		w.ended(a, workflow.AllocationLost)
		if n := w.calls(slurm.Sacct); n != 0 {
			t.Errorf("%d sacct", n)
		}
	})
}

// TestSpoolIsReadFirst: what a runner wrote down before it was killed is
// received before its attempts are judged.
func TestSpoolIsReadFirst(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	refs := w.work(w.lives[0], 1)
	w.look()
	tries := 0
	w.spool = func(runners []store.AllocationRunner) error {
		if tries++; tries == 1 {
			return errors.New("the disk is asleep")
		}
		zero := int64(0)
		_, err := w.store.Turn(t.Context(), store.Turn{RunnerID: runners[0].RunnerID, Number: 3, RunID: w.workflow.RunID, Reports: []store.Report{
			{LeaseRef: refs[0], StartedMS: w.now.UnixMilli(), EndedMS: w.now.UnixMilli(), Evidence: workflow.Evidence{ExitCode: &zero}}}})
		return err
	}
	w.vanish(w.lives[0])
	w.run(3 * time.Minute)
	w.ended(a, workflow.AllocationFailed)
	w.statuses(workflow.Completed)
	w.sound()
}

// TestRisen: an allocation that was given up, and that Slurm has all the same,
// is canceled.
func TestRisen(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.must(w.store.EndAllocation(t.Context(), a.ID, workflow.AllocationEnd{Cause: workflow.AllocationLost, Confidence: workflow.Likely, Text: "lost"}))
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
	w.ended(a, workflow.AllocationLost)
	w.sound()
}

// TestTheLastRunnerLeaves: Slurm is asked soon again about an allocation whose
// runners have all left, though it still says that it runs.
func TestTheLastRunnerLeaves(t *testing.T) {
	w := newWorld(t, 1)
	a := w.submit()
	w.work(w.lives[0], 1)
	if next := w.look(); next != w.loop.set.Poll {
		t.Errorf("the next poll is in %s while a runner is at work", next)
	}
	_, err := w.store.LeaveRunner(t.Context(), w.lives[0].runner, store.Farewell{})
	w.must(err)
	if next := w.look(); next > w.loop.set.Hurry {
		t.Errorf("the next poll is in %s after the last runner has left", next)
	}
	if got := w.only(); got.ID != a.ID || got.State != workflow.AllocationActive {
		t.Errorf("%+v", got)
	}
}
