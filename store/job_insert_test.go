package store

import (
	"fmt"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func BenchmarkCreateJobs(b *testing.B) {
	const jobs = 100_000
	for b.Loop() {
		b.StopTimer()
		n := newNouns(b)
		w, err := n.CreateWorkflow(n.ctx, workflow.Workflow{Name: "w", User: "me"})
		n.must(err)
		list := make([]workflow.Job, jobs)
		for i := range list {
			list[i] = workflow.Job{WorkflowID: w.ID, Name: fmt.Sprintf("job_%06d", i), Command: fmt.Sprintf("bash work.sh %d", i), CancelOnBlockingJobFailure: true}
		}
		b.StartTimer()
		_, err = n.CreateJobs(n.ctx, list)
		n.must(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/jobs, "ns/job")
}
