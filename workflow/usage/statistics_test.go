package usage

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestByRequirements(t *testing.T) {
	small, big := workflow.ResourceRequirements{ID: 2, Name: "small"}, workflow.ResourceRequirements{ID: 1, Name: "big"}
	use := func(q workflow.ResourceRequirements, seconds float64, memory *int64) JobUse {
		return JobUse{Requirements: q, ExecSeconds: seconds, PeakMemoryBytes: memory}
	}
	all := ByRequirements([]JobUse{use(small, 4, new(int64(100))), use(big, 9, nil), use(small, 1, nil), use(small, 2, new(int64(300))), use(small, 3, nil)})
	if len(all) != 2 || all[0].Requirements.Name != "big" || len(all[1].Uses) != 4 {
		t.Fatalf("%+v", all)
	}
	if s := all[1].Runtime; s != (Range{4, 1, 4, 2.5, 2.5}) {
		t.Errorf("runtime %+v", s)
	}
	if s := all[1].Memory; s != (Range{2, 100, 300, 200, 200}) {
		t.Errorf("memory %+v", s)
	}
	if s := all[1].CPU; s != (Range{}) {
		t.Errorf("CPU %+v", s)
	}
	if got := ByRequirements(nil); got != nil {
		t.Errorf("none: %+v", got)
	}
}
