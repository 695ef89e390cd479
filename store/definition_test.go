package store

import (
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// define creates a workflow from a definition in one chunk.
func (n *nouns) define(d *workflow.Definition) int64 {
	n.t.Helper()
	w, err := n.BeginDefinition(n.ctx, d, "")
	n.must(err)
	n.must(w.Add(d))
	id, err := w.Finish(n.ctx, int64(len(d.Jobs)), int64(len(d.Files)))
	n.must(err)
	return id
}

// chain is a definition of jobs of which each depends on the one before.
func chain(jobs int) *workflow.Definition {
	d := &workflow.Definition{Name: "chain", User: "me"}
	for i := range jobs {
		j := workflow.JobDefinition{Name: fmt.Sprintf("job_%06d", i), Command: fmt.Sprintf("bash work.sh %d", i)}
		if i > 0 {
			j.DependsOn = []int32{int32(i - 1)}
		}
		d.Jobs = append(d.Jobs, j)
	}
	return d
}

func BenchmarkDefinition(b *testing.B) {
	const jobs = 100_000
	d := chain(jobs)
	for b.Loop() {
		b.StopTimer()
		n := newNouns(b)
		b.StartTimer()
		w, err := n.BeginDefinition(n.ctx, d, "")
		n.must(err)
		for i := 0; i < jobs; i += 1000 { // as they come over the wire
			n.must(w.Add(&workflow.Definition{Jobs: d.Jobs[i : i+1000]}))
		}
		_, err = w.Finish(n.ctx, jobs, 0)
		n.must(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
}
