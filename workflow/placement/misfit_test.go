package placement

import "testing"

// TestWhyTooLarge checks the texts about what a job needs and what the largest runner has.
func TestWhyTooLarge(t *testing.T) {
	limit := int64(18)
	whole := Offer{Nodes: []FreeNode{{CPUs: 4, MemoryBytes: 23 << 30, GPUs: 1}}, Slots: 1, TimeLeftSeconds: &limit, WholeSeconds: 20}
	for _, tc := range []struct {
		class Class
		want  string
	}{
		{Class{CPUs: 4, MemoryBytes: 23 << 30, GPUs: 1, RuntimeSeconds: 20, Labels: []string{"gpu"}, SchedulerID: new(int64(3))}, ""},
		{Class{CPUs: 1, MemoryBytes: 4000 << 30}, "needs 3.91 TiB of memory, the largest runner here has 23.00 GiB"},
		{Class{CPUs: 64}, "needs 64 CPUs, the largest runner here has 4"},
		{Class{CPUs: 1, GPUs: 2}, "needs 2 GPUs, the largest runner here has 1"},
		{Class{CPUs: 1, Nodes: 2}, "needs 2 nodes, the largest runner here has 1"},
		{Class{CPUs: 1, RuntimeSeconds: 120}, "needs 2m, the run has 20s"},
	} {
		if got := WhyTooLarge(tc.class, whole); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.class, got, tc.want)
		}
	}
	if got := WhyTooLarge(Class{CPUs: 64}, Offer{Slots: 1, IgnoreResources: true}); got != "" {
		t.Errorf("where resources are ignored: %q", got)
	}
}
