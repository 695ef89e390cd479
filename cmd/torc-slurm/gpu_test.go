package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
)

// gpuSpec has four jobs for two GPUs. A job fails if another has the same device
// at the same time.
const gpuSpec = `
name: gpus-%[1]s
execution_config: {mode: %[1]s}
resource_requirements: [{name: gpu, num_cpus: 1, memory: 60m, num_gpus: 1, runtime: PT1M}]
jobs:
  - {name: 'g{i}', command: 'mkdir lock_%[1]s_$CUDA_VISIBLE_DEVICES || exit 1; sleep 1; rmdir lock_%[1]s_$CUDA_VISIBLE_DEVICES; echo $CUDA_VISIBLE_DEVICES >>devices_%[1]s', parameters: {i: '1:4'}, resource_requirements: gpu}
`

// checkGPUs looks at which devices four jobs have had.
func checkGPUs(t *testing.T, dir, mode string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "devices_"+mode))
	devices := strings.Fields(string(text))
	slices.Sort(devices)
	if err != nil || !slices.Equal(devices, []string{"0", "0", "1", "1"}) {
		t.Errorf("%s: the devices were %q, %v", mode, devices, err)
	}
}

// TestGPUs: what jobs with GPUs are asked for, and which devices they see.
func TestGPUs(t *testing.T) {
	p := newPerson(t)
	p.write("gpus.yaml", fmt.Sprintf(gpuSpec, "direct"))
	p.write("many.yaml", strings.ReplaceAll(fmt.Sprintf(gpuSpec, "direct"), "num_gpus: 1", "num_gpus: 3"))

	if plan, _ := p.run(0, "slurm", "plan", "gpus.yaml"); !strings.Contains(plan, "4 jobs for") || strings.Contains(plan, "Warning") {
		t.Error(plan)
	}
	if _, said := p.run(cli.ExitInvalidSpec, "submit", "many.yaml"); !strings.Contains(said, "g1 (and 3 more): needs 3 GPUs, the largest node of partition debug has 2") {
		t.Error(said)
	}
	p.run(0, "submit", "gpus.yaml")
	if _, said := p.run(0, "watch", "2", "-p", "0.2"); !strings.Contains(said, "Every job completed") {
		t.Error(said)
	}
	checkGPUs(t, p.dir, "direct")
	var scripts int
	for _, c := range p.slurm.Calls() {
		if c.Program == slurm.Sbatch && strings.Contains(string(c.Stdin), "torc:") {
			scripts++
			if !strings.Contains(string(c.Stdin), `#SBATCH --gres="gpu:2"`) {
				t.Errorf("a script without GPUs:\n%s", c.Stdin)
			}
		}
	}
	if scripts == 0 {
		t.Error("Slurm was asked for nothing")
	}
}

// bothGPUs has allocations ask for both GPUs of a node: without it they could be for one each, if
// another test has the other one.
const bothGPUs = `
slurm_schedulers: [{name: both, account: research, partition: debug, gres: "gpu:2", mem: 400M, nodes: 1, walltime: "00:10:00", extra: "--cpus-per-task=2"}]
actions: [{trigger_type: auto_schedule_on_ready_jobs, scheduler: both}]
`

// TestRealGPUs is the same on a real cluster, whose node n4 has two devices that
// stand for GPUs.
func TestRealGPUs(t *testing.T) {
	c := newCluster(t)
	modes := []string{"direct", "slurm"}
	for i, mode := range modes {
		file := filepath.Join(c.dir, mode+".yaml")
		if err := os.WriteFile(file, []byte(fmt.Sprintf(gpuSpec+bothGPUs, mode)), 0o644); err != nil {
			t.Fatal(err)
		}
		var submitted allocate.Answer
		c.decode(&submitted, "submit", "-o", filepath.Join(c.dir, mode), file)
		// If another test has GPUs, more allocations than one may be worth a place in the queue.
		if submitted.WorkflowID != int64(i+1) || len(submitted.Requested) == 0 {
			t.Fatalf("%+v", submitted)
		}
	}
	for i, mode := range modes {
		slurmtest.Eventually(t, 4*time.Minute, "the jobs have ended", func() bool { return len(c.results(fmt.Sprint(i+1))) == 4 })
		checkGPUs(t, c.dir, mode)
	}
}
