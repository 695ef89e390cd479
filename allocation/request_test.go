package allocation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

func TestRequestOf(t *testing.T) {
	partition, mem, tasks := "short", "8g", int64(2)
	got, err := RequestOf(&compute.SlurmScheduler{
		Name: "small", Account: "a", Nodes: 2, Partition: &partition, Mem: &mem, NtasksPerNode: &tasks, Walltime: "1-02:00:00",
	})
	want := compute.AllocationRequest{Account: "a", Nodes: 2, Partition: "short", Mem: "8g", NtasksPerNode: 2, WalltimeS: 26 * 3600}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, walltime := range []string{"", "soon", "0", "INVALID"} {
		if _, err := RequestOf(&compute.SlurmScheduler{Walltime: walltime}); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("walltime %q: %v", walltime, err)
		}
	}
	if got, err := RequestOf(&compute.SlurmScheduler{Walltime: "UNLIMITED"}); err != nil || got.WalltimeS != 0 {
		t.Errorf("without a limit: %+v, %v", got, err)
	}
}
