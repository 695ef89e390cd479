package slurm

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// impossible returns what no node can have; "" if there is nothing.
func impossible(n *NodeLoad) string {
	switch {
	case n.Name == "" || n.State == "":
		return "no name or state"
	case n.CPUs < 0 || n.AllocatedCPUs < 0 || n.IdleCPUs < 0 || n.FreeCPUs() < 0:
		return "negative CPUs"
	case n.AllocatedCPUs+n.IdleCPUs > n.CPUs || n.FreeCPUs() > n.CPUs:
		return "more CPUs than there are"
	case n.Memory < 0 || n.AllocatedMemory < 0 || n.FreeMemory() < 0 || n.FreeMemory() > n.Memory:
		return "memory"
	case n.GPUs < 0 || n.AllocatedGPUs < 0 || n.FreeGPUs() < 0 || n.FreeGPUs() > n.GPUs:
		return "GPUs"
	}
	return ""
}

// loadAnswer is an answer of sinfo with rows, whose fields are separated by blanks.
func loadAnswer(rows ...string) []byte {
	text := strings.Repeat("X"+fieldSeparator, len(loadFields)-1) + "X\n"
	for _, row := range rows {
		text += strings.ReplaceAll(row, " ", fieldSeparator) + "\n"
	}
	return []byte(text)
}

func TestNodeLoads(t *testing.T) {
	nodes, skipped, err := parseNodeLoads(loadAnswer(
		"n2 b up mixed- 2/6/0/8 4000 1000 gpu:a100:4(S:0-1),gpu:v100:1,nvme:2 gpu:a100:3(IDX:0-2),gpu:v100:0(IDX:N/A),nvme:1 fast,ib",
		"n1 b up idle~ 0/8/0/8 4000 0 (null) gpu:0 (null)",
		"n2 a up mixed- 2/6/0/8 4000 1000 gpu:a100:4(S:0-1),gpu:v100:1,nvme:2 gpu:a100:3(IDX:0-2),gpu:v100:0(IDX:N/A),nvme:1 fast,ib",
		"n1 a down idle~ 0/8/0/8 4000 0 (null) gpu:0 (null)",
		"n1 b up idle~ 0/8/0/8 4000 0 (null) gpu:0 (null)",
	))
	want := []NodeLoad{
		{
			Name: "n2", Partitions: []string{"a", "b"}, State: "mixed", Flags: "-", CPUs: 8, AllocatedCPUs: 2, IdleCPUs: 6,
			Memory: 4000 * MiB, AllocatedMemory: 1000 * MiB, GPUs: 5, AllocatedGPUs: 3, Features: []string{"fast", "ib"},
		},
		{Name: "n1", Partitions: []string{"b"}, State: "idle", Flags: "~", CPUs: 8, IdleCPUs: 8, Memory: 4000 * MiB},
	}
	if diff := cmp.Diff(want, nodes); diff != "" || skipped != 0 || err != nil {
		t.Errorf("%d skipped, %v (-want +got):\n%s", skipped, err, diff)
	}
}

// TestNodeLoadStates: on which nodes jobs may run, and what is free there.
func TestNodeLoadStates(t *testing.T) {
	for state, want := range map[string]struct{ usable, planned, reserved, maintenance bool }{
		"idle": {usable: true}, "mixed": {usable: true}, "allocated": {usable: true}, "completing": {usable: true}, "allocated+": {usable: true},
		"idle~": {usable: true}, "idle#": {usable: true}, "powered_down": {usable: true}, "powering_up": {usable: true},
		"planned": {usable: true, planned: true}, "mixed-": {usable: true, planned: true}, "IDLE": {usable: true},
		"reserved": {usable: true, reserved: true}, "maint": {usable: true, maintenance: true}, "mixed$": {usable: true, maintenance: true},
		"maint*": {maintenance: true}, "down$": {maintenance: true},
		"idle*": {}, "idle%": {}, "idle!": {}, "idle@": {}, "mixed^": {}, "powering_down": {}, "rebooting": {},
		"down": {}, "down*": {}, "drained": {}, "draining": {}, "draining*": {}, "fail": {}, "failing": {}, "error": {}, "unknown": {},
		"unknown*": {}, "future": {}, "inval": {}, "blocked": {}, "something_new": {},
	} {
		nodes, skipped, err := parseNodeLoads(loadAnswer("n1 a up " + state + " 1/3/0/4 4000 1000 gpu:2 gpu:1 (null)"))
		if err != nil || skipped != 0 || len(nodes) != 1 {
			t.Errorf("%s: %v, %d skipped, %v", state, nodes, skipped, err)
			continue
		}
		n := &nodes[0]
		if n.Usable() != want.usable || n.Planned() != want.planned || n.Reserved() != want.reserved || n.Maintenance() != want.maintenance {
			t.Errorf("%s: usable %v, planned %v, reserved %v, maintenance %v", state, n.Usable(), n.Planned(), n.Reserved(), n.Maintenance())
		}
		cpus, memory, gpus := 0, int64(0), int64(0)
		if want.usable {
			cpus, memory, gpus = 3, 3000*MiB, 1
		}
		if n.FreeCPUs() != cpus || n.FreeMemory() != memory || n.FreeGPUs() != gpus {
			t.Errorf("%s: %d CPUs, %d bytes, %d GPUs are free", state, n.FreeCPUs(), n.FreeMemory(), n.FreeGPUs())
		}
	}
}

// TestNodeLoadsAbsurd: what is absent or absurd costs at most the node.
func TestNodeLoadsAbsurd(t *testing.T) {
	const good = "n9 a up idle 0/4/0/4 4000 0 (null) gpu:0 (null)"
	for row, skipped := range map[string]int{
		"n1 a up idle N/A 4000 0 (null) gpu:0 (null)":                     1,
		"n1 a up idle 0/0/0/0 4000 0 (null) gpu:0 (null)":                 1,
		"n1 a up idle 0/4/4 4000 0 (null) gpu:0 (null)":                   1,
		"n1 a up idle -1/5/0/4 4000 0 (null) gpu:0 (null)":                1,
		"n1 a up idle 0/4/0/99999999999 4000 0 (null) gpu:0 (null)":       1,
		"n1 a up idle 0/4/0/4 99999999999999999999 0 (null) gpu:0 (null)": 1,
		"n1 a up idle 0/4/0/4 9223372036854775807 0 (null) gpu:0 (null)":  1,
		"n1 a up idle 0/4/0/4 4000 -5 (null) gpu:0 (null)":                1,
		"n1 a up idle 0/4/0/4 4000 0 gpu:99999999999 gpu:0 (null)":        1,
		"n1 a up idle 0/4/0/4 4000 0 :2 gpu:0 (null)":                     1,
		"n1 a up  0/4/0/4 4000 0 (null) gpu:0 (null)":                     1,
		" a up idle 0/4/0/4 4000 0 (null) gpu:0 (null)":                   1,
		"n1 a up idle 0/4/0/4 4000 0 (null) gpu:0 (null) more":            1,
		"n1 a up idle 0/4/0/4 N/A N/A N/A N/A N/A":                        0,
		"n1  n/a idle 9/9/9/4 4000 9999999 gpu:2 gpu:7 (null)":            0,
		"n1 a up allocated 4/0/0/4 4000 0 gpu:2 N/A (null)":               0,
	} {
		nodes, got, err := parseNodeLoads(loadAnswer(good, row))
		if err != nil || got != skipped || len(nodes) != 2-skipped {
			t.Errorf("%q: %v, %d skipped, %v", row, nodes, got, err)
		}
		for i := range nodes {
			if problem := impossible(&nodes[i]); problem != "" {
				t.Errorf("%q: %s: %+v", row, problem, nodes[i])
			}
		}
	}
	if nodes, skipped, err := parseNodeLoads(loadAnswer("n1 a up idle N/A 4000 0 (null) gpu:0 (null)")); ClassOf(err) != Unavailable {
		t.Errorf("nothing can be read: %v, %d, %v", nodes, skipped, err)
	}
	if nodes, skipped, err := parseNodeLoads(loadAnswer()); len(nodes) != 0 || skipped != 0 || err != nil {
		t.Errorf("no nodes: %v, %d, %v", nodes, skipped, err)
	}
	nodes, _, _ := parseNodeLoads(loadAnswer("n1 a up allocated 4/0/0/4 4000 0 gpu:2 N/A (null)"))
	if len(nodes) != 1 || nodes[0].FreeGPUs() != 0 {
		t.Errorf("GPUs of a busy node whose use is not known: %+v", nodes)
	}
}

// TestNodeLoadsCall: one call, and a failure is no information.
func TestNodeLoadsCall(t *testing.T) {
	now := time.Unix(1_795_000_000, 0)
	s := &stub{out: Output{Stdout: loadAnswer("n1 a up idle 0/4/0/4 4000 0 (null) gpu:0 (null)", "n2 a up idle ? 4000 0 (null) gpu:0 (null)")}}
	loads, err := New(Options{Executor: s, Now: func() time.Time { return now }}).NodeLoads(t.Context())
	if err != nil || len(loads.Nodes) != 1 || loads.Skipped != 1 || !loads.At.Equal(now) || len(s.commands) != 1 {
		t.Errorf("%+v, %v, %d calls", loads, err, len(s.commands))
	}
	for name, s := range map[string]*stub{
		"empty":     {},
		"cut":       {out: Output{Stdout: loadAnswer("n1 a up idle 0/4/0/4")}},
		"other":     {out: Output{Stdout: []byte("NODELIST\nn1\n")}},
		"timed out": {err: context.DeadlineExceeded},
		"down":      {out: Output{Stderr: []byte("slurm_load_partitions: Unable to contact slurm controller (connect failure)"), ExitCode: 1}},
	} {
		if loads, err := New(Options{Executor: s}).NodeLoads(t.Context()); ClassOf(err) != Unavailable || loads.Nodes != nil {
			t.Errorf("%s: %+v, %v", name, loads, err)
		}
	}
}

func TestWithoutReservedLoad(t *testing.T) {
	nodes := []NodeLoad{
		{Name: "n1", State: "mixed", CPUs: 8, AllocatedCPUs: 2, IdleCPUs: 6, Memory: 4000 * MiB, AllocatedMemory: 3900 * MiB},
		{Name: "n2", State: "idle", CPUs: 2, IdleCPUs: 2, Memory: 100 * MiB},
		{Name: "n3", State: "idle", CPUs: 2, IdleCPUs: 2},
		{Name: "n4", State: "idle", CPUs: 2, IdleCPUs: 2, Memory: 100 * MiB},
	}
	got := WithoutReservedLoad(nodes, []NodeRecord{
		{Name: "n1", ReservedCPUs: 1, ReservedMemory: 200 * MiB}, {Name: "n2", ReservedCPUs: 3, ReservedMemory: GiB},
		{Name: "n3", ReservedMemory: GiB}, {Name: "n4"}, {Name: "n5", ReservedCPUs: 1},
	})
	want := []NodeLoad{
		{Name: "n1", State: "mixed", CPUs: 7, AllocatedCPUs: 2, IdleCPUs: 5, Memory: 3800 * MiB, AllocatedMemory: 3900 * MiB},
		{Name: "n2", State: "idle", Memory: 1},
		{Name: "n3", State: "idle", CPUs: 2, IdleCPUs: 2},
		nodes[3],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if nodes[0].CPUs != 8 || got[0].FreeCPUs() != 5 || got[0].FreeMemory() != 0 {
		t.Errorf("%+v of %+v", got[0], nodes[0])
	}
}
