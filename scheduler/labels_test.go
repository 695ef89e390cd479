package scheduler

import (
	"slices"
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestJobsWithLabelsGetAllocations, whose runners have these labels and take no
// other jobs.
func TestJobsWithLabelsGetAllocations(t *testing.T) {
	w := newWorld(t)
	w.jobs(1, 1, "1g", "PT10M")
	w.labels = []string{"gpu", "licence"}
	w.jobs(2, 1, "1g", "PT11M")
	w.labels = []string{"gpu"}
	w.jobs(1, 1, "1g", "PT12M")
	r := w.submit(nil)
	var got []string
	for _, a := range r.Asked {
		got = append(got, workflow.JoinLabels(a.Request.Labels))
		if q := a.Request; q.Partition != "" && q.Partition != "std" || (len(q.Labels) > 0) != strings.HasSuffix(q.Pool, ", labels "+got[len(got)-1]) {
			t.Errorf("%+v", q)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"", "gpu", "gpu,licence"}) {
		t.Fatalf("labels of what was asked for: %q", got)
	}
	if r := w.look(); len(r.Asked)+len(r.Canceled) != 0 {
		t.Errorf("once more: %+v", r)
	}
	for _, a := range r.Asked {
		want := map[string]int{"": 1, "gpu": 1, "gpu,licence": 2}[workflow.JoinLabels(a.Request.Labels)]
		if _, granted := w.start(a); len(granted) != want {
			t.Errorf("a runner with %q got %d jobs, want %d", a.Request.Labels, len(granted), want)
		}
	}
}
