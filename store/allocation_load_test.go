package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestAllocationLoads(t *testing.T) {
	r := newRig(t, independent(8)...)
	loads := func() map[int64]*AllocationLoad {
		t.Helper()
		supply, err := r.Scheduling.Supply(r.ctx, r.workflow, 0)
		r.must(err)
		return supply.Loads
	}
	const intent = "00000000000000aa"
	a := r.intend(intent)
	r.intend("00000000000000bb")
	r.adopt(intent, 70, 0)
	if got := loads(); len(got) != 0 {
		t.Errorf("no runner has come, but: %+v", got)
	}

	h := r.join(intent, 70, 0)
	h.turn()
	claimed := r.now
	r.now = r.now.Add(30 * time.Second)
	h.start(3)
	class := placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 60}
	want := map[int64]*AllocationLoad{a.ID: {
		Runners: []AllocationNode{{RunnerID: h.id, Host: "n1", Nodes: 1, CPUs: 8, MemoryBytes: 1 << 36}},
		Jobs: []RunningJobs{
			{Class: class, Count: 5, Until: claimed.Add(time.Minute)},
			{Class: class, Count: 3, Until: claimed.Add(90 * time.Second)},
		},
	}}
	if diff := cmp.Diff(want, loads(), cmpopts.IgnoreFields(placement.Class{}, "ID")); diff != "" {
		t.Error(diff)
	}

	r.do(func(tx *core.Tx) error {
		_, err := tx.Exec(`UPDATE compute_node SET is_active = 0 WHERE id = ?`, h.id)
		return err
	})
	if got := loads()[a.ID]; got.Left != 1 || len(got.Runners) != 0 {
		t.Errorf("its runner has left, but: %+v", got)
	}

	r.must(r.Allocations.End(r.ctx, a.ID, compute.AllocationEnd{Cause: compute.AllocationNodeFail}))
	if got := loads(); len(got) != 0 {
		t.Errorf("it has ended, but: %+v", got)
	}
}
