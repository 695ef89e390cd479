package clusterfacts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

var noon = time.Unix(1_795_000_000, 0)

// load is a node of 8 CPUs, 4 of them free, with 16 GiB, half of them free, and 2 GPUs, one
// of them free.
func load(state, flags string) slurm.NodeLoad {
	return slurm.NodeLoad{
		Name: "n1", Partitions: []string{"debug", "long"}, State: state, Flags: flags, CPUs: 8, AllocatedCPUs: 4, IdleCPUs: 4,
		Memory: 16 * slurm.GiB, AllocatedMemory: 8 * slurm.GiB, GPUs: 2, AllocatedGPUs: 1, Features: []string{"ib"},
	}
}

// idle is a node on which nothing runs.
func idle(name, state, flags string) slurm.NodeLoad {
	return slurm.NodeLoad{Name: name, Partitions: []string{"debug"}, State: state, Flags: flags, CPUs: 8, IdleCPUs: 8, Memory: 16 * slurm.GiB}
}

func TestOfNode(t *testing.T) {
	c := Of([]slurm.NodeLoad{load("mixed", "")}, nil, noon)
	want := forecast.Cluster{At: noon, Nodes: []forecast.Node{{
		Name: "n1", Partitions: []string{"debug", "long"}, Features: []string{"ib"}, Usable: true,
		Whole: placement.FreeNode{Name: "n1", CPUs: 8, MemoryBytes: 16 * slurm.GiB, GPUs: 2},
		Free:  placement.FreeNode{Name: "n1", CPUs: 4, MemoryBytes: 8 * slurm.GiB, GPUs: 1, Busy: true},
	}}}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOfStates: what is free on a node of which half is in use.
func TestOfStates(t *testing.T) {
	for name, c := range map[string]struct {
		node    slurm.NodeLoad
		usable  bool
		planned bool
		busy    bool
		free    int64 // CPUs
	}{
		"mixed":                            {node: load("mixed", ""), usable: true, busy: true, free: 4},
		"idle":                             {node: idle("n1", "idle", ""), usable: true, free: 8},
		"powered down":                     {node: idle("n1", "idle", "~"), usable: true, free: 8},
		"powering up":                      {node: idle("n1", "idle", "#"), usable: true, free: 8},
		"powering down":                    {node: idle("n1", "idle", "%")},
		"to be powered off":                {node: idle("n1", "idle", "!")},
		"to be rebooted":                   {node: idle("n1", "idle", "@")},
		"not responding":                   {node: idle("n1", "idle", "*")},
		"busy, silent":                     {node: load("mixed", "*"), busy: true},
		"down":                             {node: idle("n1", "down", "*")},
		"drained":                          {node: idle("n1", "drained", "")},
		"draining":                         {node: load("draining", ""), busy: true},
		"failing":                          {node: load("failing", ""), busy: true},
		"unknown":                          {node: idle("n1", "unknown", "*")},
		"new in Slurm 30":                  {node: idle("n1", "levitating", "")},
		"planned":                          {node: idle("n1", "planned", ""), usable: true, planned: true, free: 8},
		"mixed, planned":                   {node: load("mixed", "-"), usable: true, planned: true, busy: true, free: 4},
		"completing":                       {node: idle("n1", "completing", ""), usable: true, busy: true},
		"reserved by what is not shown":    {node: idle("n1", "reserved", "")},
		"maintained by what is not shown":  {node: idle("n1", "maint", "")},
		"mixed, maintenance, is not shown": {node: load("mixed", "$"), busy: true},
	} {
		n := Of([]slurm.NodeLoad{c.node}, nil, noon).Nodes[0]
		if n.Usable != c.usable || n.Planned != c.planned || n.Free.Busy != c.busy || n.Free.CPUs != c.free {
			t.Errorf("%s: usable %v, planned %v, %+v is free", name, n.Usable, n.Planned, n.Free)
		}
		if n.Whole.CPUs != 8 || n.Free.Name != "n1" || n.Idle() != (c.free == 8) {
			t.Errorf("%s: %+v", name, n)
		}
		if c.free == 0 && (n.Free.MemoryBytes != 0 || n.Free.GPUs != 0) {
			t.Errorf("%s: %+v is free", name, n.Free)
		}
	}
}

// TestOfUnknownMemory: where Slurm does not count memory, it prevents nothing.
func TestOfUnknownMemory(t *testing.T) {
	for _, memory := range []int64{0, slurm.MiB} {
		node := load("mixed", "")
		node.Memory, node.AllocatedMemory = memory, 0
		n := Of([]slurm.NodeLoad{node}, nil, noon).Nodes[0]
		if n.Free.MemoryBytes != UnknownMemory || n.Whole.MemoryBytes != UnknownMemory || n.Free.CPUs != 4 {
			t.Errorf("with %d bytes: %+v", memory, n)
		}
		node.State = "drained"
		if n := Of([]slurm.NodeLoad{node}, nil, noon).Nodes[0]; n.Free.MemoryBytes != 0 {
			t.Errorf("drained, with %d bytes: %+v", memory, n)
		}
	}
}

func TestOfReservations(t *testing.T) {
	nodes := []slurm.NodeLoad{idle("n1", "reserved", ""), idle("n2", "maint", ""), idle("n3", "idle", ""), idle("n10", "idle", "")}
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	for name, c := range map[string]struct {
		reservation slurm.Reservation
		want        *forecast.Reservation // nil: it does not matter
		usable      int                   // of the first two nodes
	}{
		"now": {
			reservation: slurm.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: "n[1-2]", Flags: []string{"MAINT", "IGNORE_JOBS"}},
			want:        &forecast.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: []string{"n1", "n2"}}, usable: 2,
		},
		"maintenance in the future, nodes in any order": {
			reservation: slurm.Reservation{Name: "r", Start: hour(20), End: hour(30), Nodes: "n[2,1,10],n2", Flags: []string{"MAINT"}},
			want:        &forecast.Reservation{Name: "r", Start: hour(20), End: hour(30), Nodes: []string{"n1", "n10", "n2"}},
		},
		"over": {reservation: slurm.Reservation{Name: "r", Start: hour(-2), End: hour(0), Nodes: "n[1-2]"}},
		"flexible": {
			reservation: slurm.Reservation{Name: "r", Start: hour(1), End: hour(2), Nodes: "n3", Flags: []string{"FLEX", "IGNORE_JOBS"}},
			want:        &forecast.Reservation{Name: "r", Start: hour(1), End: hour(2), Nodes: []string{"n3"}},
		},
		"of some cores": {
			reservation: slurm.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: "n1", NodeCount: 1, Cores: 2},
			want:        &forecast.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: []string{"n1"}}, usable: 1,
		},
		"of licenses":       {reservation: slurm.Reservation{Name: "r", Start: hour(-1), End: hour(1)}},
		"of licenses alone": {reservation: slurm.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: "n[1-3,10]", Flags: []string{"LICENSE_ONLY"}}},
		"without an end": {
			reservation: slurm.Reservation{Name: "r", Start: hour(-1), Nodes: "n1"},
			want:        &forecast.Reservation{Name: "r", Start: hour(-1), End: noon.Add(forever), Nodes: []string{"n1"}}, usable: 1,
		},
		"without any time": {
			reservation: slurm.Reservation{Name: "r", Nodes: "n1"},
			want:        &forecast.Reservation{Name: "r", End: noon.Add(forever), Nodes: []string{"n1"}}, usable: 1,
		},
		"floating": {
			reservation: slurm.Reservation{Name: "r", Start: hour(1), End: hour(2), Nodes: "n1", Flags: []string{"TIME_FLOAT"}},
			want:        &forecast.Reservation{Name: "r", Start: hour(1), End: noon.Add(forever), Nodes: []string{"n1"}},
		},
		"of nodes that cannot be read": {
			reservation: slurm.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: "n[1-"},
			want:        &forecast.Reservation{Name: "r", Start: hour(-1), End: hour(1), Nodes: []string{"n1", "n10", "n2", "n3"}}, usable: 2,
		},
	} {
		got := Of(nodes, []slurm.Reservation{c.reservation}, noon)
		var want []forecast.Reservation
		if c.want != nil {
			want = append(want, *c.want)
		}
		if diff := cmp.Diff(want, got.Reservations); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		usable := 0
		for _, n := range got.Nodes[:2] {
			if n.Usable {
				usable++
			}
		}
		if usable != c.usable || !got.Nodes[2].Usable || !got.Nodes[3].Usable {
			t.Errorf("%s: %+v", name, got.Nodes)
		}
	}
}
