package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// TestASubmittedWorkflowGetsAllocations: a specification without schedulers and
// actions, on a site that says what it has.
func TestASubmittedWorkflowGetsAllocations(t *testing.T) {
	w := newWorld(t)
	w.jobs(3, 1, "1g", "PT10M")
	w.jobs(1, 8, "16g", "PT1H")
	if r := w.look(); len(r.Planned) > 0 {
		t.Fatalf("nobody submitted it, but: %+v", r.Planned)
	}
	r := w.submit(nil)
	if !r.AutoSchedule || len(r.Refused) > 0 {
		t.Errorf("%+v", r)
	}
	actions, err := w.store.Actions.List(t.Context(), w.id)
	w.must(err)
	if len(actions) != 1 || !actions[0].IsAutoSchedule() || actions[0].IsPending() {
		t.Fatalf("actions: %+v", actions)
	}
	if err := w.store.Actions.Claim(t.Context(), w.id, actions[0].ID, nil); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a claim of it: %v", err)
	}
	var got []compute.AllocationRequest
	for _, a := range w.allocations(true) {
		got = append(got, a.Request)
	}
	common := compute.AllocationRequest{Account: "research", Nodes: 1, OutputDir: w.output, MaxParallelJobs: 3, ActionID: actions[0].ID}
	big, std := common, common
	big.Partition, big.Pool, big.CPUsPerNode, big.Mem, big.WalltimeS = "big", "partition big", 16, "65536M", got[0].WalltimeS
	big.Offer = compute.AllocationOffer{CPUs: 16, MemoryBytes: 64 << 30}
	std.Partition, std.Pool, std.CPUsPerNode, std.Mem, std.WalltimeS = "std", "partition std", 3, "6144M", 720
	std.Offer = compute.AllocationOffer{CPUs: 3, MemoryBytes: 6 << 30} // the share of 3 CPUs
	if got[0].WalltimeS < 3600+90 || got[0].WalltimeS > 3600+240 {
		t.Errorf("a job of an hour gets %d s", got[0].WalltimeS)
	}
	if diff := cmp.Diff([]compute.AllocationRequest{big, std}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r = w.after(time.Minute); len(r.Planned) > 0 {
		t.Errorf("asks again: %+v", r.Planned)
	}
}

// TestRetriedWorkGetsAnAllocation: the only allocation ends with a failed node,
// and with it a job that is tried again.
func TestRetriedWorkGetsAnAllocation(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.submit(nil)
	first := w.allocations(true)[0]
	if _, granted := w.start(first); len(granted) != 1 {
		t.Fatalf("granted: %v", granted)
	}
	if r := w.after(time.Second); len(r.Planned) > 0 || r.Covered != nil {
		t.Errorf("the job is at work, but: %+v", r)
	}
	w.now = w.now.Add(time.Second)
	w.must(w.store.Allocations.End(t.Context(), first.ID, compute.AllocationEnd{
		Cause: compute.AllocationPreempted, Confidence: workflow.Certain, Text: "preempted", Slurm: workflow.SlurmEvidence{JobState: "PREEMPTED"},
	}))
	r := w.after(10 * time.Minute)
	if len(r.Asked) != 1 || len(w.allocations(true)) != 1 {
		t.Errorf("no new allocation: %+v", r)
	}
}

// TestARetryAvoidsItsNode, in the next allocation.
func TestARetryAvoidsItsNode(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.submit(nil)
	first := w.allocations(true)[0]
	w.startJob(first)
	w.now = w.now.Add(time.Second)
	w.end(first, compute.AllocationNodeFail)
	r := w.after(10 * time.Minute)
	if len(r.Asked) != 1 || !slices.Equal(r.Asked[0].Request.Exclude, []string{"n1"}) {
		t.Errorf("%+v", r)
	}
}

// TestAnExcludedNodeIsNotAskedFor: the next allocation is requested without the
// node from which a circuit breaker keeps the workflow, though no job avoids it.
func TestAnExcludedNodeIsNotAskedFor(t *testing.T) {
	w := newWorld(t)
	_, err := w.store.Workflows.Update(t.Context(), w.id, workflow.WorkflowUpdate{Policy: &workflow.RunPolicy{CircuitBreakers: []workflow.CircuitBreaker{
		{Per: workflow.PerNode, Threshold: 1, Within: "PT1H", Action: workflow.BreakerExcludeNode}}}})
	w.must(err)
	w.jobs(2, 4, "1g", "PT10M") // one after the other
	w.submit(nil)
	first := w.allocations(true)[0]
	if len(first.Request.Exclude) > 0 {
		t.Errorf("the first one is asked for without %v", first.Request.Exclude)
	}
	runner, granted := w.start(first)
	if len(granted) != 1 {
		t.Fatalf("granted: %v", granted)
	}
	w.now = w.now.Add(time.Second)
	ms, code := w.now.UnixMilli(), int64(1)
	answer, err := w.store.Runners.Turn(t.Context(), runner, lease.TurnRequest{Turn: 2, RunID: first.RunID, Reports: []lease.Report{
		{LeaseRef: granted[0].LeaseRef, StartedMS: ms, EndedMS: ms, Evidence: workflow.Evidence{ExitCode: &code}}}})
	w.must(err)
	if answer.ClaimsHeld == "" {
		t.Errorf("the runner on the node hears nothing: %+v", answer)
	}
	w.end(first, compute.AllocationDone)
	r := w.after(10 * time.Minute)
	if len(r.Asked) != 1 || !slices.Equal(r.Asked[0].Request.Exclude, []string{"n1"}) {
		t.Errorf("%+v", r)
	}
}

// TestSilentAllocationsAreNotCountedOn.
func TestSilentAllocationsAreNotCountedOn(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT1M")
	w.submit(nil)
	w.start(w.allocations(true)[0])
	w.jobs(1, 1, "1g", "PT2M")
	silence := time.Minute
	w.scheduler.Silence = func(int64) time.Duration { return silence }
	if r := w.after(time.Second); len(r.Asked) != 0 {
		t.Errorf("the runner lives: %+v", r.Asked)
	}
	silence = 3 * time.Minute
	if r := w.after(time.Second); len(r.Asked) != 1 {
		t.Errorf("nothing is heard of the runner: %+v", r)
	}
}

// TestKnownLimitsAreKept: Slurm gets no requests for more than an account may have.
func TestKnownLimitsAreKept(t *testing.T) {
	w := newWorld(t)
	w.site.Accounts = []siteconfigs.Account{{Name: "research", MaxSubmitJobs: 2, MaxWalltime: 2 * time.Hour}}
	w.jobs(8, 4, "1g", "PT1H")
	w.jobs(1, 1, "1g", "PT3H")
	r := w.submit(nil)
	if len(r.Asked) != 2 || len(r.Refused) != 0 || r.Asked[0].Request.WalltimeS > 7200 {
		t.Fatalf("%+v", r)
	}
	var reasons []string
	for _, c := range r.Covered {
		reasons = append(reasons, c.Reason)
	}
	want := []string{
		"fits no partition: std: 3h3m are needed, the account research allows at most 2h; big: 3h3m are needed, the account research allows at most 2h",
		"the site accepts no more of your allocations now",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLimitsAreWaitedOut: Slurm says no for now; each time the wait is twice as
// long, in whichever daemon.
func TestLimitsAreWaitedOut(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{refusal(slurm.Limit), refusal(slurm.Temporary), refusal(slurm.Limit)}
	r := w.submit(nil)
	for _, delay := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		if got := r.Next.Sub(w.now); len(r.Refused) != 1 || got != min(delay, time.Minute) {
			t.Fatalf("refused %q, looks again in %s, want %s", r.Refused, got, delay)
		}
		if c := r.Covered[0]; c.Uncovered != 1 || !strings.Contains(c.Reason, "Slurm accepts no more now: sbatch: no, ") {
			t.Errorf("the job: %+v", c)
		}
		w.restart()
		if early := w.after(delay - time.Second); len(early.Planned) > 0 {
			t.Fatalf("asks %s after the last no", delay-time.Second)
		}
		r = w.after(time.Second)
	}
	if len(r.Asked) != 1 {
		t.Errorf("not asked: %+v", r)
	}
}

// TestALimitMayPassEarlier: something of the workflow has ended.
func TestALimitMayPassEarlier(t *testing.T) {
	w := newWorld(t)
	w.jobs(8, 4, "1g", "PT3H")
	w.answers = []error{nil, refusal(slurm.Limit)}
	w.submit(nil)
	taken := w.allocations(true)
	if len(taken) != 1 {
		t.Fatalf("%d allocations", len(taken))
	}
	w.now = w.now.Add(time.Second)
	w.start(taken[0])
	w.end(taken[0], compute.AllocationNodeFail)
	if r := w.after(time.Second); len(r.Asked) == 0 {
		t.Errorf("still waits: %+v", r.Waits)
	}
}

// TestItGivesUpAndProbes: after some refusals for good only one is tried now
// and then; that is told once.
func TestItGivesUpAndProbes(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	no := refusal(slurm.Permanent)
	w.answers = []error{no, no, no}
	w.submit(&workflow.AutoSchedule{GiveUpAfter: 2})
	if r := w.after(29 * time.Second); w.asked != 1 || !strings.Contains(r.Covered[0].Reason, "Slurm refused the last request: sbatch: no, permanent") {
		t.Fatalf("asked %d times, %+v", w.asked, r.Covered)
	}
	r := w.after(time.Second)
	if w.asked != 2 || len(r.Waits) != 1 || r.Waits[0].Kind != Pause {
		t.Fatalf("asked %d times, waits: %+v", w.asked, r.Waits)
	}
	w.after(4 * time.Minute)
	if w.asked != 2 {
		t.Fatalf("asked %d times", w.asked)
	}
	if w.after(time.Minute); w.asked != 3 {
		t.Fatalf("no probe: asked %d times", w.asked)
	}
	if r = w.after(10 * time.Minute); w.asked != 4 || len(r.Asked) != 1 {
		t.Fatalf("the second probe: asked %d times, %+v", w.asked, r)
	}
	paused := 0
	events, err := w.store.Events.After(t.Context(), w.id, 0, 1000)
	w.must(err)
	for _, e := range events {
		if e.Type == compute.EventSchedulingPaused {
			paused++
		}
	}
	if paused == 0 || paused > 2 {
		t.Errorf("%d events say that it is paused", paused)
	}
}

// TestUnfitJobsAreReported, and keeps the daemon.
func TestUnfitJobsAreReported(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "2t", "PT10M")
	r := w.submit(nil)
	if w.asked != 0 || len(r.Covered) != 1 || !strings.Contains(r.Covered[0].Reason, "fits no partition: std: memory: needs 2.00 TiB, largest node has 7.88 GiB; big: ") {
		t.Fatalf("%+v", r.Covered)
	}
	if open, err := w.store.Workflows.HaveOpenWork(t.Context()); err != nil || !open {
		t.Errorf("the daemon is not needed: %v", err)
	}
	want := []string{"1 ready job: no allocation, " + r.Covered[0].Reason}
	if diff := cmp.Diff(want, w.review().Lines()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOurOwnTroubleIsNotHammered: what comes before sbatch fails.
func TestOurOwnTroubleIsNotHammered(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{errors.New("the cluster has no nodes")}
	r := w.submit(nil)
	if c := r.Covered[0]; c.Uncovered != 1 || c.Reason != "the cluster has no nodes" {
		t.Errorf("%+v", c)
	}
	if w.after(29 * time.Second); w.asked != 1 {
		t.Errorf("asked %d times", w.asked)
	}
	if w.after(time.Second); w.asked != 2 {
		t.Errorf("asked %d times", w.asked)
	}
}

// TestAPlanChangesNothing, and is what a submission then does.
func TestAPlanChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.jobs(5, 2, "1g", "PT30M")
	planned, err := w.scheduler.Plan(t.Context(), w.id, compute.SubmitOptions{Partition: "big"}, &workflow.AutoSchedule{MaxAllocations: 1})
	w.must(err)
	actions, err := w.store.Actions.List(t.Context(), w.id)
	w.must(err)
	if w.asked != 0 || len(actions) != 0 || len(planned.Planned) != 1 || planned.Planned[0].Pool != "partition big" {
		t.Fatalf("asked %d times, actions %v, %+v", w.asked, actions, planned.Planned)
	}
	if _, err := w.scheduler.Plan(t.Context(), w.id, compute.SubmitOptions{}, &workflow.AutoSchedule{MaxReadyAge: "2m"}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a bad limit: %v", err)
	}
	planned, err = w.scheduler.Plan(t.Context(), w.id, compute.SubmitOptions{OutputDir: w.output, MaxParallelJobs: 3}, nil)
	w.must(err)
	done := w.submit(nil)
	for i := range planned.Planned { // the action is there only now
		planned.Planned[i].ActionID, planned.Planned[i].Request.ActionID = done.Planned[i].ActionID, done.Planned[i].ActionID
	}
	if diff := cmp.Diff(planned.Planned, done.Planned); diff != "" {
		t.Errorf("-planned +asked:\n%s", diff)
	}
}

// TestTheEndCancelsPendingAllocations, those of a person too.
func TestTheEndCancelsPendingAllocations(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.submit(nil)
	asked := w.allocations(true)[0]
	_, err := w.Submit(t.Context(), allocation.Want{WorkflowID: w.id, Request: asked.Request, Why: "somebody wants it"})
	w.must(err)
	runner, granted := w.start(asked)
	_, err = w.store.Runners.Turn(t.Context(), runner, lease.TurnRequest{Turn: 2, RunID: asked.RunID, Reports: []lease.Report{{
		LeaseRef: granted[0].LeaseRef, StartedMS: w.now.UnixMilli(), EndedMS: w.now.UnixMilli(), Evidence: workflow.Evidence{ExitCode: new(int64(0))},
	}}})
	w.must(err)
	scheduled, err := w.store.Scheduling.Workflows(t.Context())
	w.must(err)
	if len(scheduled) != 1 {
		t.Fatalf("to be looked after: %v", scheduled)
	}
	if r := w.look(); len(r.Canceled) != 1 || !r.Ended {
		t.Errorf("%+v", r)
	}
	if scheduled, err = w.store.Scheduling.Workflows(t.Context()); err != nil || len(scheduled) != 0 {
		t.Errorf("still to be looked after: %v %v", scheduled, err)
	}
}

// TestRunStartsAPassWhenWoken, and ends with its context.
func TestRunStartsAPassWhenWoken(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	woken := make(chan struct{}, 1)
	looked := make(chan struct{}, 100)
	site := w.scheduler.Site
	w.scheduler.Woken, w.scheduler.Least, w.scheduler.Tick = woken, time.Millisecond, time.Hour
	w.scheduler.Options.Site = func(ctx context.Context) (*siteconfigs.Site, error) {
		looked <- struct{}{}
		return site(ctx)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.scheduler.Run(ctx) }()
	w.must(w.store.Scheduling.Submit(t.Context(), w.id, compute.SubmitOptions{OutputDir: w.output}, nil, "me"))
	woken <- struct{}{}
	<-looked
	cancel()
	w.must(<-done)
}
