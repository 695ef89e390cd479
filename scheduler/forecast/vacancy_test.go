package forecast

import (
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const gib = 1 << 30

// node returns a node of eight CPUs and 32 GiB in the partition std, of which some CPUs and
// their share of memory are free.
func node(name string, free int64) Node {
	return Node{
		Name: name, Partitions: []string{"std", "long"}, Features: []string{"ssd"}, Usable: true,
		Whole: placement.FreeNode{CPUs: 8, MemoryBytes: 32 * gib}, Free: placement.FreeNode{CPUs: free, MemoryBytes: free * 4 * gib},
	}
}

// need returns a request for some CPUs on one node for an hour.
func need(cpus int64, change func(*Request)) Request {
	r := Request{Nodes: 1, Node: placement.FreeNode{CPUs: cpus}, Walltime: time.Hour, Place: Place{Partitions: []string{"std"}}}
	if change != nil {
		change(&r)
	}
	return r
}

func TestVacancies(t *testing.T) {
	down, planned, other := node("n4", 8), node("n5", 8), node("n6", 8)
	down.Usable, planned.Planned, other.Partitions = false, true, []string{"gpu"}
	cluster := Cluster{At: noon, Nodes: []Node{node("n1", 8), node("n2", 3), node("n3", 8), down, planned, other}}
	maintenance := Reservation{Name: "maint", Start: noon.Add(30 * time.Minute), End: noon.Add(5 * time.Hour), Nodes: []string{"n1"}}
	mine := Reservation{Name: "course", Start: noon.Add(-time.Hour), End: noon.Add(2 * time.Hour), Nodes: []string{"n2", "n3"}}
	for name, tc := range map[string]struct {
		request      Request
		reservations []Reservation
		nodes        int64 // that can take a part of it
		largest      int64 // CPUs
	}{
		"a part of a node":                      {need(2, nil), nil, 3, 8},
		"more than is free on one":              {need(4, nil), nil, 2, 8},
		"more than a node has":                  {need(9, nil), nil, 0, 0},
		"whole nodes are idle ones":             {need(1, func(r *Request) { r.WholeNodes = true }), nil, 2, 8},
		"more memory than is free":              {need(1, func(r *Request) { r.Node.MemoryBytes = 13 * gib }), nil, 2, 8},
		"no GPUs":                               {need(1, func(r *Request) { r.Node.GPUs = 1 }), nil, 0, 0},
		"another partition":                     {need(1, func(r *Request) { r.Partitions = []string{"gpu"} }), nil, 1, 8},
		"any of two partitions":                 {need(1, func(r *Request) { r.Partitions = []string{"gpu", "long"} }), nil, 4, 8},
		"an excluded node":                      {need(1, func(r *Request) { r.Exclude = []string{"n1", "n3"} }), nil, 1, 3},
		"only named nodes":                      {need(1, func(r *Request) { r.Hosts = []string{"n2", "n4"} }), nil, 1, 3},
		"a feature that all have":               {need(1, func(r *Request) { r.Features = []string{"ssd"} }), nil, 3, 8},
		"a feature that none has":               {need(1, func(r *Request) { r.Features = []string{"ssd", "ib"} }), nil, 0, 0},
		"options that only Slurm understands":   {need(1, func(r *Request) { r.Unclear = true }), nil, 0, 0},
		"maintenance before its end":            {need(4, nil), []Reservation{maintenance}, 1, 8},
		"short enough to end before":            {need(4, func(r *Request) { r.Walltime = 30 * time.Minute }), []Reservation{maintenance}, 2, 8},
		"a reservation that it does not name":   {need(1, nil), []Reservation{mine}, 1, 8},
		"in a reservation":                      {need(1, func(r *Request) { r.Reservation = "course" }), []Reservation{mine}, 2, 8},
		"longer than its reservation":           {need(1, func(r *Request) { r.Reservation, r.Walltime = "course", 3*time.Hour }), []Reservation{mine}, 0, 0},
		"in a reservation that is not known":    {need(1, func(r *Request) { r.Reservation = "gone" }), []Reservation{mine}, 0, 0},
		"a reservation that is over":            {need(4, nil), []Reservation{{Name: "old", Start: noon.Add(-2 * time.Hour), End: noon.Add(-time.Hour), Nodes: []string{"n1"}}}, 2, 8},
		"a request without a number of CPUs":    {need(0, nil), nil, 3, 8},
		"its reservation, during a maintenance": {need(1, func(r *Request) { r.Reservation = "course" }), []Reservation{mine, {Name: "maint", Start: noon, End: noon.Add(time.Hour), Nodes: []string{"n3"}}}, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster
			c.Reservations = tc.reservations
			v := c.Vacancies(noon)
			if got := v.Nodes(&tc.request); got != tc.nodes {
				t.Errorf("%d nodes, want %d", got, tc.nodes)
			}
			if got := v.Largest(&tc.request).CPUs; got != tc.largest {
				t.Errorf("largest vacancy has %d CPUs, want %d", got, tc.largest)
			}
		})
	}
}

// TestTake: what is taken is no longer free, the fullest node is taken first, and a copy is
// independent.
func TestTake(t *testing.T) {
	c := Cluster{At: noon, Nodes: []Node{node("n1", 8), node("n2", 3)}}
	v := c.Vacancies(noon)
	two := need(2, nil)
	if !v.Take(&two) || v.Largest(&two).CPUs != 8 {
		t.Error("not on the fullest node")
	}
	copied := v.Clone()
	for range 4 {
		if !v.Take(&two) {
			t.Error("eight CPUs do not take four requests for two")
		}
	}
	if v.Take(&two) || !copied.Take(&two) {
		t.Error("more than is free, or the copy has changed")
	}
	wide := need(8, func(r *Request) { r.Nodes, r.WholeNodes = 2, true })
	if c.Vacancies(noon).Take(&wide) {
		t.Error("two whole nodes, although one is busy")
	}
	v = c.Vacancies(noon)
	v.Use([]string{"n1"}, &wide)
	if v.Largest(&two).CPUs != 3 {
		t.Error("a node in use is free")
	}
	if (*Cluster)(nil).Vacancies(noon).Take(&two) {
		t.Error("a cluster that is not known has vacancies")
	}
}
