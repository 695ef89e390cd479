package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
)

// oracle is a Slurm with some nodes, which starts allocations after a while.
type oracle struct {
	nodes []slurm.NodeGroup
	queue error         // of squeue
	waits time.Duration // per node
	now   time.Time
	asked []string
}

func (o *oracle) Nodes(context.Context) ([]slurm.NodeGroup, error) { return o.nodes, nil }

func (o *oracle) Queue(context.Context, slurm.QueueQuery) (slurm.Queue, error) {
	return slurm.Queue{}, o.queue
}

func (o *oracle) Estimate(_ context.Context, s slurm.Submission) (time.Time, error) {
	o.asked = append(o.asked, strings.Join(s.Args, " "))
	var nodes int
	for _, arg := range s.Args {
		_, _ = fmt.Sscanf(arg, "--nodes=%d", &nodes)
	}
	if o.waits == 0 {
		return time.Time{}, errors.New("no idea")
	}
	return o.now.Add(time.Duration(nodes) * o.waits), nil
}

func TestPlanAllocations(t *testing.T) {
	site := &siteconfigs.Site{
		Name: "small", DefaultAccount: "proj", ChargeFactorCPU: 2,
		Partitions: []siteconfigs.Partition{{Name: "debug", CPUsPerNode: 8, MemoryMB: 16 << 10, MaxWalltime: 4 * time.Hour, TotalNodes: 4, Default: true}},
	}
	work := slices.Concat(many(4, 0, need("wide", 8, "1g", "PT20M")), many(1, 1, need("wide", 8, "1g", "PT20M")))
	now := time.UnixMilli(1_795_255_200_000)
	slurmSays := &oracle{nodes: []slurm.NodeGroup{{Partition: "debug", Available: "up", State: "idle", Count: 4}}, now: now}
	plan := func(change func(*AllocationPlanOptions)) compute.AllocationPlan {
		t.Helper()
		o := AllocationPlanOptions{GenerateOptions: options(), Prospects: slurmSays, Now: now}
		change(&o)
		p, err := PlanAllocations(t.Context(), work, site, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan(func(o *AllocationPlanOptions) { o.Prospects = nil })
	want := compute.WorkAnalysis{TotalJobs: 5, TotalInstances: 5, Depth: 2, MaxParallelism: 4, ResourceGroups: 2}
	if diff := cmp.Diff(want, p.Analysis); diff != "" {
		t.Error(diff)
	}
	if len(p.Cluster) != 0 || len(p.Recommendations) != 2 || p.Groups[0].Reason == "" {
		t.Fatalf("offline: %+v", p)
	}
	// 4 nodes and then one, for the half hour that is the reserve's.
	if a := p.Recommendations[0]; a.Strategy != adviseMany || a.Allocations != 4 || a.NodeSeconds != 4*1800 || p.NodeSeconds != 5*1800 || p.Charge != 5*0.5*2 {
		t.Errorf("offline: %+v", p)
	}
	if p = plan(func(*AllocationPlanOptions) {}); p.Recommendations[0].Strategy != adviseSingle || p.Recommendations[0].Nodes != 4 || len(slurmSays.asked) != 2 {
		t.Errorf("with idle nodes: %+v, asked %q", p, slurmSays.asked)
	}
	if len(p.Cluster) != 1 || p.Cluster[0].Idle != 4 {
		t.Errorf("cluster %+v", p.Cluster)
	}
	if len(slurmSays.asked) > 0 && !strings.HasPrefix(slurmSays.asked[1], "--account=proj --partition=debug --time=00:30:00 --nodes=4 --mem=") {
		t.Errorf("asked %q", slurmSays.asked)
	}
	slurmSays.waits = time.Minute
	if e := plan(func(*AllocationPlanOptions) {}).Recommendations[0].Estimates; len(e) != 2 || e[0].WaitSeconds != 60 || e[1].Nodes != 4 || e[1].WaitSeconds != 240 {
		t.Errorf("estimates %+v", e)
	}
	slurmSays.asked, slurmSays.queue = nil, errors.New("squeue does not answer")
	if p = plan(func(o *AllocationPlanOptions) { o.NoEstimates = true }); len(slurmSays.asked) != 0 || len(p.Cluster) != 1 || len(p.Warnings) != 1 {
		t.Errorf("without a queue: %+v, asked %q", p, slurmSays.asked)
	}
	if _, err := PlanAllocations(t.Context(), work, site, AllocationPlanOptions{GenerateOptions: options(func(o *GenerateOptions) { o.Multiplier = 0.5 })}); err == nil {
		t.Error("a multiplier of less than 1 is accepted")
	}
}
