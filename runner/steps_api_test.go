package runner

import (
	"slices"
	"testing"

	"github.com/torc-slurm/torc-slurm/slurm"
)

// The address at which jobs call the daemon is one of their own node.
func TestAPIURLOfSteps(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes []string // of the runner
		hosts []string // of the step
		on    func(string) string
		want  []string
	}{
		{"own node", []string{"n1", "n2"}, []string{"n1"}, nil, []string{"A=1", "TORC_API_URL=own"}},
		{"no choice", nil, nil, nil, []string{"A=1", "TORC_API_URL=own"}},
		{"from here on two", []string{"n1", "n2"}, []string{"n1", "n2"}, nil, []string{"A=1", "TORC_API_URL=own"}},
		{"nobody there", []string{"n1", "n2"}, []string{"n2"}, nil, []string{"A=1"}},
		{"not yet there", []string{"n1", "n2"}, []string{"n2"}, func(string) string { return "" }, []string{"A=1"}},
		{"there", []string{"n1", "n2"}, []string{"n2"}, func(node string) string { return "on " + node }, []string{"A=1", "TORC_API_URL=on n2"}},
	} {
		r := &Runner{opts: Options{Nodes: test.nodes, APIURLOn: test.on}}
		if got := r.elsewhere([]string{"A=1", "TORC_API_URL=own"}, test.hosts); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// What a runner starts beside its jobs takes nothing from them, and inherits no
// request of the batch script.
func TestBeside(t *testing.T) {
	s := &Steps{Job: slurm.JobID{Number: 7}, Srun: "srun"}
	argv, env := s.Beside("gateway", "n2", []string{"A=1", "SLURM_JOB_ID=7", "SLURM_MEM_PER_NODE=600"}, []string{"program", "-x"})
	want := []string{"srun", "--jobid=7", "--ntasks=1", "--cpu-bind=none", "--overlap", "--job-name=gateway", "--nodelist=n2", "--nodes=1", "program", "-x"}
	if !slices.Equal(argv, want) || !slices.Equal(env, []string{"A=1", "SLURM_JOB_ID=7"}) {
		t.Errorf("%q with %q", argv, env)
	}
}
