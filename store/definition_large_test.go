package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// A definition that is written in several chunks has the same dependencies as one in a
// single chunk, also those on jobs in a later chunk.
func TestLargeDefinition(t *testing.T) {
	n := newNouns(t)
	const jobs = definitionChunk + 200
	last := int32(jobs - 1)
	deps := map[int32][]int32{0: {last, 5}, 1: {5, last}, 2: {5}, last - 1: {5}, last: {3, definitionChunk + 1}}
	d := &workflow.Definition{Name: "large", User: "me"}
	for i := range int32(jobs) {
		d.Jobs = append(d.Jobs, workflow.JobDefinition{Name: fmt.Sprint("j", i), Command: "true", DependsOn: deps[i]})
	}
	g := n.graph(d)
	for i, on := range deps {
		want := make([]int64, len(on))
		for k, dep := range on {
			want[k] = g.jobs[dep]
		}
		slices.Sort(want)
		if got := g.jobOf(int(i)).DependsOn; !slices.Equal(got, want) {
			t.Errorf("job %d depends on %v, want %v", i, got, want)
		}
	}
	if k := n.count(`SELECT COUNT(*) FROM gate`); k != 3 {
		t.Errorf("%d gates for 3 sets of dependencies", k)
	}
	n.must(n.Workflows.Initialize(n.ctx, g.workflow, InitializeOptions{}))
	if k := n.count(`SELECT COUNT(*) FROM job WHERE status = 2`); k != jobs-5 {
		t.Errorf("%d jobs are ready, want %d", k, jobs-5)
	}
	g.checkCounters()
}
