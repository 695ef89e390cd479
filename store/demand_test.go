package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// demandOf returns the demand for places.
func (r *rig) demandOf(lead time.Duration) view.Demand {
	r.tb.Helper()
	supply, err := r.Scheduling.Supply(r.ctx, r.workflow, lead)
	r.must(err)
	return supply.Demand
}

func TestDemand(t *testing.T) {
	big := workflow.ResourceRequirements{NumCPUs: 4, Memory: "2g", NumNodes: 2}
	r := newRig(t,
		rigJob{}, rigJob{}, rigJob{}, rigJob{}, rigJob{}, // ready
		rigJob{after: []int{0}}, rigJob{after: []int{0, 1}, needs: big}, // behind jobs that will run
		rigJob{after: []int{2}}, rigJob{after: []int{5}}, // behind jobs that will not run yet
		rigJob{labels: "gpu", scheduler: 7},
	)
	now := r.now.UnixMilli()
	r.do(func(tx *core.Tx) error {
		for i, change := range []string{`avoid_nodes = '[{"node":"n2"},{"node":"n1"}]'`, `avoid_nodes = '[{"node":"n1"},{"node":"n2"}]', not_before_ms = ?1 + 120000`, `not_before_ms = ?1 + 60000`} {
			if _, err := tx.Exec(`UPDATE job SET `+change+` WHERE id = ?2`, now, r.ids[2+i]); err != nil {
				return err
			}
		}
		return nil
	})
	small, gpu := placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 60}, placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 60, Labels: []string{"gpu"}, SchedulerID: new(int64(7))}
	large := placement.Class{CPUs: 4, Nodes: 2, MemoryBytes: 2 << 30, RuntimeSeconds: 60}
	avoid := []string{"n1", "n2"}
	for _, tc := range []struct {
		name  string
		slots int64 // of a runner that claims before
		lead  time.Duration
		want  view.Demand
	}{
		{"nothing runs", 0, 0, view.Demand{Classes: []ClassDemand{
			{Class: small, Ready: 2, Delayed: 1, NextMS: now + 60_000},
			{Class: small, AvoidNodes: avoid, Ready: 1, Delayed: 1, NextMS: now + 120_000},
			{Class: gpu, Ready: 1},
		}}},
		{"what is soon ready", 0, time.Minute, view.Demand{Classes: []ClassDemand{
			{Class: small, Ready: 3},
			{Class: small, AvoidNodes: avoid, Ready: 1, Delayed: 1, NextMS: now + 120_000},
			{Class: gpu, Ready: 1},
		}}},
		{"blocked behind a running one", 1, 2 * time.Minute, view.Demand{Running: 1, Classes: []ClassDemand{
			{Class: small, Ready: 2, Behind: 1},
			{Class: small, AvoidNodes: avoid, Ready: 2},
			{Class: large, Behind: 1},
			{Class: gpu, Ready: 1},
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.slots > 0 {
				r.hand("n9", tc.slots).turn()
			}
			got := r.demandOf(tc.lead)
			for i := range got.Classes {
				got.Classes[i].Class.ID = 0
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	other, err := r.Workflows.Create(r.ctx, workflow.Workflow{Name: "other", User: "me"})
	r.must(err)
	if s, err := r.Scheduling.Supply(r.ctx, other.ID, 0); err != nil || len(s.Demand.Classes) > 0 {
		t.Errorf("another workflow: %+v, %v", s, err)
	}
}

// BenchmarkDemand counts 100,000 ready jobs in 4 classes, some of which avoid nodes, and
// as many behind 500 running ones.
func BenchmarkDemand(b *testing.B) {
	const n = 200_000
	jobs := make([]rigJob, n)
	for i := range jobs {
		jobs[i].needs.NumCPUs = int64(1 + i%4)
		if i >= 100_000 {
			jobs[i].after = []int{i % 500}
		}
	}
	r := newRig(b, jobs...)
	r.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE job SET avoid_nodes = '[{"node":"n1"}]' WHERE id % 1000 = 0`)
		return err
	})
	r.hand("n1", 500).turn()
	for b.Loop() {
		if d := r.demandOf(time.Minute); d.Running != 500 || len(d.Classes) != 5 {
			b.Fatalf("%d run, demand %+v", d.Running, d.Classes)
		}
	}
}
