package steps

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/runner/output"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
)

func TestStepArguments(t *testing.T) {
	yes := true
	g := lease.Grant{LeaseRef: lease.LeaseRef{JobID: 8, Attempt: 2}, Requirements: "big", CPUs: 3, MemoryBytes: 2 << 30, GPUs: 1, Nodes: 1}
	program := []string{"/bin/bash", "-c", "true"}
	name := Name(5, 1, &g)
	for _, tc := range []struct {
		name   string
		config workflow.ExecutionConfig
		change func(*lease.Grant)
		hosts  []string
		limit  time.Duration
		want   []string
	}{
		{"all of it", workflow.ExecutionConfig{SrunTerminationSignal: "TERM@60", EnableCPUBind: &yes}, nil, []string{"n1"}, 5 * time.Minute, []string{
			"/bin/srun", "--jobid=77", "--ntasks=1", "--exact", "--job-name=wf5_j8_r1_a2", "--nodelist=n1", "--nodes=1", "--cpus-per-task=3", "--mem=2048M",
			"--gpus=1", "--time=5", "--signal=TERM@60", "/bin/bash", "-c", "true"}},
		{"default requirements", workflow.ExecutionConfig{}, func(g *lease.Grant) { g.Requirements = workflow.DefaultRequirements }, nil, 0, []string{
			"/bin/srun", "--jobid=77", "--ntasks=1", "--cpu-bind=none", "--exact", "--job-name=wf5_j8_r1_a2", "--nodes=1", "/bin/bash", "-c", "true"}},
		{"several nodes", workflow.ExecutionConfig{}, func(g *lease.Grant) { g.Nodes, g.GPUs = 2, 0 }, []string{"n1", "n3"}, 0, []string{
			"/bin/srun", "--jobid=77", "--ntasks=1", "--cpu-bind=none", "--exact", "--job-name=wf5_j8_r1_a2", "--nodelist=n1,n3", "--nodes=2",
			"--cpus-per-task=3", "--mem=2048M", "/bin/bash", "-c", "true"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := g
			if tc.change != nil {
				tc.change(&g)
			}
			m := &Mode{Starter: Starter{Job: slurm.JobID{Number: 77}}, srun: "/bin/srun", config: &tc.config}
			if d := cmp.Diff(tc.want, m.Argv(name, &g, tc.hosts, tc.limit, &output.Files{}, program)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWithoutInputs(t *testing.T) {
	environ := []string{"HOME=/h", "SLURM_CONF=/c", "SLURM_JOB_ID=7", "SLURM_MEM_PER_NODE=300", "SLURM_NTASKS=4", "SLURM_CPU_BIND_TYPE=none", "SRUN_DEBUG=3"}
	if d := cmp.Diff([]string{"HOME=/h", "SLURM_CONF=/c", "SLURM_JOB_ID=7"}, WithoutInputs(environ)); d != "" {
		t.Error(d)
	}
}

// A step that a runner starts beside its jobs takes nothing from them, and inherits no
// options of the batch script.
func TestBeside(t *testing.T) {
	s := &Starter{Job: slurm.JobID{Number: 7}, Srun: "srun"}
	argv, env := s.OverlapArgv("gateway", "n2", []string{"A=1", "SLURM_JOB_ID=7", "SLURM_MEM_PER_NODE=600"}, []string{"program", "-x"})
	want := []string{"srun", "--jobid=7", "--ntasks=1", "--cpu-bind=none", "--overlap", "--job-name=gateway", "--nodelist=n2", "--nodes=1", "program", "-x"}
	if !slices.Equal(argv, want) || !slices.Equal(env, []string{"A=1", "SLURM_JOB_ID=7"}) {
		t.Errorf("%q with %q", argv, env)
	}
}
