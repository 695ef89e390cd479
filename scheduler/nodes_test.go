package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestNodeListsOfAScheduler: a job failed on n1, and its scheduler's own options
// say what the next allocation may have.
func TestNodeListsOfAScheduler(t *testing.T) {
	for _, tc := range []struct {
		extra   string
		nodes   int64
		exclude []string
		why     string
	}{
		{"", 1, []string{"n1"}, "without n1"},
		{"--exclude=n2", 1, []string{"n1"}, "without n1"},
		{"-x n[2-4]", 1, nil, "n1 not excluded, as too few others are left"},
		{"--nodelist=n1", 1, nil, "n1 requested by name, although avoided"},
		{"-w n1,n2", 2, nil, "n1,n2 requested by name, although avoided"},
		{"-C fast", 1, []string{"n1"}, "without n1"},
	} {
		w := newWorld(t)
		w.site.Partitions[0].NodeList = "n[1-4]"
		w.of = new(w.slurmScheduler(tc.extra).ID)
		w.jobs(1, 1, "1g", "PT10M")
		w.submit(nil)
		first := w.allocations(true)[0]
		w.startJob(first)
		w.now = w.now.Add(time.Second)
		w.end(first, compute.AllocationNodeFail)
		r := w.after(10 * time.Minute)
		if len(r.Asked) != 1 {
			t.Errorf("%s: %+v", tc.extra, r)
			continue
		}
		q := r.Asked[0].Request
		if q.Nodes != tc.nodes || !slices.Equal(q.Exclude, tc.exclude) || !strings.Contains(r.Asked[0].Why, tc.why) {
			t.Errorf("%s: %d nodes without %v: %s", tc.extra, q.Nodes, q.Exclude, r.Asked[0].Why)
		}
	}
}

// TestWhatSlurmDoesNotExclude is not requested again: a name that Slurm does not
// know, where nobody knows the nodes.
func TestWhatSlurmDoesNotExclude(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.submit(nil)
	first := w.allocations(true)[0]
	w.startJob(first)
	w.now = w.now.Add(time.Second)
	w.end(first, compute.AllocationNodeFail)
	w.answers = []error{refusal(slurm.Permanent)}
	if r := w.after(10 * time.Minute); len(r.Refused) != 1 || !slices.Equal(r.Planned[0].Request.Exclude, []string{"n1"}) {
		t.Fatalf("%+v", r)
	}
	if r := w.after(time.Minute); len(r.Asked) != 1 || len(r.Asked[0].Request.Exclude) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestOptionsThatLeaveNoNode: nothing is requested, and why says so.
func TestOptionsThatLeaveNoNode(t *testing.T) {
	w := newWorld(t)
	w.site.Partitions[0].NodeList = "n[1-4]"
	w.of = new(w.slurmScheduler("--exclude=n[1-9]").ID)
	w.jobs(1, 1, "1g", "PT10M")
	if r := w.submit(nil); w.asked != 0 || !strings.Contains(r.Covered[0].Reason, "nodes: needs 1, its options leave 0") {
		t.Errorf("%+v", r)
	}
}
