package runner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/runner/steps"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// onNodes returns a runner for three nodes with 4 CPUs and 8 GiB each.
func onNodes(inSteps bool) *Runner {
	o := Options{Nodes: []string{"n2", "n1", "n3"}, Resources: Resources{CPUs: 4, MemoryBytes: 8 << 30}}
	r := (&Runner{opts: o, room: room{total: o.Resources.capacity(), hosts: newHosts(&o)}}).linkParts()
	if inSteps {
		r.steps = &steps.Mode{}
	}
	return r
}

func TestPlaceFor(t *testing.T) {
	small := lease.Grant{CPUs: 2, MemoryBytes: 1 << 30, Nodes: 1}
	large := lease.Grant{CPUs: 4, MemoryBytes: 1 << 30, Nodes: 1}
	named := lease.Grant{CPUs: 2, MemoryBytes: 1 << 30, Nodes: 1, Node: "n3"}
	pair := lease.Grant{CPUs: 1, MemoryBytes: 1 << 30, Nodes: 2}
	for _, tc := range []struct {
		name   string
		steps  bool
		grants []lease.Grant
		want   [][]string // of each grant; empty if it must wait
	}{
		{"steps, where they were granted", true, []lease.Grant{named, small}, [][]string{{"n3"}, {"n2"}}},
		{"steps, when that has no room left", true, []lease.Grant{named, named, named}, [][]string{{"n3"}, {"n3"}, {"n2"}}},
		{"without steps everything is on our node", false, []lease.Grant{small, named, small}, [][]string{{"n2"}, {"n2"}, nil}},
		{"several nodes are whole", true, []lease.Grant{small, pair, small, pair}, [][]string{{"n2"}, {"n1", "n3"}, {"n2"}, nil}},
		{"without steps our node is one of several", false, []lease.Grant{pair, large}, [][]string{{"n2", "n1"}, nil}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := onNodes(tc.steps)
			var got [][]string
			var placed []*attempt
			for i := range tc.grants {
				a := &attempt{grant: tc.grants[i]}
				hosts := r.room.placeFor(&a.grant, r.room.hosts)
				var names []string
				for _, h := range hosts {
					names = append(names, h.name)
				}
				r.room.reserve(a, hosts)
				placed = append(placed, a)
				got = append(got, names)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			for _, a := range placed {
				r.room.vacate(a)
			}
			for _, h := range r.room.hosts {
				if h.busy != 0 || h.free != r.room.total {
					t.Errorf("%+v is left", h)
				}
			}
		})
	}
}

func TestOfferOfSeveralNodes(t *testing.T) {
	r := onNodes(false)
	r.queue.waiting = []*attempt{{grant: lease.Grant{CPUs: 1, Nodes: 1}}}
	f := r.room.offer(time.Now())
	want := []placement.FreeNode{
		{Name: "n2", CPUs: 3, MemoryBytes: 8 << 30, Busy: true},
		{Name: "n1", CPUs: 4, MemoryBytes: 8 << 30, Together: true},
		{Name: "n3", CPUs: 4, MemoryBytes: 8 << 30, Together: true},
	}
	if d := cmp.Diff(want, f.Nodes); d != "" || f.Slots != 3 {
		t.Errorf("%d slots, %s", f.Slots, d)
	}
	r.steps = &steps.Mode{}
	if f := r.room.offer(time.Now()); f.Slots != 11 || f.Nodes[1].Together {
		t.Errorf("with steps: %+v", f)
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
		{"in the middle it is final", 5 * time.Hour, 0, false},
		{"before the end it is a warning", 3 * time.Minute, 30 * time.Second, true},
		{"a late one", 70 * time.Second, 10 * time.Second, true},
		{"with no time left for more than reports", 50 * time.Second, 0, true},
		{"after the end it is final", -time.Second, 0, false},
	} {
		if lead, ok := long.warned(long.end.Add(-tc.left), p.lead); lead != tc.lead || ok != tc.ok {
			t.Errorf("%s: %s, %t", tc.name, lead, ok)
		}
	}
	if _, ok := p.schedule(start, time.Time{}).warned(start, p.lead); ok {
		t.Error("an unknown end was announced")
	}
}
