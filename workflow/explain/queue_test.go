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
		{"without Slurm", JobFacts{Class: small, Job: workflow.Job{WorkflowID: 12}}, []string{"none is requested from Slurm. Start one: torc-slurm run 12", "2 CPUs"}},
		{"nothing", JobFacts{Class: small, Places: PlaceFacts{Ready: []string{"1 ready job: waits"}}}, []string{"no allocation was requested", "2 CPUs"}},
		{"excluded", JobFacts{Class: small, Runners: append(runner(4, 4), runner(1, 1)...), Retries: RetryFacts{Avoided: []workflow.AvoidedNode{{Node: "n1"}}},
			Places: PlaceFacts{Ready: []string{"1 ready job: waits"}}}, []string{"It must not start on the nodes", "not now: the job avoids"}},
		{"pending", JobFacts{Class: small, Places: pending}, []string{"Slurm has not started it", "Slurm's reason for waiting: Priority"}},
		{"pending beside what is too small", JobFacts{Class: small, Places: pending, Runners: runner(1, 1)}, []string{"Slurm has not started it"}},
		{"busy", JobFacts{Class: small, Runners: runner(4, 1)}, []string{"are busy", "n1"}},
		{"too small", JobFacts{Class: small, Runners: runner(1, 1)}, []string{"No live runner can ever take it", "never"}},
		{"free", JobFacts{Class: small, Runners: runner(4, 4)}, []string{"could take it now"}},
		{"no runner has come", JobFacts{Class: small, Places: PlaceFacts{Allocations: []compute.Allocation{{State: compute.AllocationActive}}}}, []string{"none of their runners has registered"}},
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
