package scheduler

import (
	"strings"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// TestASparePartition is asked while the best one is at a limit of the site, and
// only then; what was asked for there stays.
func TestASparePartition(t *testing.T) {
	w := newWorld(t)
	w.site.Partitions = append(w.site.Partitions, siteconfigs.Partition{Name: "also", CPUsPerNode: 4, MemoryMB: 8192, MaxWalltime: 8 * time.Hour, TotalNodes: 4, Shared: true})
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{refusal(slurm.Temporary), refusal(slurm.Limit)}
	if r := w.submit(nil); len(r.Refused) != 1 || r.Next.Before(w.now.Add(30*time.Second)) {
		t.Fatalf("%+v", r)
	}
	if r := w.after(30 * time.Second); len(r.Refused) != 1 || r.Next.After(w.now) {
		t.Fatalf("%+v", r)
	}
	r := w.after(time.Second)
	if len(r.Asked) != 1 || r.Asked[0].Request.Partition != "also" || !strings.Contains(r.Asked[0].Why, "in partition also; instead of partition std, as Slurm takes no more now: sbatch: no, limit") {
		t.Fatalf("%+v", r)
	}
	for range 5 {
		if r := w.after(time.Minute); len(r.Asked)+len(r.Canceled) != 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestANamedPartitionHasNoSpare.
func TestANamedPartitionHasNoSpare(t *testing.T) {
	w := newWorld(t)
	w.site.Partitions = append(w.site.Partitions, siteconfigs.Partition{Name: "also", CPUsPerNode: 4, MemoryMB: 8192, TotalNodes: 4, Shared: true})
	w.jobs(1, 1, "1g", "PT10M")
	w.answers = []error{refusal(slurm.Limit)}
	w.must(w.store.Submit(t.Context(), w.id, workflow.SubmitOptions{OutputDir: w.output, Partition: "std"}, nil, "me"))
	w.look()
	if r := w.after(time.Second); w.asked != 1 {
		t.Errorf("%+v", r)
	}
}
