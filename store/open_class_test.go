package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// TestOpenClasses: the open jobs of wanted classes are counted, with the name of the
// first; claimed, ended and held ones are not open.
func TestOpenClasses(t *testing.T) {
	n := newNouns(t)
	d := &workflow.Definition{Name: "w", User: "me", Requirements: []workflow.ResourceRequirements{
		{Name: "small", NumCPUs: 1, NumNodes: 1, Memory: "1m", Runtime: "PT1M"}, {Name: "wide", NumCPUs: 64, NumNodes: 1, Memory: "1g", Runtime: "PT2H"},
	}}
	for i := range 3 {
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: fmt.Sprint("s", i), Command: "true", Requirements: "small"})
	}
	for i := range 9 {
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: fmt.Sprint("w", i), Command: "true", Requirements: "wide", DependsOn: []int32{0}})
	}
	g := n.graph(d)
	want := func(when string, wide bool, wants ...view.OpenClass) {
		t.Helper()
		got, err := n.Scheduling.OpenClasses(n.ctx, g.workflow, func(c placement.Class) bool { return wide == (c.CPUs == 64) })
		n.must(err)
		if !slices.EqualFunc(got, wants, func(a, b view.OpenClass) bool {
			return a.Jobs == b.Jobs && a.First == b.First && a.Requirements == b.Requirements && a.Class.ID != 0
		}) {
			t.Errorf("%s: %+v, want %+v", when, got, wants)
		}
	}
	want("created", true, view.OpenClass{Jobs: 9, First: "w0", Requirements: "wide"})
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	for i, status := range []workflow.JobStatus{workflow.Pending, workflow.Running, workflow.Completed, workflow.Failed, workflow.PendingFailed, workflow.Disabled} {
		g.force(3+i, status)
	}
	want("some have begun", true, view.OpenClass{Jobs: 3, First: "w6", Requirements: "wide"})
	want("the others", false, view.OpenClass{Jobs: 3, First: "s0", Requirements: "small"})
	for i := range 3 {
		g.force(9+i, workflow.Completed)
	}
	want("all have begun", true)
}
