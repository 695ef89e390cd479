package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestJobFilters(t *testing.T) {
	n := newNouns(t)
	d := diamond()
	d.Files = []workflow.FileDefinition{{Name: "f", Path: "f"}}
	d.Jobs[1].Labels, d.Jobs[2].Labels = []string{"x"}, []string{"x", "y"}
	d.Jobs[3].InputFiles = []int32{0}
	d.Jobs[2].Command = "echo 100%"
	g := n.graph(d)
	file := n.count(`SELECT id FROM file`)
	node := n.node(g.workflow)
	n.must(n.shared.Do("run", func(tx *core.Tx) error {
		return tx.ExecOne(`UPDATE job SET compute_node_id = ?, start_ms = 1000, origin = 'retry' WHERE id = ?`, node, g.jobs[0])
	}))
	g.force(0, running)
	for name, tc := range map[string]struct {
		q    JobFilter
		want []string
	}{
		"all":             {JobFilter{}, []string{"a", "b", "c", "d"}},
		"status":          {JobFilter{Status: new(workflow.Running)}, []string{"a"}},
		"reads a file":    {JobFilter{NeedsFile: &file}, []string{"d"}},
		"depends on a":    {JobFilter{UpstreamJob: &g.jobs[0]}, []string{"b", "c"}},
		"on a node":       {JobFilter{ActiveComputeNodeID: &node}, []string{"a"}},
		"retried":         {JobFilter{OriginIsSet: new(true)}, []string{"a"}},
		"never retried":   {JobFilter{OriginIsSet: new(false)}, []string{"b", "c", "d"}},
		"name":            {JobFilter{Name: new("b")}, []string{"b"}},
		"part of command": {JobFilter{Command: new("ECHO 100%")}, []string{"c"}},
		"no labels":       {JobFilter{Labels: &[]string{}}, []string{"a", "d"}},
		"one label":       {JobFilter{Labels: &[]string{"x"}}, []string{"b"}},
		"labels":          {JobFilter{Labels: &[]string{"x", "y", "z"}}, []string{"b", "c"}},
		"all conditions":  {JobFilter{Status: new(workflow.Running), Name: new("b")}, nil},
	} {
		tc.q.WorkflowID = g.workflow
		jobs, total, err := n.Jobs.List(n.ctx, tc.q, sqlite.Page{Limit: 10})
		n.must(err)
		var names []string
		for _, j := range jobs {
			names = append(names, j.Name)
		}
		if diff := cmp.Diff(tc.want, names); diff != "" || total != int64(len(tc.want)) {
			t.Errorf("%s: total %d, names (-want +got):\n%s", name, total, diff)
		}
	}

	jobs, total, err := n.Jobs.List(n.ctx, JobFilter{WorkflowID: g.workflow, WithRelations: true}, sqlite.Page{Limit: 2, Offset: 2, SortBy: "command", Reverse: true})
	n.must(err)
	if total != 4 || len(jobs) != 2 || jobs[0].Name != "a" || jobs[1].Name != "c" {
		t.Errorf("total %d, page %+v", total, jobs)
	}
	if a := jobs[0]; a.ComputeNodeID == nil || *a.ComputeNodeID != node || a.StartTime == nil || *a.StartTime != "1970-01-01T00:00:01.000+00:00" {
		t.Errorf("running job %+v", a)
	}
	for _, j := range jobs {
		one, err := n.Jobs.Get(n.ctx, j.ID)
		n.must(err)
		if diff := cmp.Diff(one, j); diff != "" {
			t.Errorf("listed job (-alone +listed):\n%s", diff)
		}
	}
	_, err = n.Jobs.Get(n.ctx, 999)
	wantCode(t, err, workflow.CodeNotFound)
	_, _, err = n.Jobs.List(n.ctx, JobFilter{WorkflowID: 999}, sqlite.Page{Limit: 1})
	wantCode(t, err, workflow.CodeNotFound)
}
