package siteconfigs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func site(t testing.TB, name string) *Site {
	t.Helper()
	sites, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no site %s", name)
	return nil
}

func TestBest(t *testing.T) {
	for _, tc := range []struct {
		name     string
		site     string
		need     Need
		want     string
		explicit bool
	}{
		{"small", "kestrel", Need{CPUs: 4, MemoryMB: 8000, Walltime: time.Hour}, "shared", true},
		{"small, just", "kestrel", Need{CPUs: 26, MemoryMB: 60000}, "shared", true},
		{"small, long", "kestrel", Need{CPUs: 4, MemoryMB: 8000, Walltime: 72 * time.Hour}, "sharedl", true},
		{"one CPU too many", "kestrel", Need{CPUs: 27, MemoryMB: 60000, Walltime: time.Hour}, "short", false},
		{"memory above small", "kestrel", Need{CPUs: 4, MemoryMB: 60001, Walltime: time.Hour}, "short", false},
		{"a node", "kestrel", Need{CPUs: 104, MemoryMB: 200000, Walltime: 4 * time.Hour}, "short", false},
		{"above 4 h", "kestrel", Need{CPUs: 104, Walltime: 4*time.Hour + time.Second}, "standard", false},
		{"above 2 d", "kestrel", Need{CPUs: 104, Walltime: 49 * time.Hour}, "long", false},
		{"memory", "kestrel", Need{CPUs: 1, MemoryMB: 500000, Walltime: time.Hour}, "medmem", false},
		{"more memory", "kestrel", Need{CPUs: 1, MemoryMB: 1500000, Walltime: time.Hour}, "bigmem", false},
		{"more memory, long", "kestrel", Need{CPUs: 1, MemoryMB: 1500000, Walltime: 100 * time.Hour}, "bigmeml", false},
		{"nodes", "kestrel", Need{CPUs: 104, Nodes: 2000, Walltime: time.Hour}, "short", false},
		{"more nodes than a user may have", "kestrel", Need{CPUs: 104, Nodes: 1051, Walltime: 5 * time.Hour}, "", false},
		{"memory on more nodes than there are", "kestrel", Need{CPUs: 1, MemoryMB: 1500000, Nodes: 5}, "", false},
		{"GPU", "kestrel", Need{CPUs: 4, GPUs: 1, Walltime: 30 * time.Minute}, "gpu-h100s", false},
		{"GPUs, long", "kestrel", Need{CPUs: 4, GPUs: 4, Walltime: 72 * time.Hour}, "gpu-h100l", false},
		{"too many GPUs", "kestrel", Need{GPUs: 5}, "", false},
		{"CPUs that only GPU nodes have", "kestrel", Need{CPUs: 128, MemoryMB: 1, Walltime: time.Hour}, "gpu-h100s", false},
		{"named", "kestrel", Need{CPUs: 4, Walltime: time.Hour, Partition: "debug"}, "debug", true},
		{"named, too short", "kestrel", Need{CPUs: 4, Walltime: 2 * time.Hour, Partition: "debug"}, "", false},
		{"named, unknown", "kestrel", Need{Partition: "nowhere"}, "", false},
		{"small", "dane", Need{CPUs: 4, MemoryMB: 8000, Walltime: time.Hour}, "pbatch", true},
		{"above 1 d", "dane", Need{CPUs: 4, Walltime: 25 * time.Hour}, "pserial", true},
		{"above 7 d", "dane", Need{CPUs: 4, Walltime: 8 * 24 * time.Hour}, "", false},
		{"by arrangement", "dane", Need{CPUs: 4, Walltime: 8 * 24 * time.Hour, Partition: "pall"}, "pall", true},
	} {
		t.Run(tc.site+" "+tc.name, func(t *testing.T) {
			choice, refusals := Best(site(t, tc.site), tc.need)
			got := ""
			if choice.Partition != nil {
				got = choice.Partition.Name
			}
			if got != tc.want || choice.Explicit != tc.explicit {
				t.Errorf("got %q (explicit %t), want %q (%t); rejected: %v", got, choice.Explicit, tc.want, tc.explicit, refusals)
			}
		})
	}
}

// TestReasons: there is a reason for each partition that was not chosen.
func TestReasons(t *testing.T) {
	choice, refusals := Best(site(t, "kestrel"), Need{CPUs: 40, MemoryMB: 100000, Walltime: 30 * time.Minute, Nodes: 1})
	if choice.Partition.Name != "short" || choice.Reason != "the smallest of 13 that fit" {
		t.Errorf("%s: %s", choice.Partition.Name, choice.Reason)
	}
	got := map[string]string{}
	for _, r := range refusals {
		got[r.Partition] = r.Reason
	}
	want := map[string]string{
		"standard": "fits, but allows longer jobs than is needed", "long": "fits, but allows longer jobs than is needed",
		"medmem": "fits, but has more memory than is needed", "bigmem": "fits, but has more memory than is needed",
		"bigmeml": "fits, but has more memory than is needed",
		"nvme":    "fits, but is only used by jobs that name it", "shared": "fits, but is only used by jobs that name it", "sharedl": "fits, but is only used by jobs that name it",
		"hbw": "a job has at least 2 nodes there", "hbwl": "a job has at least 2 nodes there",
		"gpu-h100s": "fits, but no GPUs are needed", "gpu-h100": "fits, but no GPUs are needed", "gpu-h100l": "fits, but no GPUs are needed",
		"debug": "fits, but is for tests",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, refusals = Best(site(t, "kestrel"), Need{CPUs: 105, MemoryMB: 2000001, GPUs: 5, Walltime: 3 * time.Hour})
	for _, r := range refusals {
		if r.Fits || !strings.Contains(r.Reason, "needed") && !strings.Contains(r.Reason, "at least") {
			t.Errorf("%s: %s", r.Partition, r.Reason)
		}
	}
}

// TestBestOfUnknownSite has what an unknown cluster may report.
func TestBestOfUnknownSite(t *testing.T) {
	s := &Site{Name: "slurm", Partitions: []Partition{
		{Name: "standby", CPUsPerNode: 4, MemoryMB: 1000, Shared: true, Preemptible: true},
		{Name: "debug", CPUsPerNode: 4, MemoryMB: 1000, Shared: true, Default: true},
		{Name: "debug2", CPUsPerNode: 4, MemoryMB: 1000, Shared: true},
		{Name: "broken", CPUsPerNode: 4, MemoryMB: 900, Shared: true, Closed: "its state is DOWN"},
		{Name: "private", CPUsPerNode: 4, MemoryMB: 900, Shared: true, AllowAccounts: []string{"rich"}},
		{Name: "few", CPUsPerNode: 4, MemoryMB: 900, Shared: true, DenyAccounts: []string{"poor"}},
	}}
	for account, want := range map[string]string{"poor": "debug", "middle": "few", "rich": "private"} {
		choice, refusals := Best(s, Need{CPUs: 2, Account: account})
		if choice.Partition == nil || choice.Partition.Name != want || !choice.Explicit {
			t.Errorf("%s: got %v (%v), want %s", account, choice, refusals, want)
		}
	}
}

// TestMixedNodes: a need is compared with each kind of node.
func TestMixedNodes(t *testing.T) {
	s := &Site{Name: "mixed", Partitions: []Partition{{
		Name: "all", CPUsPerNode: 8, MemoryMB: 1000, NodeTypes: []NodeType{
			{Count: 2, CPUs: 64, MemoryMB: 9000}, {Count: 4, CPUs: 8, MemoryMB: 1000}, {Count: 1, CPUs: 16, MemoryMB: 3000, GPUs: 2},
		},
	}}}
	for _, tc := range []struct {
		need   Need
		memory int64  // of the chosen node
		why    string // no node is chosen
	}{
		{Need{CPUs: 8, MemoryMB: 500}, 1000, ""},
		{Need{CPUs: 9, MemoryMB: 500}, 9000, ""},
		{Need{CPUs: 8, MemoryMB: 500, Nodes: 7}, 1000, ""},
		{Need{CPUs: 9, MemoryMB: 500, Nodes: 3}, 9000, ""},
		{Need{CPUs: 9, MemoryMB: 500, Nodes: 4}, 0, "4 nodes are needed, 3 of its nodes are large enough"},
		{Need{CPUs: 8, GPUs: 1}, 3000, ""},
		{Need{CPUs: 32, GPUs: 1}, 0, "32 CPUs are needed, a node has 16"},
		{Need{GPUs: 3}, 0, "3 GPUs are needed, a node has 2"},
	} {
		choice, refusals := Best(s, tc.need)
		switch {
		case tc.why == "" && (choice.Partition == nil || choice.Node.MemoryMB != tc.memory):
			t.Errorf("%+v: got %+v, %v", tc.need, choice, refusals)
		case tc.why != "" && (choice.Partition != nil || refusals[0].Reason != tc.why):
			t.Errorf("%+v: got %+v, %v", tc.need, choice, refusals)
		}
	}
}

// TestMemoryPerCPU: where Slurm limits memory per CPU, a node has less for jobs.
func TestMemoryPerCPU(t *testing.T) {
	s := &Site{Name: "bounded", Partitions: []Partition{{Name: "all", CPUsPerNode: 8, MemoryMB: 16000, MaxMemPerCPUMB: 1000}}}
	choice, _ := Best(s, Need{CPUs: 1, MemoryMB: 8000})
	if choice.Partition == nil || choice.Node.MemoryMB != 8000 {
		t.Errorf("got %+v", choice)
	}
	_, refusals := Best(s, Need{CPUs: 1, MemoryMB: 8001})
	if refusals[0].Reason != "8001 MiB are needed, a node has 8000" {
		t.Errorf("got %v", refusals)
	}
}

// TestBestFits: a choice meets the need, and every other partition has one
// reason.
func TestBestFits(t *testing.T) {
	sites, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(sites).Draw(t, "site")
		need := Need{
			CPUs: rapid.Int64Range(0, 130).Draw(t, "cpus"), MemoryMB: rapid.Int64Range(0, 2100000).Draw(t, "memory"),
			GPUs: rapid.Int64Range(0, 5).Draw(t, "gpus"), Nodes: rapid.Int64Range(0, 300).Draw(t, "nodes"),
			Walltime: time.Duration(rapid.Int64Range(0, 300).Draw(t, "hours")) * time.Hour,
		}
		choice, refusals := Best(s, need)
		n := len(refusals)
		if p := choice.Partition; p != nil {
			n++
			if p.CPUsPerNode < need.CPUs || p.MemoryMB < need.MemoryMB || p.GPUsPerNode < need.GPUs || p.limit() < need.Walltime || p.MinNodes > max(1, need.Nodes) {
				t.Fatalf("%s does not fit", p.Name)
			}
		}
		if n != len(s.Partitions) {
			t.Fatalf("%d of %d partitions are accounted for", n, len(s.Partitions))
		}
		for _, r := range refusals {
			if r.Reason == "" || r.Fits && choice.Partition == nil {
				t.Fatalf("%+v", r)
			}
		}
	})
}

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{48 * time.Hour: "2d", 4 * time.Hour: "4h", 90 * time.Minute: "1h30m", 25 * time.Hour: "25h", 61 * time.Second: "1m1s", 10 * time.Minute: "10m"} {
		if got := shortTime(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
