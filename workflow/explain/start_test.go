package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestStartLines(t *testing.T) {
	const second = 1000
	small := compute.AllocationRequest{WalltimeS: 600, Nodes: 1, Offer: compute.AllocationOffer{CPUs: 4}}
	expecting := func(id int64, wait, high int64, instead string) compute.Allocation {
		a := compute.Allocation{ID: id, SlurmJobID: 800 + id, State: compute.AllocationPending, AskedMS: 100 * second, Request: small}
		a.Request.Expected = &compute.AllocationExpectation{WaitS: wait, HighS: high, Reason: "by 7 similar allocations", Instead: instead}
		return a
	}
	soon, later := expecting(1, 60, 300, "2 allocations: ends later"), expecting(2, 240, 900, "")
	plain := compute.Allocation{ID: 3, State: compute.AllocationPending, AskedMS: 50 * second, Request: small}
	live, canceled := soon, soon
	live.State, canceled.CancelMS = compute.AllocationActive, 1
	class := &placement.Class{CPUs: 2, RuntimeSeconds: 300, Nodes: 1}
	for _, tt := range []struct {
		name  string
		facts PlaceFacts
		class *placement.Class
		want  []string
	}{
		{"ours", PlaceFacts{NowMS: 110 * second, Allocations: []compute.Allocation{later, plain, soon}}, class, []string{
			"allocation 1 (Slurm job 801) is expected to start in about 50s (by 7 similar allocations)", "it was requested instead of 2 allocations: ends later",
		}},
		{"Slurm's comes first", PlaceFacts{NowMS: 110 * second, Allocations: []compute.Allocation{soon, later}, Estimates: map[int64]int64{1: 900 * second}}, nil, []string{
			"allocation 2 (Slurm job 802) is expected to start in about 3m50s (by 7 similar allocations)",
		}},
		{"Slurm's alone", PlaceFacts{NowMS: 110 * second, Allocations: []compute.Allocation{plain}, Estimates: map[int64]int64{3: 170 * second}}, class, []string{
			"allocation 3 is expected to start in about 1m (Slurm's estimate)",
		}},
		{"later than likely", PlaceFacts{NowMS: 200 * second, Allocations: []compute.Allocation{soon}}, class, []string{
			"allocation 1 (Slurm job 801) is expected to start in about 3m20s (by 7 similar allocations)", "it was requested instead of 2 allocations: ends later",
		}},
		{"late", PlaceFacts{NowMS: 460 * second, Allocations: []compute.Allocation{soon}}, class, []string{
			"allocation 1 (Slurm job 801) is late: it was expected to start 1m ago at the latest (by 7 similar allocations)", "it was requested instead of 2 allocations: ends later",
		}},
		{"no forecast", PlaceFacts{Allocations: []compute.Allocation{plain}, NoForecast: "sinfo does not answer"}, class, []string{"when it starts is not known: sinfo does not answer"}},
		{"nothing pending", PlaceFacts{Allocations: []compute.Allocation{live, canceled}, NoForecast: "sinfo does not answer"}, class, nil},
		{"too small", PlaceFacts{NowMS: 110 * second, Allocations: []compute.Allocation{soon}}, &placement.Class{CPUs: 5, RuntimeSeconds: 300, Nodes: 1}, nil},
		{"too short", PlaceFacts{NowMS: 110 * second, Allocations: []compute.Allocation{soon}}, &placement.Class{CPUs: 1, RuntimeSeconds: 601, Nodes: 1}, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.facts.startLines(tt.class)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
