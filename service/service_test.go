package service

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/artifact"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// world is a database with a workflow of two jobs that share requirements: one
// completed, one ran out of memory.
type world struct {
	*testing.T
	*Service
	store     *store.Store
	id        int64
	good, bad int64
}

func newWorld(t *testing.T) *world {
	now := func() time.Time { return time.UnixMilli(1_795_255_200_000) }
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "torc.db"), Now: now})
	w := &world{T: t, Service: &Service{Store: s, Now: now}, store: s}
	w.must(err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	wf, err := s.Workflows.Create(t.Context(), workflow.Workflow{Name: "sweep", User: "me"})
	w.must(err)
	w.id = wf.ID
	rr, err := s.Requirements.Create(t.Context(), workflow.ResourceRequirements{
		WorkflowID: w.id, Name: "small", NumCPUs: 2, NumNodes: 1, Memory: "1g", Runtime: "PT10M",
	})
	w.must(err)
	jobs, err := s.Jobs.Create(t.Context(), []workflow.Job{
		{WorkflowID: w.id, Name: "good", Command: "true", ResourceRequirementsID: &rr.ID},
		{WorkflowID: w.id, Name: "bad", Command: "false", ResourceRequirementsID: &rr.ID},
	})
	w.must(err)
	w.good, w.bad = jobs[0].ID, jobs[1].ID
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// run initializes the jobs and ends both.
func (w *world) run() { w.runTo(workflow.Failed) }

// runTo is run with how the second job ends.
func (w *world) runTo(bad workflow.JobStatus) {
	w.must(w.store.Workflows.Initialize(w.Context(), w.id, store.InitializeOptions{}))
	at, err := w.store.Workflows.Get(w.Context(), w.id)
	w.must(err)
	node, err := w.store.ComputeNodes.Create(w.Context(), compute.Node{
		WorkflowID: w.id, Hostname: "here", PID: 1, StartTime: "2026-11-21T10:00:00Z", NumCPUs: 8, MemoryGB: 16, NumNodes: 1, Type: "local",
	})
	w.must(err)
	end := func(job int64, status workflow.JobStatus, code, peak int64) {
		_, err := w.store.Jobs.Complete(w.Context(), store.Completion{JobID: job, Status: status, RunID: at.RunID, Result: workflow.Result{
			JobID: job, WorkflowID: w.id, RunID: at.RunID, AttemptID: 1, ComputeNodeID: node.ID, ReturnCode: code, ExecTimeMinutes: 9,
			CompletionTime: "2026-11-21T10:02:00Z", Status: status, PeakMemoryBytes: &peak,
		}})
		w.must(err)
	}
	end(w.good, workflow.Completed, 0, 900<<20)
	end(w.bad, bad, 137, 1100<<20)
}

// state is all that a verb could change.
func (w *world) state() any {
	seq, err := w.store.Events.LastSeq(w.Context(), w.id)
	w.must(err)
	at, err := w.store.Workflows.Get(w.Context(), w.id)
	w.must(err)
	jobs, err := w.jobs(context.WithoutCancel(w.Context()), w.id, nil)
	w.must(err)
	rr, err := w.requirementsByID(w.Context(), w.id)
	w.must(err)
	return []any{seq, at.RunID, jobs, rr}
}

// unchanged carries out a dry run and makes sure that it changes nothing.
func (w *world) unchanged(verb func() error) {
	w.Helper()
	before := w.state()
	w.must(verb())
	if diff := cmp.Diff(before, w.state()); diff != "" {
		w.Errorf("a dry run changed something:\n%s", diff)
	}
}

var me = Caller{User: "me"}

func TestRecover(t *testing.T) {
	w := newWorld(t)
	_, err := w.Recover(t.Context(), me, w.id, &api.RecoverRequest{DryRun: true})
	if workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a workflow that has not ended: %v", err)
	}
	w.run()
	var plan api.RecoveryPlan
	w.unchanged(func() (err error) {
		plan, err = w.Recover(t.Context(), me, w.id, &api.RecoverRequest{DryRun: true})
		return err
	})
	if len(plan.Jobs) != 1 || plan.Jobs[0].JobID != w.bad || !plan.Jobs[0].Retry || plan.Jobs[0].Group != usage.GroupMemory {
		t.Fatalf("proposed %+v", plan.Jobs)
	}
	if len(plan.Changes) != 1 || !plan.Changes[0].Clone || plan.CPUSeconds != 2*600 || plan.UsesSlurm {
		t.Errorf("proposed %+v", plan)
	}
	expected := []api.ExpectedJob{{JobID: w.bad, Status: workflow.Failed}}
	if _, err := w.Recover(t.Context(), me, w.id, &api.RecoverRequest{RunID: new(plan.RunID + 1), Jobs: expected}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("of another run: %v", err)
	}
	if _, err := w.Recover(t.Context(), me, w.id, &api.RecoverRequest{Skip: []usage.FailureGroup{usage.GroupMemory}}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("nothing to repeat: %v", err)
	}
	_, err = w.Recover(t.Context(), me, w.id, &api.RecoverRequest{RunID: &plan.RunID, Jobs: expected, Step: api.RecoverCorrect})
	w.must(err)
	bad, err := w.store.Jobs.Get(t.Context(), w.bad)
	w.must(err)
	rr, err := w.store.Requirements.Get(t.Context(), *bad.ResourceRequirementsID)
	w.must(err)
	if rr.Name == "small" || rr.Memory == "1g" || bad.Status != workflow.Failed {
		t.Errorf("corrected: %+v, job %s", rr, bad.Status)
	}
	_, err = w.Recover(t.Context(), me, w.id, &api.RecoverRequest{RunID: &plan.RunID, Jobs: expected, Step: api.RecoverRepeat})
	w.must(err)
	good, err := w.store.Jobs.Get(t.Context(), w.good)
	w.must(err)
	if bad, err = w.store.Jobs.Get(t.Context(), w.bad); err != nil || bad.Status != workflow.Ready || good.Status != workflow.Completed {
		t.Errorf("repeated: %s and %s, %v", bad.Status, good.Status, err)
	}
}

func TestCorrectResources(t *testing.T) {
	w := newWorld(t)
	w.run()
	var report api.CorrectionReport
	w.unchanged(func() (err error) {
		report, err = w.CorrectResources(t.Context(), me, w.id, &api.CorrectResourcesRequest{DryRun: true})
		return err
	})
	if report.MemoryCorrections != 1 || report.RequirementsUpdated != 1 {
		t.Errorf("proposed %+v", report)
	}
	if _, err := w.CorrectResources(t.Context(), me, w.id, &api.CorrectResourcesRequest{CPUMultiplier: new(0.5)}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("a multiplier of 0.5: %v", err)
	}
	done, err := w.CorrectResources(t.Context(), me, w.id, &api.CorrectResourcesRequest{})
	w.must(err)
	report.DryRun = false
	if diff := cmp.Diff(report, done); diff != "" {
		t.Errorf("done otherwise than proposed:\n%s", diff)
	}
	rr, err := w.requirementsByID(t.Context(), w.id)
	w.must(err)
	for _, a := range done.Adjustments {
		if got := rr[a.ResourceRequirementsID]; a.Resource == workflow.ResourceMemory && got.Memory != a.New {
			t.Errorf("memory is %s, not %s", got.Memory, a.New)
		}
	}
}

func TestCheckResources(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.unchanged(func() error {
		report, err := w.CheckResources(t.Context(), w.id, api.ResourceFilter{All: true, IncludeFailed: true, MinOverPercent: 1})
		if err == nil && (len(report.Violations) != 1 || len(report.ResourceViolations) != 1 || report.TotalResults != 2) {
			t.Errorf("%+v", report)
		}
		return err
	})
}

func TestDiagnose(t *testing.T) {
	w := newWorld(t)
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	_, err := w.store.ComputeNodes.Create(t.Context(), compute.Node{
		WorkflowID: w.id, Hostname: "here", PID: 1, StartTime: "2026-11-21T10:00:00Z", EndTime: new(w.Now().Add(5 * time.Minute).UTC().Format(time.RFC3339)),
		IsActive: true, NumCPUs: 8, MemoryGB: 16, NumNodes: 1, Type: "slurm",
	})
	w.must(err)
	d, err := w.Diagnose(t.Context(), w.id)
	w.must(err)
	if d.ActiveAllocations != 1 || d.ReadyJobs != 2 || d.BlockedJobs != 2 || !d.Blocked {
		t.Errorf("%+v", d)
	}
}

func TestExecutionPlan(t *testing.T) {
	w := newWorld(t)
	mid, err := w.store.Files.Create(t.Context(), []artifact.File{{WorkflowID: w.id, Name: "mid", Path: "mid.txt"}})
	w.must(err)
	_, err = w.store.Jobs.Create(t.Context(), []workflow.Job{
		{WorkflowID: w.id, Name: "make", Command: "true", DependsOn: []int64{w.good, w.bad}, OutputFiles: []int64{mid[0].ID}},
		{WorkflowID: w.id, Name: "use", Command: "true", InputFiles: []int64{mid[0].ID}},
	})
	w.must(err)
	small, err := w.store.SlurmSchedulers.Create(t.Context(), compute.SlurmScheduler{WorkflowID: w.id, Name: "small", Account: "me", Nodes: 1, Walltime: "01:00:00"})
	w.must(err)
	_, err = w.store.Actions.Create(t.Context(), action.Record{
		WorkflowID: w.id, TriggerType: action.TriggerJobsComplete, ActionType: action.ScheduleNodes, JobIDs: []int64{w.good, w.bad},
		Config: json.RawMessage(fmt.Sprintf(`{"scheduler_id": %d, "scheduler_type": "slurm", "num_allocations": 3}`, small.ID)),
	})
	w.must(err)
	w.unchanged(func() error {
		plan, err := w.ExecutionPlan(t.Context(), w.id)
		if err != nil {
			return err
		}
		ready := make(map[string][]string)
		for _, e := range plan.Events {
			ready[e.ID] = e.JobsBecomingReady
		}
		want := map[string][]string{"start": {"good", "bad"}, "after_good_and_1_more": {"make"}, "after_make": {"use"}}
		if diff := cmp.Diff(want, ready); diff != "" || plan.TotalJobs != 4 || *plan.WorkflowID != w.id || plan.WorkflowName != "sweep" {
			t.Errorf("%+v\n%s", plan, diff)
		}
		asked := []graph.PlanAllocation{{Scheduler: "small", SchedulerType: "slurm", NumAllocations: 3, Jobs: []string{"good", "bad"}}}
		if diff := cmp.Diff(asked, plan.Events[1].SchedulerAllocations); diff != "" {
			t.Error(diff)
		}
		return nil
	})
	if _, err := w.ExecutionPlan(t.Context(), w.id+1); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("a workflow that does not exist: %v", err)
	}
}

// accountant answers with records, and counts how often it was asked.
type accountant struct {
	Slurm
	records []slurm.Record
	asked   int
}

func (a *accountant) Accounting(_ context.Context, q slurm.AccountingQuery) (slurm.Accounting, error) {
	a.asked++
	if !q.Duplicates || q.Since.IsZero() {
		return slurm.Accounting{}, fmt.Errorf("asked for %+v", q)
	}
	return slurm.Accounting{Records: a.records}, nil
}

func TestSlurmUsage(t *testing.T) {
	w := newWorld(t)
	a := &accountant{records: []slurm.Record{{ID: slurm.StepID{Job: slurm.JobID{Number: 7}}, NodeList: "n[1-2]", Nodes: 2, CPUs: 16, Elapsed: time.Hour}}}
	w.Slurm = a
	if u, err := w.SlurmUsage(t.Context(), w.id); err != nil || u.TotalSlurmJobs != 0 || a.asked != 0 || u.Errors == nil {
		t.Errorf("a workflow without allocations: %+v, %v, asked %d times", u, err, a.asked)
	}
	for _, job := range []int64{8, 7, 7} {
		_, err := w.store.ScheduledComputeNodes.Create(t.Context(), compute.ScheduledNode{
			WorkflowID: w.id, SchedulerID: job, SchedulerConfigID: 1, SchedulerType: compute.SchedulerSlurm, Status: "complete",
		})
		w.must(err)
	}
	w.unchanged(func() error {
		u, err := w.SlurmUsage(t.Context(), w.id)
		want := api.SlurmUsage{
			WorkflowID: w.id, TotalSlurmJobs: 2, TotalNodes: 2, TotalNodeTime: "02:00:00", TotalNodeTimeSeconds: 7200,
			TotalCPUTime: "16:00:00", TotalCPUTimeSeconds: 57600, Errors: []string{"there is no accounting record of Slurm job 8"},
		}
		if diff := cmp.Diff(want, u); diff != "" || a.asked != 1 {
			t.Errorf("asked %d times:\n%s", a.asked, diff)
		}
		return err
	})
	w.Slurm = nil
	if _, err := w.SlurmUsage(t.Context(), w.id); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("without Slurm: %v", err)
	}
}

// TestUnusedName: schedulers that are made within a second have names of their
// own.
func TestUnusedName(t *testing.T) {
	var known []compute.SlurmScheduler
	for _, want := range []string{"debug_regen", "debug_regen_2", "debug_regen_3"} {
		got := unusedName("debug_regen", known)
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		known = append(known, compute.SlurmScheduler{Name: got})
	}
}

// smallSite has nodes of 8 CPUs.
func smallSite(context.Context) (*siteconfigs.Site, error) {
	return &siteconfigs.Site{
		Name: "small", DefaultAccount: "research", ChargeFactorCPU: 2,
		Partitions: []siteconfigs.Partition{{Name: "debug", CPUsPerNode: 8, MemoryMB: 16 << 10, MaxWalltime: 4 * time.Hour, TotalNodes: 4, Default: true}},
	}, nil
}

func TestRegenerate(t *testing.T) {
	w := newWorld(t)
	dry := &api.RegenerateRequest{DryRun: true, SchedulerOptions: api.SchedulerOptions{WalltimeSeconds: 1800}}
	if _, err := w.Regenerate(t.Context(), me, w.id, dry); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("without a site: %v", err)
	}
	w.Site = smallSite
	var plan api.Regeneration
	w.unchanged(func() (err error) {
		plan, err = w.Regenerate(t.Context(), me, w.id, dry)
		return err
	})
	if len(plan.Schedulers) != 1 || plan.PendingJobs != 2 || plan.TotalAllocations != 1 || plan.NodeSeconds != 1800 || plan.Charge != 1 || plan.SiteName != "small" {
		t.Fatalf("proposed %+v", plan)
	}
	if p := plan.Schedulers[0]; !p.IsNew || p.ID != nil || p.Account != "research" || p.Partition != "debug" || !slices.Equal(p.JobIDs, []int64{w.good, w.bad}) {
		t.Errorf("proposed %+v", p)
	}
	done, err := w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{SchedulerOptions: api.SchedulerOptions{WalltimeSeconds: 1800}})
	w.must(err)
	made := done.Schedulers[0]
	good, err := w.store.Jobs.Get(t.Context(), w.good)
	w.must(err)
	if made.ID == nil || good.SchedulerID == nil || *good.SchedulerID != *made.ID {
		t.Errorf("job has scheduler %v, made was %+v", good.SchedulerID, made)
	}
	site, err := smallSite(t.Context())
	w.must(err)
	site.DefaultAccount, site.Name = "other", "elsewhere"
	given, err := json.Marshal(site)
	w.must(err)
	w.unchanged(func() error {
		again, err := w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{SchedulerOptions: api.SchedulerOptions{WalltimeSeconds: 1800, Site: given}})
		if err == nil && (again.SiteName != "elsewhere" || len(again.Schedulers) != 1 || again.Schedulers[0].IsNew || *again.Schedulers[0].ID != *made.ID) {
			t.Errorf("again: %+v", again)
		}
		return err
	})
	if _, err := w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{SchedulerOptions: api.SchedulerOptions{GroupBy: "size"}}); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("grouped by size: %v", err)
	}
}

// TestRegenerateCounts what is there already, and leaves what has ended.
func TestRegenerateCounts(t *testing.T) {
	w := newWorld(t)
	w.Site = smallSite
	_, err := w.store.Allocations.Intend(t.Context(), store.AllocationIntent{
		IntentID: "0123456789abcdef", WorkflowID: w.id, JobName: "a", Request: compute.AllocationRequest{Partition: "debug", Nodes: 1, WalltimeS: 3600},
	})
	w.must(err)
	plan, err := w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{DryRun: true, SchedulerOptions: api.SchedulerOptions{WalltimeSeconds: 1800}})
	w.must(err)
	if plan.LiveAllocations != 1 || plan.TotalAllocations != 0 || plan.Charge != 0 {
		t.Errorf("with an allocation: %+v", plan)
	}
	if plan, err = w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{DryRun: true, SchedulerOptions: api.SchedulerOptions{WalltimeSeconds: 1800}, IgnoreLive: true}); err != nil || plan.LiveAllocations != 0 || plan.TotalAllocations != 1 {
		t.Errorf("without it: %+v, %v", plan, err)
	}
	w.run()
	if plan, err = w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{}); err != nil || plan.PendingJobs != 0 || len(plan.Schedulers) != 0 {
		t.Errorf("after the end: %+v, %v", plan, err)
	}
	if plan, err = w.Regenerate(t.Context(), me, w.id, &api.RegenerateRequest{DryRun: true, SchedulerOptions: api.SchedulerOptions{IncludeJobIDs: []int64{w.bad}}}); err != nil || plan.PendingJobs != 1 {
		t.Errorf("with a job that has ended: %+v, %v", plan, err)
	}
}

func TestPlanAllocations(t *testing.T) {
	w := newWorld(t)
	offline := &api.AllocationPlanRequest{Offline: true, SchedulerOptions: api.SchedulerOptions{WalltimeSeconds: 1800}}
	if _, err := w.PlanAllocations(t.Context(), w.id, offline); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("without a site: %v", err)
	}
	w.Site = smallSite
	w.Slurm = &accountant{} // asked anything else, it panics
	w.unchanged(func() error {
		p, err := w.PlanAllocations(t.Context(), w.id, offline)
		if p.WorkflowID != w.id || len(p.Recommendations) != 1 || p.Account != "research" || p.Analysis.TotalInstances != 2 || p.NodeSeconds != 1800 || p.Charge != 1 {
			t.Errorf("planned %+v", p)
		}
		return err
	})
	w.run()
	for id, want := range map[int64]workflow.Code{w.id: workflow.CodeConflict, w.id + 1: workflow.CodeNotFound} {
		if _, err := w.PlanAllocations(t.Context(), id, offline); workflow.CodeOf(err) != want {
			t.Errorf("workflow %d, which has nothing to plan: %v", id, err)
		}
	}
}

func TestRetryJob(t *testing.T) {
	w := newWorld(t)
	if _, err := w.RetryJob(t.Context(), me, w.bad, &api.RetryJobRequest{DryRun: true}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a job that has not run: %v", err)
	}
	w.run()
	if _, err := w.RetryJob(t.Context(), me, w.good, &api.RetryJobRequest{}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("a job that succeeded: %v", err)
	}
	w.unchanged(func() error {
		r, err := w.RetryJob(t.Context(), me, w.bad, &api.RetryJobRequest{DryRun: true})
		if r.Was != workflow.Failed || r.Attempt != 2 || r.CPUSeconds != 1200 || *r.Job.Status != workflow.Failed {
			t.Errorf("proposed %+v", r)
		}
		return err
	})
	r, err := w.RetryJob(t.Context(), me, w.bad, &api.RetryJobRequest{})
	w.must(err)
	if r.Was != workflow.Failed || r.Attempt != 2 || *r.Job.Status != workflow.Ready || *r.Job.AttemptID != 2 {
		t.Errorf("done: %+v", r)
	}
}

// TestRetryOf jobs that are held or canceled: a proposal tells what each status needs.
func TestRetryOf(t *testing.T) {
	for status, bring := range map[workflow.JobStatus]func(*world){
		workflow.PendingFailed: func(w *world) {
			w.run()
			at, err := w.store.Workflows.Get(t.Context(), w.id)
			w.must(err)
			_, err = w.store.Jobs.ManageStatusChange(t.Context(), w.bad, workflow.PendingFailed, at.RunID)
			w.must(err)
		},
		workflow.Canceled: func(w *world) { w.runTo(workflow.Canceled) },
	} {
		t.Run(status.String(), func(t *testing.T) {
			w := newWorld(t)
			bring(w)
			var proposed api.JobRetry
			w.unchanged(func() (err error) {
				proposed, err = w.RetryJob(t.Context(), me, w.bad, &api.RetryJobRequest{DryRun: true})
				return err
			})
			done, err := w.RetryJob(t.Context(), me, w.bad, &api.RetryJobRequest{})
			w.must(err)
			_, err = w.store.Workflows.Cancel(t.Context(), w.id)
			w.must(err)
			if _, err := w.RetryJob(t.Context(), me, w.bad, &api.RetryJobRequest{DryRun: true}); workflow.CodeOf(err) != workflow.CodeConflict {
				t.Errorf("of a canceled workflow: %v", err)
			}
			if proposed.Attempt != done.Attempt || done.Was != status || *done.Job.Status != workflow.Ready {
				t.Errorf("proposed %+v, done %+v", proposed, done)
			}
		})
	}
}

func TestResetJobs(t *testing.T) {
	w := newWorld(t)
	behind, err := w.store.Jobs.Create(t.Context(), []workflow.Job{{WorkflowID: w.id, Name: "behind", Command: "true", DependsOn: []int64{w.good}}})
	w.must(err)
	w.run()
	var plan api.JobReset
	w.unchanged(func() (err error) {
		plan, err = w.ResetJobs(t.Context(), me, w.id, &api.ResetJobsRequest{DryRun: true, Statuses: []workflow.JobStatus{workflow.Completed}})
		return err
	})
	if len(plan.Jobs) != 1 || plan.Jobs[0].JobID != w.good || len(plan.Downstream) != 1 || plan.Downstream[0].JobID != behind[0].ID || plan.CPUSeconds != 1200 || plan.Obstacle != nil {
		t.Fatalf("proposed %+v", plan)
	}
	w.unchanged(func() error {
		byCode, err := w.ResetJobs(t.Context(), me, w.id, &api.ResetJobsRequest{DryRun: true, ReturnCode: new(int64(137))})
		if err == nil && (len(byCode.Jobs) != 1 || byCode.Jobs[0].JobID != w.bad) {
			t.Errorf("by return code: %+v", byCode)
		}
		return err
	})
	for what, q := range map[string]*api.ResetJobsRequest{
		"another run":       {JobIDs: []int64{w.good}, RunID: new(plan.RunID + 1)},
		"changed meanwhile": {JobIDs: []int64{w.good}, Expected: []api.ExpectedJob{{JobID: w.good, Status: workflow.Failed}}},
	} {
		if _, err := w.ResetJobs(t.Context(), me, w.id, q); workflow.CodeOf(err) != workflow.CodeConflict {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, q := range []*api.ResetJobsRequest{{}, {JobIDs: []int64{w.good + 99}}} {
		if _, err := w.ResetJobs(t.Context(), me, w.id, q); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
	done, err := w.ResetJobs(t.Context(), me, w.id, &api.ResetJobsRequest{
		JobIDs: []int64{w.good}, RunID: &plan.RunID, Expected: []api.ExpectedJob{{JobID: w.good, Status: workflow.Completed}}, Reinitialize: true,
	})
	w.must(err)
	good, err := w.store.Jobs.Get(t.Context(), w.good)
	w.must(err)
	if !slices.Equal(done.Reset, []int64{w.good}) || len(done.Failures) != 0 || !done.Reinitialized || good.Status != workflow.Ready {
		t.Errorf("done %+v, job is %s", done, good.Status)
	}
}

// TestResetJobsAtWork: while a runner is at work nothing is reset unless it is forced.
func TestResetJobsAtWork(t *testing.T) {
	w := newWorld(t)
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	_, err := w.store.ComputeNodes.Create(t.Context(), compute.Node{
		WorkflowID: w.id, Hostname: "here", PID: 1, StartTime: "2026-11-21T10:00:00Z", IsActive: true, NumCPUs: 8, MemoryGB: 16, NumNodes: 1, Type: "local",
	})
	w.must(err)
	q := &api.ResetJobsRequest{JobIDs: []int64{w.bad}}
	w.unchanged(func() error {
		if _, err := w.ResetJobs(t.Context(), me, w.id, q); workflow.CodeOf(err) != workflow.CodeConflict {
			t.Errorf("while a runner is at work: %v", err)
		}
		plan, err := w.ResetJobs(t.Context(), me, w.id, &api.ResetJobsRequest{DryRun: true, JobIDs: q.JobIDs})
		if plan.Obstacle == nil {
			t.Errorf("nothing is in the way of %+v", plan)
		}
		return err
	})
	q.Force = true
	if done, err := w.ResetJobs(t.Context(), me, w.id, q); err != nil || len(done.Reset) != 1 {
		t.Errorf("forced: %+v, %v", done, err)
	}
}

func TestResetWorkflow(t *testing.T) {
	w := newWorld(t)
	w.run()
	at, err := w.store.Workflows.Get(t.Context(), w.id)
	w.must(err)
	if _, err := w.ResetWorkflow(t.Context(), me, w.id, &api.ResetWorkflowRequest{DryRun: true, RunID: new(at.RunID + 1)}); workflow.CodeOf(err) != workflow.CodeConflict {
		t.Errorf("another run: %v", err)
	}
	for failedOnly, jobs := range map[bool]int64{false: 2, true: 1} {
		w.unchanged(func() error {
			plan, err := w.ResetWorkflow(t.Context(), me, w.id, &api.ResetWorkflowRequest{DryRun: true, FailedOnly: failedOnly})
			if plan.Jobs != jobs || plan.CPUSeconds != jobs*1200 || plan.RunID != at.RunID+1 || plan.Initialized {
				t.Errorf("proposed %+v", plan)
			}
			return err
		})
	}
	done, err := w.ResetWorkflow(t.Context(), me, w.id, &api.ResetWorkflowRequest{FailedOnly: true, RunID: &at.RunID, Reinitialize: true})
	w.must(err)
	good, err := w.store.Jobs.Get(t.Context(), w.good)
	w.must(err)
	bad, err := w.store.Jobs.Get(t.Context(), w.bad)
	w.must(err)
	if done.Jobs != 1 || done.RunID != at.RunID+1 || !done.Initialized || good.Status != workflow.Completed || bad.Status != workflow.Ready {
		t.Errorf("done %+v: %s and %s", done, good.Status, bad.Status)
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	if _, err := w.ProposeCancel(t.Context(), w.id+1); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("an unknown workflow: %v", err)
	}
	w.must(w.store.Workflows.Initialize(t.Context(), w.id, store.InitializeOptions{}))
	node, err := w.store.ComputeNodes.Create(t.Context(), compute.Node{
		WorkflowID: w.id, Hostname: "here", PID: 1, StartTime: "2026-11-21T10:00:00Z", NumCPUs: 8, MemoryGB: 16, NumNodes: 1, Type: "local",
	})
	w.must(err)
	_, err = w.store.Jobs.ClaimNext(t.Context(), w.id, 1, nil)
	w.must(err)
	_, err = w.store.Jobs.Start(t.Context(), w.good, 0, node.ID)
	w.must(err)
	_, err = w.store.Allocations.Intend(t.Context(), store.AllocationIntent{WorkflowID: w.id, IntentID: "aa", JobName: "x"})
	w.must(err)
	started := w.Now()
	w.Now = func() time.Time { return started.Add(time.Hour) }
	var p api.CancellationProposal
	w.unchanged(func() (err error) {
		p, err = w.ProposeCancel(t.Context(), w.id)
		return err
	})
	if len(p.Jobs) != 1 || p.Jobs[0].JobID != w.good || p.Jobs[0].StartTime == nil || p.NotStarted != 1 || len(p.Allocations) != 1 {
		t.Errorf("proposed %+v", p)
	}
	if p.CPUSeconds != 2*3600 {
		t.Errorf("%d CPU seconds would be lost, want an hour of two CPUs", p.CPUSeconds)
	}
	canceled, err := w.Cancel(t.Context(), w.id)
	w.must(err)
	if !canceled.IsCanceled {
		t.Errorf("canceled %+v", canceled)
	}
	p, err = w.ProposeCancel(t.Context(), w.id)
	w.must(err)
	if !p.IsCanceled || len(p.Jobs)+len(p.Allocations) > 0 || p.NotStarted != 0 {
		t.Errorf("after that it proposed %+v", p)
	}
}
