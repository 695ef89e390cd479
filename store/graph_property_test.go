package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
	"github.com/torc-slurm/torc-slurm/workflow/workflowtest"
)

// pair is a workflow in a store, created and changed only through its use cases, beside
// the same one in the reference engine.
type pair struct {
	*nouns
	t     *rapid.T
	model workflowtest.Engine
	id    int64
	node  int64
	ids   []int64 // of the jobs, by index
}

// TestGraphFollowsTheReference creates, initializes, resets, claims, completes, cancels,
// disables and spawns in any order, and compares the statuses after each step. In the end
// the database keeps its guarantees.
func TestGraphFollowsTheReference(t *testing.T) {
	n := newNouns(t)
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{nouns: n, t: t}
		p.create()
		t.Repeat(map[string]func(*rapid.T){
			"initialize": p.initialize,
			"claim":      p.claim,
			"complete":   p.complete,
			"complete2":  p.complete, // as often as claims need it
			"reset":      p.reset,
			"cancel":     p.cancel,
			"new run":    p.newRun,
			"disable":    p.disable,
			"spawn":      p.spawn,
			"retry":      p.retry,
			"":           p.compare,
		})
	})
	findings, err := check.Deep(t.Context(), filepath.Clean(n.Path()), check.Witness{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

func (p *pair) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// create creates the jobs, one at a time, since each may depend on those before.
func (p *pair) create() {
	w, err := p.Workflows.Create(p.ctx, workflow.Workflow{Name: "w", User: "me"})
	p.ok(err)
	p.id = w.ID
	for i := range rapid.IntRange(1, 10).Draw(p.t, "jobs") {
		j := workflow.Job{WorkflowID: p.id, Name: fmt.Sprintf("j%d", i), Command: "true"}
		m := workflowtest.Job{RunIf: workflow.RunIf(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(p.t, "run_if"))}
		j.RunIf = m.RunIf
		for d := range i {
			if rapid.IntRange(0, 3).Draw(p.t, "edge") == 0 {
				m.DependsOn = append(m.DependsOn, d)
				j.DependsOn = append(j.DependsOn, p.ids[d])
			}
		}
		created, err := p.Jobs.Create(p.ctx, []workflow.Job{j})
		p.ok(err)
		p.ids = append(p.ids, created[0].ID)
		p.model.Jobs = append(p.model.Jobs, m)
	}
	node, err := p.ComputeNodes.Create(p.ctx, compute.Node{WorkflowID: p.id, Hostname: "n", StartTime: view.Rfc3339(0), IsActive: true,
		NumCPUs: 1, MemoryGB: 1, NumNodes: 1, Type: compute.SchedulerLocal})
	p.ok(err)
	p.node = node.ID
}

// seldom has a step happen once in n times.
func seldom(t *rapid.T, n int) {
	if rapid.IntRange(1, n).Draw(t, "seldom") > 1 {
		t.Skip("seldom")
	}
}

func (p *pair) initialize(t *rapid.T) {
	only := rapid.Bool().Draw(t, "only uninitialized")
	p.ok(p.Workflows.Initialize(p.ctx, p.id, InitializeOptions{OnlyUninitialized: only, User: "me"}))
	p.model.Initialize(only)
}

func (p *pair) claim(t *rapid.T) {
	jobs, err := p.Jobs.ClaimNext(p.ctx, p.id, rapid.Int64Range(1, 3).Draw(t, "limit"), nil)
	p.ok(err)
	for _, j := range jobs {
		p.ok(p.model.Claim(slices.Index(p.ids, j.ID)))
	}
}

// any draws a job with one of the statuses.
func (p *pair) any(t *rapid.T, statuses ...workflow.JobStatus) (int, workflow.Job) {
	var some []int
	for i, j := range p.model.Jobs {
		if slices.Contains(statuses, j.Status) {
			some = append(some, i)
		}
	}
	if len(some) == 0 {
		t.Skip("no such job")
	}
	i := rapid.SampledFrom(some).Draw(t, "job")
	j, err := p.Jobs.Get(p.ctx, p.ids[i])
	p.ok(err)
	return i, j
}

// run returns the workflow's run id.
func (p *pair) run() int64 { return p.count(`SELECT run_id FROM workflow WHERE id = ?`, p.id) }

func (p *pair) complete(t *rapid.T) {
	i, j := p.any(t, workflow.Pending, workflow.Running)
	to := rapid.SampledFrom([]workflow.JobStatus{workflow.Completed, workflow.Completed, workflow.Failed, workflow.Terminated,
		workflow.PendingFailed}).Draw(t, "status")
	run := p.run()
	_, err := p.Jobs.Complete(p.ctx, Completion{JobID: j.ID, Status: to, RunID: run, Result: workflow.Result{JobID: j.ID, WorkflowID: p.id, RunID: run,
		AttemptID: j.AttemptID, ComputeNodeID: p.node, Status: to, CompletionTime: view.Rfc3339(0)}})
	p.ok(err)
	p.ok(p.model.Apply(workflow.OpComplete, i, to))
}

func (p *pair) reset(t *rapid.T) {
	seldom(t, 3)
	failed := rapid.Bool().Draw(t, "failed only")
	_, err := p.Workflows.ResetJobs(p.ctx, p.id, failed, "me")
	p.ok(err)
	p.model.ResetJobs(failed)
}

func (p *pair) cancel(t *rapid.T) {
	seldom(t, 8)
	_, err := p.Workflows.Cancel(p.ctx, p.id)
	p.ok(err)
	if !p.model.Canceled {
		p.model.Cancel()
	}
}

func (p *pair) newRun(t *rapid.T) {
	seldom(t, 3)
	_, err := p.Workflows.Reset(p.ctx, p.id, true, "me")
	p.ok(err)
	p.model.ResetStatus()
}

func (p *pair) disable(t *rapid.T) {
	seldom(t, 4)
	i, j := p.any(t, workflow.Uninitialized)
	_, err := p.Jobs.Update(p.ctx, j.ID, workflow.JobUpdate{Status: new(workflow.Disabled)})
	p.ok(err)
	p.ok(p.model.Apply(workflow.OpDisable, i, workflow.Disabled))
}

// spawn has a running job add one behind itself.
func (p *pair) spawn(t *rapid.T) {
	seldom(t, 4)
	i, j := p.any(t, workflow.Pending, workflow.Running)
	if j.Status == workflow.Pending {
		_, err := p.Jobs.Start(p.ctx, j.ID, p.run(), p.node)
		p.ok(err)
		p.ok(p.model.Apply(workflow.OpStart, i, workflow.Running))
	}
	name := fmt.Sprintf("spawned%d", len(p.ids))
	ids, _, err := p.Jobs.Spawn(p.ctx, j.ID, spawn.SpawnRequest{Lineage: name, Jobs: []spawn.SpawnJob{{Name: name, Command: "true"}}})
	p.ok(err)
	deps := p.list(`SELECT d.job_id FROM job x JOIN gate_dependency d ON d.gate_id = x.gate_id WHERE x.id = ?`, ids[0])
	if !slices.Equal(deps, []int64{j.ID}) {
		t.Fatalf("the job spawned by %d depends on %v", j.ID, deps)
	}
	p.ids = append(p.ids, ids[0])
	p.model.Spawn([]int{i}, workflow.RunIfSuccess)
}

func (p *pair) retry(t *rapid.T) {
	i, j := p.any(t, workflow.Failed, workflow.Terminated)
	_, err := p.Jobs.Retry(p.ctx, j.ID, p.run(), 1000)
	p.ok(err)
	p.ok(p.model.Apply(workflow.OpRetry, i, workflow.Ready))
}

// list returns the ids that a query selects.
func (p *pair) list(query string, args ...any) []int64 {
	p.t.Helper()
	rows, err := p.db.Read.QueryContext(p.ctx, query, args...)
	p.ok(err)
	ids, err := sqlite.Collect(rows, view.ScanID)
	p.ok(err)
	return ids
}

func (p *pair) compare(t *rapid.T) {
	var have []workflow.JobStatus
	for _, s := range p.list(`SELECT status FROM job WHERE workflow_id = ? ORDER BY id`, p.id) {
		have = append(have, workflow.JobStatus(s))
	}
	if diff := cmp.Diff(p.model.Statuses(), have); diff != "" {
		t.Fatalf("statuses (-reference +store):\n%s", diff)
	}
}
