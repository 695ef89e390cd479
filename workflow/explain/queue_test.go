package explain

import (
	"strings"
	"testing"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

func TestExplainQueue(t *testing.T) {
	small := placement.Class{CPUs: 2, MemoryBytes: 1 << 30}
	runner := func(total, free int64) []placement.RunnerFacts {
		offer := func(cpus int64) placement.Offer {
			return placement.Offer{Nodes: []placement.FreeNode{{CPUs: cpus, MemoryBytes: 1 << 34}}, Slots: 10}
		}
		return []placement.RunnerFacts{{ID: 1, Host: "n1", Total: offer(total), Free: offer(free)}}
	}
	pending := PlaceFacts{Allocations: []compute.Allocation{{State: compute.AllocationPending, SlurmReason: "Priority"}}}
	for _, tc := range []struct {
		name  string
		facts JobFacts
		want  []string
	}{
		{"without Slurm", JobFacts{Class: small, Job: workflow.Job{WorkflowID: 12}}, []string{"nobody asks Slurm for one; torc-slurm run 12 starts one", "2 CPUs"}},
		{"nothing", JobFacts{Class: small, Places: PlaceFacts{Ready: []string{"1 ready job: waits"}}}, []string{"no allocation was asked for", "2 CPUs"}},
		{"kept", JobFacts{Class: small, Runners: append(runner(4, 4), runner(1, 1)...), Retries: RetryFacts{Avoided: []workflow.AvoidedNode{{Node: "n1"}}},
			Places: PlaceFacts{Ready: []string{"1 ready job: waits"}}}, []string{"It is kept from the nodes", "not now: the job keeps away"}},
		{"pending", JobFacts{Class: small, Places: pending}, []string{"Slurm has not started it", "Slurm says Priority"}},
		{"pending beside what is too small", JobFacts{Class: small, Places: pending, Runners: runner(1, 1)}, []string{"Slurm has not started it"}},
		{"busy", JobFacts{Class: small, Runners: runner(4, 1)}, []string{"are busy", "n1"}},
		{"too small", JobFacts{Class: small, Runners: runner(1, 1)}, []string{"No runner that is there could ever take it", "never"}},
		{"free", JobFacts{Class: small, Runners: runner(4, 4)}, []string{"could take it now"}},
		{"no runner has come", JobFacts{Class: small, Places: PlaceFacts{Allocations: []compute.Allocation{{State: compute.AllocationActive}}}}, []string{"no runner of theirs has come"}},
		{"canceled", JobFacts{Class: small, WorkflowCanceled: true}, []string{"canceled"}},
	} {
		got := Queue(tc.facts)
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in:\n%s", tc.name, want, got)
			}
		}
	}
}
