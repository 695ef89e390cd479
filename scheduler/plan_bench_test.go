package scheduler

import (
	"testing"
	"time"
)

// BenchmarkPlan plans for 200,000 jobs of 100 kinds and 500 live allocations of
// which each runs 64 jobs.
func BenchmarkPlan(b *testing.B) {
	s := Snapshot{Now: noon, Working: true, Actions: auto(func(a *AutoSchedule) { a.MaxAllocations, a.MaxSubmitPerMinute = 1000, 1000 })}
	s.Pools = debugPool(func(p *Pool) { p.Node, p.MaxWalltime = Resources{CPUs: 64, MemoryBytes: 256 * gib}, 48*time.Hour })
	for i := range 100 {
		s.Demand = append(s.Demand, jobs(2000, time.Duration(i+1)*7*time.Minute, func(d *Demand) { d.ID, d.CPUs, d.MemoryBytes = int64(i), int64(1+i%8), int64(i%5)*gib }))
	}
	for i := range 500 {
		a := active(int64(i), 4*time.Hour)
		a.Shape.Node = s.Pools[0].Node
		for j := range 64 {
			a.Running = append(a.Running, Running{Each: Resources{CPUs: 1, MemoryBytes: gib}, Nodes: 1, Count: 1, Until: noon.Add(time.Duration(j) * time.Minute)})
		}
		s.Allocations = append(s.Allocations, a)
	}
	for b.Loop() {
		if len(Plan(s).Actions) == 0 {
			b.Fatal("nothing to do")
		}
	}
}
