package scheduler

import (
	"strings"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// unplaced is why no allocation could take a job of a class, as far as is known.
func (w *world) unplaced(c placement.Class) string {
	p := w.scheduler.views[w.id].places()
	if p == nil {
		return ""
	}
	return p.Unplaced(c)
}

// TestUnplaced: what a job may grow to is what its site has, or, where a
// scheduler is requested, the partition of that one.
func TestUnplaced(t *testing.T) {
	const gib, hour = 1 << 30, 3600
	for _, tc := range []struct {
		name      string
		scheduler string // its partition
		prepare   func(*siteconfigs.Site)
		class     placement.Class
		want      string // part of it; empty: it has a place
	}{
		{"it is small", "", nil, placement.Class{MemoryBytes: 2 * gib, RuntimeSeconds: hour}, ""},
		{"too much memory for one partition", "", nil, placement.Class{MemoryBytes: 30 * gib, RuntimeSeconds: hour}, ""},
		{"too long for one partition", "", nil, placement.Class{MemoryBytes: 2 * gib, RuntimeSeconds: 12 * hour}, ""},
		{"too much memory for all", "", nil, placement.Class{MemoryBytes: 80 * gib, RuntimeSeconds: hour}, "fits no partition: std: memory: needs 80.00 GiB"},
		{"too long for all", "", nil, placement.Class{MemoryBytes: gib, RuntimeSeconds: 48 * hour}, "big: runtime: needs 2d"},
		{"too much memory for its scheduler", "std", nil, placement.Class{MemoryBytes: 30 * gib, RuntimeSeconds: hour}, "scheduler small: memory: needs 30.00 GiB"},
		{"too long for its scheduler", "std", nil, placement.Class{MemoryBytes: gib, RuntimeSeconds: 12 * hour}, "scheduler small: runtime: needs 12h"},
		{"of a partition that nobody knows", "other", nil, placement.Class{MemoryBytes: 80 * gib, RuntimeSeconds: hour}, ""},
		{"larger than a user may have", "", func(s *siteconfigs.Site) {
			s.Accounts = []siteconfigs.Account{{Name: s.DefaultAccount, MaxJob: siteconfigs.Size{MemoryMB: 4096}}}
		}, placement.Class{MemoryBytes: 6 * gib, RuntimeSeconds: hour}, "fits no partition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if tc.prepare != nil {
				tc.prepare(w.site)
			}
			if got := w.unplaced(tc.class); got != "" {
				t.Errorf("before a look: %q", got)
			}
			if tc.scheduler != "" {
				c, err := w.store.SlurmSchedulers.Create(t.Context(), compute.SlurmScheduler{
					WorkflowID: w.id, Name: "small", Account: "research", Partition: &tc.scheduler, Nodes: 1, Walltime: "01:00:00",
				})
				w.must(err)
				w.of = &c.ID
			}
			w.jobs(1, 1, "1g", "PT1H")
			w.submit(nil)
			tc.class.CPUs, tc.class.Nodes, tc.class.SchedulerID = 1, 1, w.of
			got := w.unplaced(tc.class)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("it has no place: %q, want %q", got, tc.want)
			}
		})
	}
}

// TestElsewhere: a node is avoided as long as others can be requested.
func TestElsewhere(t *testing.T) {
	w := newWorld(t)
	class := placement.Class{CPUs: 1, Nodes: 1, MemoryBytes: 1 << 30, RuntimeSeconds: 3600}
	want := func(when, node string, want bool) {
		t.Helper()
		p := w.scheduler.views[w.id].places()
		if got := p != nil && p.Elsewhere(class, node); got != want {
			t.Errorf("%s: elsewhere than on %s: %v", when, node, got)
		}
	}
	want("before a look", "n1", false)
	w.site.Partitions[0].NodeList = "n[1-2]"
	w.jobs(1, 1, "1g", "PT1H")
	w.submit(nil)
	want("there are two nodes", "n1", true)
	want("there are two nodes", "login", true)
	w.site.Partitions[0].NodeList = "n1"
	w.after(time.Minute)
	want("there is one node", "n1", false)
	want("there is one node", "login", true)
	class.MemoryBytes = 1 << 40
	want("it fits nowhere", "n1", false)
}
