package scheduler

import (
	"strings"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestUnplaced: what a job may grow to is what its site has, or, where a
// scheduler is asked for, the partition of that one.
func TestUnplaced(t *testing.T) {
	const gib, hour = 1 << 30, 3600
	for _, tc := range []struct {
		name      string
		scheduler string // its partition
		prepare   func(*siteconfigs.Site)
		class     workflow.Class
		want      string // part of it; empty: it has a place
	}{
		{"it is small", "", nil, workflow.Class{MemoryBytes: 2 * gib, RuntimeSeconds: hour}, ""},
		{"too much memory for one partition", "", nil, workflow.Class{MemoryBytes: 30 * gib, RuntimeSeconds: hour}, ""},
		{"too long for one partition", "", nil, workflow.Class{MemoryBytes: 2 * gib, RuntimeSeconds: 12 * hour}, ""},
		{"too much memory for all", "", nil, workflow.Class{MemoryBytes: 80 * gib, RuntimeSeconds: hour}, "fits no partition: std: memory: needs 80.00 GiB"},
		{"too long for all", "", nil, workflow.Class{MemoryBytes: gib, RuntimeSeconds: 48 * hour}, "big: runtime: needs 2d"},
		{"too much memory for its scheduler", "std", nil, workflow.Class{MemoryBytes: 30 * gib, RuntimeSeconds: hour}, "scheduler small: memory: needs 30.00 GiB"},
		{"too long for its scheduler", "std", nil, workflow.Class{MemoryBytes: gib, RuntimeSeconds: 12 * hour}, "scheduler small: runtime: needs 12h"},
		{"of a partition that nobody knows", "other", nil, workflow.Class{MemoryBytes: 80 * gib, RuntimeSeconds: hour}, ""},
		{"larger than a user may have", "", func(s *siteconfigs.Site) {
			s.Accounts = []siteconfigs.Account{{Name: s.DefaultAccount, MaxJob: siteconfigs.Size{MemoryMB: 4096}}}
		}, workflow.Class{MemoryBytes: 6 * gib, RuntimeSeconds: hour}, "fits no partition"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if tc.prepare != nil {
				tc.prepare(w.site)
			}
			if got := w.scheduler.Unplaced(w.id, tc.class); got != "" {
				t.Errorf("before a look: %q", got)
			}
			if tc.scheduler != "" {
				c, err := w.store.CreateSlurmScheduler(t.Context(), workflow.SlurmScheduler{
					WorkflowID: w.id, Name: "small", Account: "research", Partition: &tc.scheduler, Nodes: 1, Walltime: "01:00:00",
				})
				w.must(err)
				w.of = &c.ID
			}
			w.jobs(1, 1, "1g", "PT1H")
			w.submit(nil)
			tc.class.CPUs, tc.class.Nodes, tc.class.SchedulerID = 1, 1, w.of
			got := w.scheduler.Unplaced(w.id, tc.class)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("it has no place: %q, want %q", got, tc.want)
			}
		})
	}
}

// TestElsewhere: a node is avoided as long as others can be asked for.
func TestElsewhere(t *testing.T) {
	w := newWorld(t)
	class := workflow.Class{CPUs: 1, Nodes: 1, MemoryBytes: 1 << 30, RuntimeSeconds: 3600}
	want := func(when, node string, want bool) {
		t.Helper()
		if got := w.scheduler.Elsewhere(w.id, class, node); got != want {
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
