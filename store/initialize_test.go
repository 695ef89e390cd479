package store

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
	"github.com/torc-slurm/torc-slurm/workflow/workflowtest"
)

// jobGraph is a workflow whose jobs are named by their index.
type jobGraph struct {
	*nouns
	workflow int64
	jobs     []int64
	implied  map[int][]int // dependencies by files
}

func (n *nouns) graph(d *workflow.Definition) *jobGraph {
	n.t.Helper()
	g := &jobGraph{nouns: n, workflow: n.define(d)}
	var err error
	g.jobs, err = n.Jobs.IDs(n.ctx, g.workflow)
	n.must(err)
	return g
}

// force sets the status of a job as the engine would, without its rules.
func (g *jobGraph) force(i int, to workflow.JobStatus) {
	g.t.Helper()
	g.must(g.shared.Do("force", func(tx *core.Tx) error {
		var from workflow.JobStatus
		if err := tx.Row(`SELECT status FROM job WHERE id = ?`, []any{g.jobs[i]}, &from); err != nil {
			return err
		}
		tx.Move(g.workflow, from, to, 1)
		if err := tx.ExecOne(`UPDATE job SET status = ? WHERE id = ?`, int64(to), g.jobs[i]); err != nil {
			return err
		}
		if to.IsComplete() {
			return engine.ReleaseDependents(tx, g.workflow, []engine.Completed{{ID: g.jobs[i], From: from, To: to}})
		}
		return nil
	}))
}

func (g *jobGraph) statuses() []workflow.JobStatus {
	g.t.Helper()
	jobs, _, err := g.Jobs.List(g.ctx, JobFilter{WorkflowID: g.workflow}, sqlite.Page{Limit: 1000})
	g.must(err)
	all := make([]workflow.JobStatus, len(jobs))
	for i, j := range jobs {
		all[i] = j.Status
	}
	return all
}

func (g *jobGraph) want(what string, want ...workflow.JobStatus) {
	g.t.Helper()
	if diff := cmp.Diff(want, g.statuses()); diff != "" {
		g.t.Errorf("%s: statuses (-want +got):\n%s", what, diff)
	}
	g.checkCounters()
}

// checkCounters compares derived values with a recount.
func (g *jobGraph) checkCounters() {
	g.t.Helper()
	if n := g.count(`SELECT COUNT(*) FROM gate g WHERE workflow_id = ? AND (open, failed) !=
			(SELECT COUNT(*) FILTER (WHERE j.status NOT BETWEEN 5 AND 9), COUNT(*) FILTER (WHERE j.status BETWEEN 6 AND 8)
			FROM gate_dependency d JOIN job j ON j.id = d.job_id WHERE d.gate_id = g.id)`, g.workflow); n > 0 {
		g.t.Errorf("%d gates count wrong", n)
	}
	if n := g.count(`SELECT COUNT(*) FROM (SELECT status, COUNT(*) FROM job WHERE workflow_id = ?1 GROUP BY status
			EXCEPT SELECT status, n FROM job_count WHERE workflow_id = ?1)`, g.workflow); n > 0 {
		g.t.Errorf("%d statuses are counted wrong", n)
	}
}

const (
	uninitialized = workflow.Uninitialized
	blocked       = workflow.Blocked
	ready         = workflow.Ready
	pending       = workflow.Pending
	running       = workflow.Running
	completed     = workflow.Completed
	failed        = workflow.Failed
	canceled      = workflow.Canceled
	terminated    = workflow.Terminated
	disabled      = workflow.Disabled
	held          = workflow.PendingFailed
)

// diamond: 1 and 2 wait for 0, 3 for both.
func diamond() *workflow.Definition {
	return &workflow.Definition{Name: "diamond", User: "me", Jobs: []workflow.JobDefinition{
		{Name: "a", Command: "true"}, {Name: "b", Command: "true", DependsOn: []int32{0}},
		{Name: "c", Command: "true", DependsOn: []int32{0}}, {Name: "d", Command: "true", DependsOn: []int32{1, 2}},
	}}
}

func TestFirstRun(t *testing.T) {
	n := newNouns(t)
	g := n.graph(diamond())
	w, err := n.Workflows.Reset(n.ctx, g.workflow, false, "me")
	n.must(err)
	if w.RunID != 1 {
		t.Errorf("the first run has the id %d", w.RunID)
	}
	reset, err := n.Workflows.ResetJobs(n.ctx, g.workflow, false, "me")
	n.must(err)
	if reset != 0 {
		t.Errorf("%d jobs reset before the first run", reset)
	}
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{User: "me"}))
	g.want("initialized", ready, blocked, blocked, blocked)
	g.force(0, completed)
	g.want("a completed", completed, ready, ready, blocked)
	g.force(1, failed)
	g.force(2, completed)
	g.want("b failed", completed, failed, completed, canceled)
	if w, err = n.Workflows.Get(n.ctx, g.workflow); err != nil || w.Verdict != workflow.EventWorkflowFailed {
		t.Errorf("verdict %q, error %v", w.Verdict, err)
	}

	reset, err = n.Workflows.ResetJobs(n.ctx, g.workflow, true, "me")
	n.must(err)
	if reset != 2 {
		t.Errorf("%d jobs reset, want b and d", reset)
	}
	g.want("failed ones reset", completed, uninitialized, completed, uninitialized)
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true, User: "me"}))
	g.want("again", completed, ready, completed, blocked)
	if w, err = n.Workflows.Get(n.ctx, g.workflow); err != nil || w.Verdict != "" || w.EndGeneration != 1 || w.RunID != 1 {
		t.Errorf("verdict %q, generation %d, run %d, error %v", w.Verdict, w.EndGeneration, w.RunID, err)
	}
}

// TestStatusesAgree compares the sets and counters of the store with the reference
// engine.
func TestStatusesAgree(t *testing.T) {
	store := newNouns(t)
	rapid.Check(t, func(t *rapid.T) {
		n := store.in(t)
		d, e, implied := randomGraph(t)
		g := n.graph(d)
		g.implied = implied
		for i := range e.Jobs {
			if rapid.IntRange(0, 9).Draw(t, "disabled") == 0 {
				n.must(e.Apply(workflow.OpDisable, i, disabled))
				g.force(i, disabled)
			}
		}
		e.Initialize(false) // from here on the graph has the edges that files imply
		n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			randomStep(t, g, e)
			if diff := cmp.Diff(e.Statuses(), g.statuses()); diff != "" {
				t.Fatalf("statuses (-want +got):\n%s", diff)
			}
			g.checkCounters()
		}
	})
}

// randomGraph draws a workflow; edges come from names or from files.
func randomGraph(t *rapid.T) (*workflow.Definition, *workflowtest.Engine, map[int][]int) {
	d := &workflow.Definition{Name: "random", User: "me"}
	e := &workflowtest.Engine{}
	implied := map[int][]int{}
	for i := range rapid.IntRange(1, 9).Draw(t, "jobs") {
		j := workflow.JobDefinition{Name: fmt.Sprint("j", i), Command: "true", RunIf: workflow.RunIf(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "run_if"))}
		node := workflowtest.Job{RunIf: j.RunIf}
		d.Files = append(d.Files, workflow.FileDefinition{Name: j.Name, Path: j.Name})
		j.OutputFiles = []int32{int32(i)}
		for k := range i {
			edge := rapid.IntRange(0, 5).Draw(t, "edge")
			if edge > 1 {
				continue
			}
			node.DependsOn = append(node.DependsOn, k)
			if edge == 0 {
				j.DependsOn = append(j.DependsOn, int32(k))
			} else {
				j.InputFiles = append(j.InputFiles, int32(k))
				implied[i] = append(implied[i], k)
			}
		}
		d.Jobs = append(d.Jobs, j)
		e.Jobs = append(e.Jobs, node)
	}
	return d, e, implied
}

func randomStep(t *rapid.T, g *jobGraph, e *workflowtest.Engine) {
	job := rapid.IntRange(0, len(e.Jobs)-1).Draw(t, "job")
	switch rapid.SampledFrom([]string{"initialize", "reset jobs", "cancel", "reset", "claim", "start", "spawn", "create", "depend",
		"end", "end", "end", "end"}).Draw(t, "step") {
	case "initialize":
		g.again(t, e)
	case "reset jobs":
		only := rapid.Bool().Draw(t, "only failed")
		e.ResetJobs(only)
		_, err := g.Workflows.ResetJobs(g.ctx, g.workflow, only, "me")
		g.must(err)
	case "cancel":
		if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
			e.Cancel()
			_, err := g.Workflows.Cancel(g.ctx, g.workflow)
			g.must(err)
		}
	case "reset":
		e.ResetStatus()
		_, err := g.Workflows.Reset(g.ctx, g.workflow, true, "me")
		g.must(err)
		g.again(t, e) // as all clients do
	case "claim":
		if e.Claim(job) == nil {
			g.force(job, pending)
		}
	case "start":
		if e.Apply(workflow.OpStart, job, running) == nil {
			g.force(job, running)
		}
	case "spawn":
		if e.Jobs[job].Status == running {
			g.spawn(t, e, job)
		}
	case "create":
		g.create(t, e)
	case "depend":
		if e.Jobs[job].Status == uninitialized {
			e.Jobs[job].DependsOn = append(someOf(t, job), g.implied[job]...)
			_, err := g.Jobs.Update(g.ctx, g.jobs[job], workflow.JobUpdate{DependsOn: g.idsOf(e.Jobs[job].DependsOn)})
			g.must(err)
		}
	case "end":
		to := rapid.SampledFrom([]workflow.JobStatus{completed, completed, failed, terminated, canceled, held}).Draw(t, "to")
		if e.Apply(workflow.OpComplete, job, to) == nil {
			g.force(job, to)
		}
	}
}

func (g *jobGraph) again(t *rapid.T, e *workflowtest.Engine) {
	only := rapid.Bool().Draw(t, "only uninitialized")
	e.Initialize(only)
	g.must(g.Workflows.Initialize(g.ctx, g.workflow, InitializeOptions{OnlyUninitialized: only}))
}

// someOf draws some of the first n jobs.
func someOf(t *rapid.T, n int) []int {
	some := []int{}
	for i := range n {
		if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
			some = append(some, i)
		}
	}
	return some
}

func (g *jobGraph) idsOf(jobs []int) []int64 {
	ids := []int64{}
	for _, i := range jobs {
		ids = append(ids, g.jobs[i])
	}
	return ids
}

func (g *jobGraph) create(t *rapid.T, e *workflowtest.Engine) {
	j := workflowtest.Job{DependsOn: someOf(t, len(e.Jobs)), RunIf: workflow.RunIf(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "run_if"))}
	created, err := g.Jobs.Create(g.ctx, []workflow.Job{{WorkflowID: g.workflow, Name: fmt.Sprint("j", len(e.Jobs)), Command: "true",
		RunIf: j.RunIf, DependsOn: g.idsOf(j.DependsOn)}})
	g.must(err)
	e.Jobs, g.jobs = append(e.Jobs, j), append(g.jobs, created[0].ID)
}

func (g *jobGraph) spawn(t *rapid.T, e *workflowtest.Engine, caller int) {
	cancel := rapid.Bool().Draw(t, "cancel on failure")
	deps := someOf(t, len(e.Jobs))
	names := []string{}
	for _, i := range deps {
		names = append(names, fmt.Sprint("j", i))
	}
	ids, _, err := g.Jobs.Spawn(g.ctx, g.jobs[caller], spawn.SpawnRequest{Jobs: []spawn.SpawnJob{
		{Name: fmt.Sprint("j", len(e.Jobs)), Command: "true", DependsOn: names, CancelOnBlockingJobFailure: &cancel}}})
	g.must(err)
	e.Spawn(append(deps, caller), workflow.RunIfOf(cancel))
	g.jobs = append(g.jobs, ids...)
}

func BenchmarkInitialize(b *testing.B) {
	const jobs = 100_000
	flat := &workflow.Definition{Name: "flat", User: "me"}
	for i := range jobs {
		flat.Jobs = append(flat.Jobs, workflow.JobDefinition{Name: fmt.Sprintf("job_%06d", i), Command: fmt.Sprintf("bash work.sh %d", i)})
	}
	files := &workflow.Definition{Name: "files", User: "me"}
	for i := range jobs { // each job reads what the job 1000 before it writes
		files.Files = append(files.Files, workflow.FileDefinition{Name: fmt.Sprint("f", i), Path: fmt.Sprint("f", i)})
		j := flat.Jobs[i]
		if j.OutputFiles = []int32{int32(i)}; i >= 1000 {
			j.InputFiles = []int32{int32(i - 1000)}
		}
		files.Jobs = append(files.Jobs, j)
	}
	for name, d := range map[string]*workflow.Definition{"flat": flat, "chain": chain(jobs), "files": files} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				n := newNouns(b)
				id := n.define(d)
				b.StartTimer()
				n.must(n.Workflows.Initialize(n.ctx, id, InitializeOptions{}))
			}
		})
	}
}
