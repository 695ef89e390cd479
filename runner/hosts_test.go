package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// onNodes is a runner for three nodes with 4 CPUs and 8 GiB each.
func onNodes(steps bool) *Runner {
	o := Options{Nodes: []string{"n2", "n1", "n3"}, Resources: Resources{CPUs: 4, MemoryBytes: 8 << 30}}
	r := &Runner{opts: o, total: o.Resources.capacity(), hosts: newHosts(&o)}
	if steps {
		r.steps = &stepMode{}
	}
	return r
}

func TestPlaceFor(t *testing.T) {
	small := api.Grant{CPUs: 2, MemoryBytes: 1 << 30, Nodes: 1}
	large := api.Grant{CPUs: 4, MemoryBytes: 1 << 30, Nodes: 1}
	named := api.Grant{CPUs: 2, MemoryBytes: 1 << 30, Nodes: 1, Node: "n3"}
	pair := api.Grant{CPUs: 1, MemoryBytes: 1 << 30, Nodes: 2}
	for _, tc := range []struct {
		name   string
		steps  bool
		grants []api.Grant
		want   [][]string // of each grant; empty if it must wait
	}{
		{"steps, where they were granted", true, []api.Grant{named, small}, [][]string{{"n3"}, {"n2"}}},
		{"steps, when that has no room left", true, []api.Grant{named, named, named}, [][]string{{"n3"}, {"n3"}, {"n2"}}},
		{"without steps all is on our node", false, []api.Grant{small, named, small}, [][]string{{"n2"}, {"n2"}, nil}},
		{"several nodes are whole", true, []api.Grant{small, pair, small, pair}, [][]string{{"n2"}, {"n1", "n3"}, {"n2"}, nil}},
		{"without steps our node is one of several", false, []api.Grant{pair, large}, [][]string{{"n2", "n1"}, nil}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := onNodes(tc.steps)
			var got [][]string
			var placed []*attempt
			for i := range tc.grants {
				a := &attempt{grant: tc.grants[i]}
				hosts := r.placeFor(&a.grant, r.hosts)
				var names []string
				for _, h := range hosts {
					names = append(names, h.name)
				}
				r.reserve(a, hosts)
				placed = append(placed, a)
				got = append(got, names)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			for _, a := range placed {
				r.vacate(a)
			}
			for _, h := range r.hosts {
				if h.busy != 0 || h.free != r.total {
					t.Errorf("%+v is left", h)
				}
			}
		})
	}
}

func TestOfferOfSeveralNodes(t *testing.T) {
	r := onNodes(false)
	r.queue = []*attempt{{grant: api.Grant{CPUs: 1, Nodes: 1}}}
	f := r.offer(time.Now())
	want := []api.FreeNode{
		{Name: "n2", CPUs: 3, MemoryBytes: 8 << 30, Busy: true},
		{Name: "n1", CPUs: 4, MemoryBytes: 8 << 30, Together: true},
		{Name: "n3", CPUs: 4, MemoryBytes: 8 << 30, Together: true},
	}
	if d := cmp.Diff(want, f.Nodes); d != "" || f.Slots != 3 {
		t.Errorf("%d slots, %s", f.Slots, d)
	}
	r.steps = &stepMode{}
	if f := r.offer(time.Now()); f.Slots != 11 || f.Nodes[1].Together {
		t.Errorf("with steps: %+v", f)
	}
}

func TestStepArguments(t *testing.T) {
	yes := true
	g := api.Grant{LeaseRef: api.LeaseRef{JobID: 8, Attempt: 2}, Requirements: "big", CPUs: 3, MemoryBytes: 2 << 30, GPUs: 1, Nodes: 1}
	program := []string{"/bin/bash", "-c", "true"}
	name := stepName(5, 1, &g)
	for _, tc := range []struct {
		name   string
		config workflow.ExecutionConfig
		change func(*api.Grant)
		hosts  []string
		limit  time.Duration
		want   []string
	}{
		{"all of it", workflow.ExecutionConfig{SrunTerminationSignal: "TERM@60", EnableCPUBind: &yes}, nil, []string{"n1"}, 5 * time.Minute, []string{
			"/bin/srun", "--jobid=77", "--ntasks=1", "--exact", "--job-name=wf5_j8_r1_a2", "--nodelist=n1", "--nodes=1", "--cpus-per-task=3", "--mem=2048M",
			"--gpus=1", "--time=5", "--signal=TERM@60", "/bin/bash", "-c", "true"}},
		{"default requirements", workflow.ExecutionConfig{}, func(g *api.Grant) { g.Requirements = workflow.DefaultRequirements }, nil, 0, []string{
			"/bin/srun", "--jobid=77", "--ntasks=1", "--cpu-bind=none", "--exact", "--job-name=wf5_j8_r1_a2", "--nodes=1", "/bin/bash", "-c", "true"}},
		{"several nodes", workflow.ExecutionConfig{}, func(g *api.Grant) { g.Nodes, g.GPUs = 2, 0 }, []string{"n1", "n3"}, 0, []string{
			"/bin/srun", "--jobid=77", "--ntasks=1", "--cpu-bind=none", "--exact", "--job-name=wf5_j8_r1_a2", "--nodelist=n1,n3", "--nodes=2",
			"--cpus-per-task=3", "--mem=2048M", "/bin/bash", "-c", "true"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := g
			if tc.change != nil {
				tc.change(&g)
			}
			m := &stepMode{Steps: Steps{Job: slurm.JobID{Number: 77}}, srun: "/bin/srun", config: &tc.config}
			if d := cmp.Diff(tc.want, m.argv(name, &g, tc.hosts, tc.limit, &stdio{}, program)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWithoutInputs(t *testing.T) {
	environ := []string{"HOME=/h", "SLURM_CONF=/c", "SLURM_JOB_ID=7", "SLURM_MEM_PER_NODE=300", "SLURM_NTASKS=4", "SLURM_CPU_BIND_TYPE=none", "SRUN_DEBUG=3"}
	if d := cmp.Diff([]string{"HOME=/h", "SLURM_CONF=/c", "SLURM_JOB_ID=7"}, withoutInputs(environ)); d != "" {
		t.Error(d)
	}
}

func TestWarned(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	p := newPolicy(nil, false)
	long := p.schedule(start, start.Add(10*time.Hour))
	for _, tc := range []struct {
		name string
		left time.Duration
		lead time.Duration
		ok   bool
	}{
		{"in the middle it is the last word", 5 * time.Hour, 0, false},
		{"before the end it is a warning", 3 * time.Minute, 30 * time.Second, true},
		{"a late one", 70 * time.Second, 10 * time.Second, true},
		{"with no time left for more than reports", 50 * time.Second, 0, true},
		{"after the end it is the last word", -time.Second, 0, false},
	} {
		if lead, ok := long.warned(long.end.Add(-tc.left), p.lead); lead != tc.lead || ok != tc.ok {
			t.Errorf("%s: %s, %t", tc.name, lead, ok)
		}
	}
	if _, ok := p.schedule(start, time.Time{}).warned(start, p.lead); ok {
		t.Error("an end that is not known was announced")
	}
}
