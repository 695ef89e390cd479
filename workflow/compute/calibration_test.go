package compute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCalibrate(t *testing.T) {
	const now = 10_000_000
	use := func(id int64, state AllocationState, asked, start, end int64, e *AllocationExpectation) AllocationUse {
		return AllocationUse{Allocation: Allocation{
			ID: id, State: state, AskedMS: 1000 * asked, StartMS: 1000 * start, EndMS: 1000 * end,
			Request: AllocationRequest{Nodes: 2, Expected: e},
		}}
	}
	first := &AllocationExpectation{WaitS: 10, HighS: 60, EndS: 300, CPUSeconds: 8000, IdleShare: 0.1, Instead: "one", InsteadEndS: 900, InsteadCPUSeconds: 7000}
	second := &AllocationExpectation{WaitS: 100, HighS: 600, EndS: 500, CPUSeconds: 4000, IdleShare: 0.3}

	worked := use(1, AllocationEnded, 1000, 1020, 2020, first)
	worked.CPUs, worked.JobCPUSeconds = 8, 6000
	late := use(2, AllocationActive, 1001, 1101, 0, first) // 8899 s with 2 CPUs
	late.JobCPUSeconds = 17798
	canceled := use(3, AllocationEnded, 5000, 0, 5030, second)
	given := use(4, AllocationEnded, 5000, 0, 6000, second)
	pending := use(5, AllocationPending, 9_900, 0, 0, second)
	restarted := use(6, AllocationActive, 1000, 3000, 0, first)
	restarted.RestartCount = 1
	plain := use(7, AllocationActive, 1000, 1001, 0, nil)

	got := Calibrate([]AllocationUse{worked, late, canceled, given, pending, restarted, plain}, now)
	want := &Calibration{
		Waited: 3, InTime: 1, ExpectedWaitS: 10, WaitS: 20,
		ExpectedIdleShare: 0.1, IdleShare: 1 - float64(6000+17798)/float64(8000+17798),
		Plans: []CalibratedPlan{
			{AskedMS: 1_000_000, Allocations: 2, ExpectedEndS: 300, ExpectedCPUSeconds: 8000, CPUSeconds: 25798, Instead: "one", InsteadEndS: 900, InsteadCPUSeconds: 7000},
			{AskedMS: 5_000_000, Allocations: 3, ExpectedEndS: 500, ExpectedCPUSeconds: 4000},
		},
		Allocations: []CalibratedAllocation{
			{ID: 1, State: AllocationEnded, ExpectedWaitS: 10, HighS: 60, WaitS: 20, Started: true, CPUSeconds: 8000, IdleShare: 0.25},
			{ID: 2, State: AllocationActive, ExpectedWaitS: 10, HighS: 60, WaitS: 100, Started: true, CPUSeconds: 17798},
			{ID: 3, State: AllocationEnded, ExpectedWaitS: 100, HighS: 600, WaitS: 30},
			{ID: 4, State: AllocationEnded, ExpectedWaitS: 100, HighS: 600, WaitS: 1000},
			{ID: 5, State: AllocationPending, ExpectedWaitS: 100, HighS: 600, WaitS: 100},
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
		t.Error(diff)
	}
	if got := Calibrate([]AllocationUse{restarted, plain}, now); got != nil {
		t.Errorf("without an expectation: %+v", got)
	}
}
