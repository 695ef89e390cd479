package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/check"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// checkDeep runs all checks.
func (n *nouns) checkDeep(what string) {
	n.t.Helper()
	findings, err := check.Deep(n.ctx, n.Path(), check.Witness{})
	n.must(err)
	for _, f := range findings {
		n.t.Errorf("%s: %s", what, f)
	}
}

// finish completes a job as a torc client.
func (g *jobGraph) finish(i int, node int64, to workflow.JobStatus) {
	g.t.Helper()
	w, err := g.Workflows.Get(g.ctx, g.workflow)
	g.must(err)
	j := g.jobOf(i)
	_, err = g.Jobs.Complete(g.ctx, Completion{JobID: j.ID, Status: to, RunID: w.RunID, Result: workflow.Result{
		JobID: j.ID, WorkflowID: g.workflow, RunID: w.RunID, AttemptID: j.AttemptID, ComputeNodeID: node, Status: to,
		ReturnCode: int64(to - completed), CompletionTime: "2026-11-21T10:00:00Z",
	}})
	g.must(err)
}

// TestWhatTheCheckerSays takes a workflow through its life and runs the checker after
// every step.
func TestWhatTheCheckerSays(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.Env = map[string]string{"A": "1"}
	d.Jobs[1].Env = map[string]string{"B": "2"}
	d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: "e", Command: "true", DependsOn: []int32{3}})
	g := n.graph(d)
	node := n.node(g.workflow)
	newRun := func() {
		_, err := n.Workflows.Reset(n.ctx, g.workflow, false, "me")
		n.must(err)
		_, err = n.Workflows.ResetJobs(n.ctx, g.workflow, false, "me")
		n.must(err)
		n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{User: "me"}))
	}
	for _, step := range []struct {
		name string
		do   func()
		want []workflow.JobStatus
	}{
		{"first run", newRun, []workflow.JobStatus{ready, blocked, blocked, blocked, blocked}},
		{"a completed", func() { g.finish(0, node, completed) }, []workflow.JobStatus{completed, ready, ready, blocked, blocked}},
		{"b failed", func() { g.finish(1, node, failed) }, []workflow.JobStatus{completed, failed, ready, blocked, blocked}},
		{"c claimed and started", func() {
			_, err := n.Jobs.ClaimNext(n.ctx, g.workflow, 1, nil)
			n.must(err)
			_, err = n.Jobs.Start(n.ctx, g.jobs[2], 1, node)
			n.must(err)
		}, []workflow.JobStatus{completed, failed, running, blocked, blocked}},
		{"canceled", func() {
			_, err := n.Workflows.Cancel(n.ctx, g.workflow)
			n.must(err)
		}, []workflow.JobStatus{completed, failed, canceled, blocked, blocked}},
		{"second run", newRun, []workflow.JobStatus{ready, blocked, blocked, blocked, blocked}},
		{"a failed", func() { g.finish(0, node, failed) }, []workflow.JobStatus{failed, canceled, canceled, canceled, canceled}},
		{"canceled when it was over", func() {
			_, err := n.Workflows.Cancel(n.ctx, g.workflow)
			n.must(err)
		}, []workflow.JobStatus{failed, canceled, canceled, canceled, canceled}},
		{"the failed ones again", func() {
			_, err := n.Workflows.Reset(n.ctx, g.workflow, false, "me")
			n.must(err)
			_, err = n.Workflows.ResetJobs(n.ctx, g.workflow, true, "me")
			n.must(err)
			n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true, User: "me"}))
		}, []workflow.JobStatus{ready, blocked, blocked, blocked, blocked}},
		{"a completed at last", func() { g.finish(0, node, completed) }, []workflow.JobStatus{completed, ready, ready, blocked, blocked}},
		{"a changed", func() {
			_, err := n.Jobs.Update(n.ctx, g.jobs[0], workflow.JobUpdate{JobSettings: workflow.JobSettings{InvocationScript: new("wrap.sh")}})
			n.must(err)
			_, err = n.Workflows.ProcessChangedInputs(n.ctx, g.workflow, false, "me")
			n.must(err)
		}, []workflow.JobStatus{uninitialized, blocked, blocked, blocked, blocked}},
		{"initialized", func() {
			n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{OnlyUninitialized: true, User: "me"}))
		}, []workflow.JobStatus{ready, blocked, blocked, blocked, blocked}},
		{"a terminated", func() { g.finish(0, node, terminated) }, []workflow.JobStatus{terminated, canceled, canceled, canceled, canceled}},
		{"a deleted", func() {
			_, err := n.Jobs.Delete(n.ctx, g.jobs[0], "me")
			n.must(err)
			g.jobs = g.jobs[1:]
		}, []workflow.JobStatus{canceled, canceled, canceled, canceled}},
		{"without a", newRun, []workflow.JobStatus{ready, ready, blocked, blocked}},
		{"b and c completed", func() { g.finish(0, node, completed); g.finish(1, node, completed) }, []workflow.JobStatus{completed, completed, ready, blocked}},
		{"d deleted", func() {
			_, err := n.Jobs.Delete(n.ctx, g.jobs[2], "me")
			n.must(err)
			g.jobs = append(g.jobs[:2:2], g.jobs[3])
		}, []workflow.JobStatus{completed, completed, ready}},
		{"e completed", func() { g.finish(2, node, completed) }, []workflow.JobStatus{completed, completed, completed}},
	} {
		step.do()
		g.want(step.name, step.want...)
		n.checkDeep(step.name)
	}
	count, err := n.Jobs.DeleteAll(n.ctx, g.workflow, "me")
	if n.must(err); count != 3 {
		t.Errorf("%d jobs deleted", count)
	}
	n.checkDeep("all deleted")
	if _, err := n.Workflows.Delete(n.ctx, g.workflow, false); err != nil {
		t.Error(err)
	}
	n.checkDeep("workflow deleted")
	if diff := cmp.Diff(int64(0), n.count(`SELECT COUNT(*) FROM event WHERE type != 'user_action'`)); diff != "" { // the audit keeps these
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
