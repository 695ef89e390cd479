package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// node is an unconfined node with 8 CPUs and 16 GiB.
var node = Probes{MaskCPUs: 8, OnlineCPUs: 8, NodeMemory: 16 << 30, GPUs: []string{"0", "1", "2", "3"}}

func TestLocate(t *testing.T) {
	job := []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n3", "SLURMD_NODENAME=n3", "SLURM_CPUS_ON_NODE=4"}
	with := func(more ...string) []string { return append(job[:len(job):len(job)], more...) }
	confined := func(change func(*Probes)) Probes {
		p := node
		change(&p)
		return p
	}
	place := func(change func(*Place)) Place {
		p := Place{JobID: 7, NodeList: "n3", Nodes: []string{"n3"}, Resources: Resources{CPUs: 4, MemoryBytes: 16<<30 - ownMemory}}
		change(&p)
		return p
	}
	for _, tc := range []struct {
		name     string
		environ  []string
		probes   Probes
		isolated bool
		want     Place
	}{
		{"the whole memory of a node", job, node, false, place(func(*Place) {})},
		{"--mem=0 is the whole memory too", with("SLURM_MEM_PER_NODE=0"), node, false, place(func(*Place) {})},
		{"its requeued restart, as a task", with("SLURM_CLUSTER_NAME=c", "SLURM_RESTART_COUNT=2", "SLURM_NODEID=3", "SLURM_TASK_PID=99", "SLURM_JOB_END_TIME=1000"), node, false,
			place(func(p *Place) {
				p.Cluster, p.RestartCount, p.NodeID, p.TaskPID, p.End = "c", 2, 3, 99, time.Unix(1000, 0)
			})},
		{"memory of a node", with("SLURM_MEM_PER_NODE=2000"), node, false, place(func(p *Place) { p.Resources.MemoryBytes = 2000 << 20 })},
		{"memory per CPU", with("SLURM_MEM_PER_CPU=500"), node, false, place(func(p *Place) { p.Resources.MemoryBytes = 2000 << 20 })},
		{"memory per GPU", with("SLURM_MEM_PER_GPU=500", "SLURM_JOB_GPUS=1,3"), node, false, place(func(p *Place) {
			p.Resources.MemoryBytes, p.Resources.GPUs, p.Resources.GPUDevices = 1000<<20, 2, []string{"1", "3"}
		})},
		{"the cgroup's limit, where the script has unset the variables", job, confined(func(p *Probes) { p.CgroupMemory = 1 << 30 }), false,
			place(func(p *Place) { p.Resources.MemoryBytes = 1 << 30 })},
		{"a small node", job, confined(func(p *Probes) { p.NodeMemory = 1 << 30 }), false,
			place(func(p *Place) { p.Resources.MemoryBytes = 1<<30 - 1<<26 })},
		{"an affinity mask", job, confined(func(p *Probes) { p.MaskCPUs = 2 }), false, place(func(p *Place) { p.Resources.CPUs = 2 })},
		{"more CPUs configured than there are", job, confined(func(p *Probes) { p.MaskCPUs, p.OnlineCPUs = 2, 2 }), false, place(func(*Place) {})},
		{"GPUs of a step", with("SLURM_STEP_GPUS=gpu:2", "SLURM_JOB_GPUS=1,2"), node, false,
			place(func(p *Place) { p.Resources.GPUs, p.Resources.GPUDevices = 1, []string{"2"} })},
		{"GPUs with only a count", with("SLURM_GPUS_ON_NODE=2"), node, false,
			place(func(p *Place) { p.Resources.GPUs, p.Resources.GPUDevices = 2, []string{"0", "1"} })},
		{"GPUs that no tool finds", with("SLURM_GPUS_ON_NODE=2"), confined(func(p *Probes) { p.GPUs = nil }), false,
			place(func(p *Place) { p.Resources.GPUs, p.Resources.GPUDevices = 2, []string{"0", "1"} })},
		{"a runner for several nodes", with("SLURM_JOB_NODELIST=n[2-4]", "SLURM_JOB_CPUS_PER_NODE=4,3(x2)"), node, false,
			place(func(p *Place) { p.NodeList, p.Nodes, p.Resources.CPUs = "n[2-4]", []string{"n3", "n2", "n4"}, 3 })},
		{"a runner on each node", with("SLURM_JOB_NODELIST=n[2-4]", "SLURM_JOB_CPUS_PER_NODE=4,3(x2)", "SLURM_STEP_ID=0"), node, false, place(func(p *Place) { p.NodeList = "n[2-4]" })},
		{"a runner on each node, started by something else", with("SLURM_JOB_NODELIST=n[2-4]"), node, true, place(func(p *Place) { p.NodeList = "n[2-4]" })},
		{"a node without a name", []string{"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=n[2-4]", "SLURM_CPUS_ON_NODE=4", "SLURM_NODEID=1"}, node, true,
			place(func(p *Place) { p.NodeID, p.NodeList = 1, "n[2-4]" })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Locate(tc.environ, tc.probes, tc.isolated)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := Locate([]string{"SLURM_CPUS_ON_NODE=4"}, node, false); workflow.CodeOf(err) != workflow.CodeInvalid {
		t.Errorf("without an allocation: %v", err)
	}
}

func TestCountCPUs(t *testing.T) {
	for list, want := range map[string]int64{"0-3": 4, "0-3,8,10-11": 7, "0": 1, "": 0, "x-3": 0} {
		if got := countCPUs(list); got != want {
			t.Errorf("countCPUs(%q) = %d, want %d", list, got, want)
		}
	}
}
