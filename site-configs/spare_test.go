package siteconfigs

import (
	"testing"
	"time"
)

func TestSpare(t *testing.T) {
	node := func(name string, change func(*Partition)) Partition {
		p := Partition{Name: name, CPUsPerNode: 8, MemoryMB: 16000, MaxWalltime: time.Hour, TotalNodes: 4, Shared: true}
		change(&p)
		return p
	}
	best := node("best", func(*Partition) {})
	for _, tc := range []struct {
		what  string
		other Partition
		need  Need
		want  string
	}{
		{"larger nodes", node("other", func(p *Partition) { p.MemoryMB = 64000 }), Need{CPUs: 2}, "other"},
		{"longer jobs", node("other", func(p *Partition) { p.MaxWalltime = 9 * time.Hour }), Need{CPUs: 2}, "other"},
		{"whole nodes", node("other", func(p *Partition) { p.Shared = false }), Need{CPUs: 2}, ""},
		{"idle GPUs", node("other", func(p *Partition) { p.GPUsPerNode = 4 }), Need{CPUs: 2}, ""},
		{"preemption", node("other", func(p *Partition) { p.Preemptible = true }), Need{CPUs: 2}, ""},
		{"for tests", node("debug", func(*Partition) {}), Need{CPUs: 2}, ""},
		{"too small", node("other", func(p *Partition) { p.CPUsPerNode = 1 }), Need{CPUs: 2}, ""},
		{"a partition is named", node("other", func(*Partition) {}), Need{CPUs: 2, Partition: "best"}, ""},
		{"nothing fits", node("other", func(*Partition) {}), Need{CPUs: 99}, ""},
	} {
		got := Spare(&Site{Name: "here", AutoRouting: true, Partitions: []Partition{best, tc.other}}, tc.need)
		switch {
		case tc.want == "" && got.Partition == nil:
		case got.Partition == nil || got.Partition.Name != tc.want || !got.Explicit:
			t.Errorf("%s: %+v, want %q", tc.what, got, tc.want)
		}
	}
}
