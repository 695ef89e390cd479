package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// TestASparePartition is asked while the best one is at a limit of the site, and
// only then; what was requested there stays.
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
	if len(r.Asked) != 1 || r.Asked[0].Request.Partition != "also" || !strings.Contains(r.Asked[0].Why, "in partition also; instead of partition std, as Slurm accepts no more now: sbatch: no, limit") {
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
	w.must(w.store.Scheduling.Submit(t.Context(), w.id, compute.SubmitOptions{OutputDir: w.output, Partition: "std"}, nil, "me"))
	w.look()
	if r := w.after(time.Second); w.asked != 1 {
		t.Errorf("%+v", r)
	}
}

// TestWaitingAllocationsAreWidened: only those that wait for their turn, for long,
// and fit there; nothing else is requested.
func TestWaitingAllocationsAreWidened(t *testing.T) {
	small := Spare{Partition: "small", Node: Resources{CPUs: 2}}
	short := Spare{Partition: "short", Node: debugPool()[0].Node, MaxWalltime: time.Hour}
	same := Spare{Partition: "same", Node: debugPool()[0].Node}
	for _, tc := range []struct {
		waits  time.Duration
		change func(*Allocation)
		spares []Spare
		want   string
	}{
		{15 * time.Minute, func(*Allocation) {}, []Spare{small, short, same}, "widen: pending since 11:45:00 (Priority): it may also start in partition same"},
		{14 * time.Minute, func(*Allocation) {}, []Spare{same}, ""},
		{time.Hour, func(a *Allocation) { a.Reason = "QOSMaxJobsPerUserLimit" }, []Spare{same}, ""},
		{time.Hour, func(a *Allocation) { a.ActionID = 0 }, []Spare{same}, ""},
		{time.Hour, func(a *Allocation) { a.Widened = true }, []Spare{same}, ""},
		{time.Hour, func(*Allocation) {}, []Spare{small, short}, ""},
	} {
		a := pending(1, 63*time.Minute, func(a *Allocation) { a.Asked, a.Reason = noon.Add(-tc.waits), "Priority" })
		tc.change(&a)
		got := told(Plan(Snapshot{Now: noon, Demand: []Demand{jobs(10, time.Hour)}, Allocations: []Allocation{a}, Actions: auto(), Pools: debugPool(func(p *Pool) { p.Spares = tc.spares })}))
		if got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.waits, got, tc.want)
		}
	}
}

// TestAWaitingAllocationGetsAnotherPartition, once, whatever Slurm says.
func TestAWaitingAllocationGetsAnotherPartition(t *testing.T) {
	for _, answer := range []error{nil, refusal(slurm.Permanent)} {
		w := newWorld(t)
		w.site.Partitions = append(w.site.Partitions, siteconfigs.Partition{Name: "also", CPUsPerNode: 4, MemoryMB: 8192, MaxWalltime: 8 * time.Hour, TotalNodes: 4, Shared: true})
		var asked []string
		w.scheduler.Widen = func(_ context.Context, job int64, partitions []string) error {
			asked = append(asked, fmt.Sprint(job, partitions))
			return answer
		}
		w.jobs(1, 1, "1g", "PT10M")
		w.submit(nil)
		w.must(w.store.Allocations.Observe(t.Context(), []store.Observation{{AllocationID: w.allocations(true)[0].ID, State: compute.AllocationPending, SlurmState: "PENDING", SlurmReason: "Resources"}}))
		for range 4 {
			if r := w.after(10 * time.Minute); len(r.Asked)+len(r.Canceled) != 0 {
				t.Errorf("%+v", r)
			}
		}
		want := map[bool]string{true: "std,also", false: "std"}[answer == nil]
		if got := w.allocations(true)[0].Request.Partition; got != want || len(asked) != 1 || asked[0] != "1 [std also]" {
			t.Errorf("Slurm was asked %q, partition %q, want %q", asked, got, want)
		}
	}
}
