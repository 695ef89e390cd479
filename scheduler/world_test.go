package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/allocation"
	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// world is a scheduler with its database, and a Slurm that answers as the test
// says, under a clock that moves only when the test says so.
type world struct {
	*testing.T
	now       time.Time
	store     *store.Store
	scheduler *Scheduler
	site      *siteconfigs.Site
	id        int64    // of the workflow
	of        *int64   // the Slurm scheduler of the jobs
	labels    []string // of the jobs
	output    string

	answers []error // of Slurm, in turn; then it takes everything
	before  func()  // what happens before the next request
	slurmID int64
	asked   int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.UnixMilli(1_795_255_200_000), output: t.TempDir(), site: &siteconfigs.Site{
		Name: "here", DefaultAccount: "research",
		Partitions: []siteconfigs.Partition{
			{Name: "std", CPUsPerNode: 4, MemoryMB: 8192, MaxWalltime: 4 * time.Hour, TotalNodes: 4, Shared: true, Default: true},
			{Name: "big", CPUsPerNode: 16, MemoryMB: 65536, MaxWalltime: 24 * time.Hour, TotalNodes: 2},
		},
	}}
	s, err := store.Open(t.Context(), store.Options{
		Path: filepath.Join(t.TempDir(), "torc.db"), Now: func() time.Time { return w.now },
		Beat: 24 * time.Hour, // a heartbeat would read the clock while the test sets it
	})
	w.must(err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w.store = s
	wf, err := s.Workflows.Create(t.Context(), workflow.Workflow{Name: "sweep", User: "me"})
	w.must(err)
	w.id = wf.ID
	w.restart()
	return w
}

// restart makes the scheduler of another daemon.
func (w *world) restart() {
	w.scheduler = New(Options{
		Store: w.store, Submitter: w, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler),
		Site: func(context.Context) (*siteconfigs.Site, error) { return w.site, nil },
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Submit is Slurm.
func (w *world) Submit(ctx context.Context, want allocation.Want) (compute.Allocation, error) {
	if before := w.before; before != nil {
		w.before = nil
		before()
	}
	w.asked++
	intent := fmt.Sprintf("%016d", w.asked)
	var answer error
	if len(w.answers) > 0 {
		answer, w.answers = w.answers[0], w.answers[1:]
	}
	if answer != nil && slurm.ClassOf(answer) == "" {
		return compute.Allocation{}, answer // it did not come to sbatch
	}
	wf, err := w.store.Workflows.Get(ctx, want.WorkflowID)
	if err != nil {
		return compute.Allocation{}, err // the test may not end here: Run has its own goroutine
	}
	if want.RunID != nil {
		wf.RunID = *want.RunID
	}
	a, err := w.store.Allocations.Intend(ctx, store.AllocationIntent{
		WorkflowID: wf.ID, RunID: wf.RunID, IntentID: intent, JobName: "torc:" + intent, SchedulerConfigID: want.SchedulerConfigID, Request: want.Request, Why: want.Why,
	})
	if err != nil {
		return a, err
	}
	switch class := slurm.ClassOf(answer); class {
	case "":
		w.slurmID++
		return w.store.Allocations.Adopt(ctx, store.FoundJob{IntentID: intent, Cluster: "c", SlurmJobID: w.slurmID})
	case slurm.Ambiguous:
		if err := w.store.Allocations.RecordUnclear(ctx, a.ID, answer.Error()); err != nil {
			return a, err
		}
	default:
		end := compute.AllocationEnd{Cause: compute.AllocationRefused, Confidence: workflow.Certain, Text: answer.Error(), Refusal: string(class)}
		if err := w.store.Allocations.End(ctx, a.ID, end); err != nil {
			return a, err
		}
	}
	return a, answer
}

func refusal(class slurm.Class) error {
	return &slurm.Error{Program: slurm.Sbatch, Class: class, Text: "no, " + string(class)}
}

// jobs adds ready jobs with such needs.
func (w *world) jobs(n int, cpus int64, memory, runtime string) []int64 {
	w.Helper()
	q, err := w.store.Requirements.Create(w.Context(), workflow.ResourceRequirements{
		WorkflowID: w.id, Name: fmt.Sprintf("%d-%s-%s", cpus, memory, runtime), NumCPUs: cpus, NumNodes: 1, Memory: memory, Runtime: runtime,
	})
	w.must(err)
	all := make([]workflow.Job, n)
	for i := range all {
		all[i] = workflow.Job{WorkflowID: w.id, Name: fmt.Sprintf("%s-%d", q.Name, i), Command: "true", ResourceRequirementsID: &q.ID, SchedulerID: w.of, Labels: w.labels}
	}
	all, err = w.store.Jobs.Create(w.Context(), all)
	w.must(err)
	w.must(w.store.Workflows.Initialize(w.Context(), w.id, store.InitializeOptions{OnlyUninitialized: true}))
	ids := make([]int64, n)
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids
}

// submit submits the workflow and makes one pass.
func (w *world) submit(limits *workflow.AutoSchedule) *Report {
	w.Helper()
	w.must(w.store.Scheduling.Submit(w.Context(), w.id, compute.SubmitOptions{OutputDir: w.output, MaxParallelJobs: 3}, limits, "me"))
	return w.look()
}

func (w *world) look() *Report {
	w.Helper()
	r, err := w.scheduler.Schedule(w.Context(), w.id)
	w.must(err)
	return r
}

// review is how things stand now.
func (w *world) review() *Report {
	w.Helper()
	r, err := w.scheduler.Review(w.Context(), w.id)
	w.must(err)
	return r
}

// after lets time pass and makes a pass.
func (w *world) after(d time.Duration) *Report {
	w.Helper()
	w.now = w.now.Add(d)
	return w.look()
}

// allocations lists the live ones, or all.
func (w *world) allocations(live bool) []compute.Allocation {
	w.Helper()
	all, _, err := w.store.Allocations.List(w.Context(), store.AllocationFilter{WorkflowID: w.id, Live: live}, store.Page{Limit: 100})
	w.must(err)
	return all
}

// active gives an allocation its node.
func (w *world) active(a compute.Allocation) {
	w.Helper()
	w.must(w.store.Allocations.Observe(w.Context(), []store.Observation{{
		AllocationID: a.ID, State: compute.AllocationActive, SlurmState: "RUNNING", StartMS: w.now.UnixMilli(),
		LimitMS: w.now.Add(time.Duration(a.Request.WalltimeS) * time.Second).UnixMilli(), NodeList: "n1",
	}}))
}

// start gives an allocation its node and a runner, which gets jobs.
func (w *world) start(a compute.Allocation) (runner int64, granted []lease.Grant) {
	w.Helper()
	w.active(a)
	registered, err := w.store.Runners.Register(w.Context(), store.Registration{WorkflowID: w.id, IntentID: a.IntentID, RegisterRequest: lease.RegisterRequest{
		Key: a.IntentID, Hostname: "n1", StartTime: w.now.Format(time.RFC3339), NodeType: "slurm", NumNodes: 1, Labels: a.Request.Labels,
		NumCPUs: a.Request.Offer.CPUs, MemoryBytes: a.Request.Offer.MemoryBytes, OutputDir: w.output,
		Allocation: &lease.AllocationMember{Cluster: "c", SlurmJobID: a.SlurmJobID},
	}})
	w.must(err)
	answer, err := w.store.Runners.Turn(w.Context(), registered.RunnerID, lease.TurnRequest{Turn: 1, RunID: registered.Workflow.RunID, Free: lease.Free{
		Nodes: []placement.FreeNode{{CPUs: a.Request.Offer.CPUs, MemoryBytes: a.Request.Offer.MemoryBytes}}, Slots: 100,
	}})
	w.must(err)
	return registered.RunnerID, answer.Grants
}

// startJob has the runner of an allocation start the one job that it gets.
func (w *world) startJob(a compute.Allocation) {
	w.Helper()
	runner, granted := w.start(a)
	if len(granted) != 1 {
		w.Fatalf("granted: %v", granted)
	}
	_, err := w.store.Runners.Turn(w.Context(), runner, lease.TurnRequest{Turn: 2, RunID: a.RunID, Held: []lease.Held{{LeaseRef: granted[0].LeaseRef, StartedMS: w.now.UnixMilli()}}})
	w.must(err)
}

// end ends an allocation.
func (w *world) end(a compute.Allocation, cause compute.AllocationCause) {
	w.Helper()
	w.must(w.store.Allocations.End(w.Context(), a.ID, compute.AllocationEnd{
		Cause: cause, Confidence: workflow.Certain, Text: "it ended: " + string(cause), Slurm: workflow.SlurmEvidence{JobState: "NODE_FAIL"},
	}))
}
