package scheduler

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// TestShare: what an allocation may have in all is divided among its nodes, and a
// job for which that is too little has no allocation here.
func TestShare(t *testing.T) {
	p := Pool{Name: "std", Shared: true, Node: Resources{CPUs: 16, MemoryBytes: 64 * gib, GPUs: 4}, Most: Resources{CPUs: 8, MemoryBytes: 16 * gib, GPUs: 2}}
	demand := func(cpus, nodes int64) *Demand {
		return &Demand{Class: placement.Class{CPUs: cpus, MemoryBytes: gib, Nodes: nodes, RuntimeSeconds: 60}, Pools: []string{"std"}}
	}
	set := Settings{}.withDefaults()
	for _, tc := range []struct {
		cpus, nodes int64
		want        Resources
		fits        bool
	}{
		{1, 1, Resources{CPUs: 8, MemoryBytes: 16*gib - runnerMemory, GPUs: 2}, true},
		{8, 1, Resources{CPUs: 8, MemoryBytes: 16*gib - runnerMemory, GPUs: 2}, true},
		{9, 1, Resources{CPUs: 8, MemoryBytes: 16*gib - runnerMemory, GPUs: 2}, false},
		{4, 2, Resources{CPUs: 4, MemoryBytes: 8*gib - runnerMemory, GPUs: 1}, true},
		{5, 2, Resources{CPUs: 4, MemoryBytes: 8*gib - runnerMemory, GPUs: 1}, false},
	} {
		d := demand(tc.cpus, tc.nodes)
		if got := (&planner{set: set}).draft(&p, d, &variant{}).shape.Node; got != tc.want {
			t.Errorf("%d CPUs on %d nodes: %+v, want %+v", tc.cpus, tc.nodes, got, tc.want)
		}
		if why := p.misfit(d, &set); (why == "") != tc.fits {
			t.Errorf("%d CPUs on %d nodes: %q", tc.cpus, tc.nodes, why)
		}
	}
}
