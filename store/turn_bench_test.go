package store

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

// BenchmarkTurn is the control plane alone: a runner whose jobs take no time. One
// operation is one job, from its claim to its end.
func BenchmarkTurn(b *testing.B) {
	const slots = 500
	r := newRig(b)
	for left := b.N; left > 0; left -= 50_000 {
		r.add(independent(min(left, 50_000))...)
	}
	h := r.hand("n1", slots)
	b.ResetTimer()
	b.ReportAllocs()
	reports := make([]lease.Report, 0, slots)
	for done := 0; done < b.N; {
		answer := h.turn(reports...)
		done += len(reports)
		reports = reports[:0]
		for _, g := range answer.Grants {
			reports = append(reports, exited(g.LeaseRef, 0))
		}
		if len(reports) == 0 && done < b.N {
			b.Fatalf("%d of %d jobs done and nothing granted", done, b.N)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	if n := r.number(`SELECT n FROM job_count WHERE status = ?`, int(workflow.Completed)); n != int64(b.N) {
		b.Fatalf("%d jobs completed, want %d", n, b.N)
	}
}

// BenchmarkHop is one job of a chain: its report releases and grants the next.
func BenchmarkHop(b *testing.B) {
	r := newRig(b, chainOf(b.N+1)...)
	h := r.hand("n1", 1)
	h.turn()
	b.ResetTimer()
	for range b.N {
		h.turn(exited(h.held[0].LeaseRef, 0))
	}
}

// BenchmarkBarrier is the last completion before a barrier of 1,000 x 1,000 jobs, with
// the grants of those behind it.
func BenchmarkBarrier(b *testing.B) {
	const n = 1000
	r := newRig(b)
	for range b.N {
		b.StopTimer()
		r.begin(barrier(n)...)
		h := r.hand("n1", n)
		h.turn()
		reports := make([]lease.Report, n)
		for i := range n {
			reports[i] = exited(h.held[i].LeaseRef, 0)
		}
		h.turn(reports[:n-1]...)
		b.StartTimer()
		if got := len(h.turn(reports[n-1]).Grants); got != n {
			b.Fatalf("%d grants after the barrier, want %d", got, n)
		}
	}
}
