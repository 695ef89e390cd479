package siteconfigs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/internal/golden"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/slurm/slurmtest"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// recorded answers as a cluster with Slurm 22.05.8 did.
type recorded struct {
	calls   int
	without []string                 // programs that fail
	nodes   func(text string) string // changes the answer of sinfo
}

func (r *recorded) Run(_ context.Context, c slurm.Command) (slurm.Output, error) {
	r.calls++
	if slices.Contains(r.without, c.Program) {
		return slurm.Output{ExitCode: 1, Stderr: []byte("slurm_load: Unable to contact slurm controller (connect failure)")}, nil
	}
	args := strings.Join(c.Args, " ")
	file := ""
	for part, name := range map[string]string{"show config": "config", "show partition": "partitions", "--exact": "nodes", "show user": "user", "show associations": "associations", "show qos": "qos"} {
		if strings.Contains(args, part) {
			file = name
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata/torctest", file+".txt"))
	if file == "nodes" {
		if r.nodes != nil {
			text = []byte(r.nodes(string(text)))
		}
		text = []byte(strings.ReplaceAll(string(text), "|", "\x1f"))
	}
	return slurm.Output{Stdout: text}, err
}

func TestDetect(t *testing.T) {
	got, err := Detect(t.Context(), slurm.New(slurm.Options{Executor: &recorded{}}), "alice")
	if err != nil {
		t.Fatal(err)
	}
	text, err := Format(got)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/torctest/site.golden", string(text))
	again, err := Parse("site.golden", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Errorf("not as written:\n%s", diff)
	}
}

// TestDetectWithoutAccounting: only the limits of the user are missing.
func TestDetectWithoutAccounting(t *testing.T) {
	s, err := Detect(t.Context(), slurm.New(slurm.Options{Executor: &recorded{without: []string{slurm.Sacctmgr}}}), "alice")
	if err != nil || len(s.Partitions) != 3 || len(s.Accounts) != 0 || s.DefaultAccount != "" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestFromFacts(t *testing.T) {
	group := func(partition, state string, count, cpus int, gib int64) slurm.NodeGroup {
		return slurm.NodeGroup{Partition: partition, State: state, Count: count, CPUs: cpus, Memory: gib * slurm.GiB}
	}
	s := FromFacts(Facts{
		Config: slurm.Config{SelectType: "select/linear", PreemptMode: []string{"REQUEUE"}, PreemptType: "preempt/partition_prio"},
		Partitions: []slurm.Partition{
			{Name: "long", State: "UP", MaxTime: slurm.Unlimited, PriorityTier: 1, PreemptMode: "REQUEUE", Nodes: "a[1-4]", QOS: "long"},
			{Name: "short", State: "UP", MaxTime: 4 * time.Hour, PriorityTier: 5, PreemptMode: "OFF", Nodes: "a4,b1", OverSubscribe: "YES:4", MaxCPUsPerNode: 6},
			{Name: "low", State: "UP", PriorityTier: 1, PreemptMode: "REQUEUE", Nodes: "c[1-2]", OverSubscribe: "NO"},
			{Name: "down", State: "INACTIVE"},
			{Name: "empty", State: "UP"},
		},
		Nodes: []slurm.NodeGroup{
			group("long", "idle", 1, 8, 16), group("long", "allocated", 2, 8, 16), group("long", "mixed", 1, 16, 64),
			group("short", "idle", 2, 8, 16), group("low", "drained", 2, 8, 16), group("down", "idle", 1, 8, 16),
		},
		QOS: []slurm.QOS{{Name: "long", MaxWall: 72 * time.Hour}},
	})
	want := []Partition{
		{Name: "long", CPUsPerNode: 8, MemoryMB: 16384, MaxWalltime: 72 * time.Hour, Preemptible: true, NodeList: "a[1-4]",
			NodeTypes: []NodeType{{Count: 3, CPUs: 8, MemoryMB: 16384}, {Count: 1, CPUs: 16, MemoryMB: 65536}}},
		{Name: "short", CPUsPerNode: 6, MemoryMB: 16384, MaxWalltime: 4 * time.Hour, Shared: true, NodeList: "a4,b1"},
		{Name: "low", CPUsPerNode: 8, MemoryMB: 16384, Closed: "none of its nodes is up", NodeList: "c[1-2]"},
		{Name: "down", CPUsPerNode: 8, MemoryMB: 16384, Closed: "its state is INACTIVE"},
	}
	if diff := cmp.Diff(want, s.Partitions); diff != "" || s.Name != "slurm" {
		t.Errorf("%s: -want +got:\n%s", s.Name, diff)
	}
}

// TestAssociationsOfOtherClusters: where one accounting database serves several clusters,
// what the user may do on the others does not matter here.
func TestAssociationsOfOtherClusters(t *testing.T) {
	s := FromFacts(Facts{
		Config: slurm.Config{Cluster: "Here"},
		Associations: []slurm.Association{
			{Cluster: "there", Account: "proj", MaxSubmit: 2}, {Cluster: "here", Account: "proj", MaxSubmit: 7},
			{Cluster: "there", Account: "other"},
		},
	})
	if diff := cmp.Diff([]Account{{Name: "proj", MaxSubmitJobs: 7}}, s.Accounts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestRefresh(t *testing.T) {
	live := &Site{Name: "cluster1", DefaultAccount: "proj", KillWait: 30 * time.Second, Accounts: []Account{{Name: "proj", MaxSubmitJobs: 5}}, Partitions: []Partition{
		{Name: "short", CPUsPerNode: 1, MemoryMB: 1, TotalNodes: 2000, NodeList: "x[1-2000]", Closed: "its state is DOWN", AllowAccounts: []string{"proj"}},
	}}
	got := Refresh(site(t, "kestrel"), live)
	short, standard := got.Partition("short"), got.Partition("standard")
	if got.Name != "kestrel" || got.Account("").MaxSubmitJobs != 5 || got.KillWait != 30*time.Second ||
		short.CPUsPerNode != 104 || short.TotalNodes != 2000 || short.NodeList != "x[1-2000]" || short.Closed != "its state is DOWN" || short.AllowAccounts[0] != "proj" ||
		standard.Closed != "Slurm has no partition with this name" {
		t.Errorf("%+v", got)
	}
	live.Partitions[0].Name = "other"
	if got := Refresh(site(t, "kestrel"), live); got.DefaultAccount != "" || got.Partition("short").Closed != "" {
		t.Errorf("data of another cluster: %+v", got)
	}
}

// TestFinder checks when Slurm is called.
func TestFinder(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cluster := &recorded{}
	env := map[string]string{}
	known, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	f := &Finder{
		Known: known, Dir: dir, User: "alice", Host: Host{Getenv: func(name string) string { return env[name] }, Hostname: "login1"},
		Client: slurm.New(slurm.Options{Executor: cluster}), CacheDir: filepath.Join(dir, "cache"), Now: func() time.Time { return now },
	}
	find := func(want string, calls int) *Site {
		t.Helper()
		before := cluster.calls
		s, err := f.Find(t.Context())
		if err != nil || s.Name != want || cluster.calls-before != calls {
			t.Fatalf("got %+v, %v after %d calls, want %s after %d", s, err, cluster.calls-before, want, calls)
		}
		return s
	}
	said := find("torctest", 7)
	if diff := cmp.Diff(said, find("torctest", 0)); diff != "" {
		t.Errorf("the cached facts differ from the answer:\n%s", diff)
	}
	f.Cluster = "beta" // whose login node has the same name
	find("torctest", 7)
	f.Cluster = ""
	find("torctest", 0)
	now = now.Add(2 * time.Hour)
	if s := find("torctest", 1); s.Partition("debug").Closed != "" { // sinfo reports the same
		t.Errorf("debug is closed: %s", s.Partition("debug").Closed)
	}
	find("torctest", 0)
	now = now.Add(2 * time.Hour)
	cluster.nodes = func(text string) string { return strings.ReplaceAll(text, "debug|up|", "debug|drain|") }
	if s := find("torctest", 1); s.Partition("debug").Closed != "its state is DRAIN" {
		t.Errorf("debug is not closed: %+v", s.Partition("debug"))
	}
	now = now.Add(2 * time.Hour)
	cluster.nodes = func(text string) string { return strings.ReplaceAll(text, "|4000|", "|8000|") }
	find("torctest", 8) // memory was added to the nodes
	now = now.Add(2 * time.Hour)
	find("torctest", 1)
	now = now.Add(12 * time.Hour)
	find("torctest", 7) // a limit of the user may have changed
	f.ForceRefresh = true
	find("torctest", 7)
	f.ForceRefresh = false
	cluster.nodes = nil
	find("torctest", 0)
	if facts, err := f.Facts(t.Context()); err != nil || facts.Config.Cluster != "torctest" {
		t.Errorf("%+v, %v", facts, err)
	}

	now = now.Add(2 * time.Hour)
	cluster.without = []string{slurm.Sinfo}
	find("torctest", 1) // its last answer is better than none
	now = now.Add(12 * time.Hour)
	cluster.without = []string{slurm.Scontrol}
	find("torctest", 1)
	cluster.without = nil
	now = now.Add(-24 * time.Hour) // the clock was wrong
	find("torctest", 7)

	if err := os.WriteFile(filepath.Join(dir, "torctest.yaml"), []byte("default_account: mine\npartitions: [{name: debug, only_by_name: true}]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if f.Known, err = Known(dir); err != nil { // the file does not describe a whole site
		t.Fatal(err)
	}
	if s := find("torctest", 0); s.DefaultAccount != "mine" || !s.Partition("debug").OnlyByName || s.Partition("debug").CPUsPerNode != 4 {
		t.Errorf("without the user's file: %+v", s)
	}
	before := cluster.calls
	if s := f.WithoutAsking(); s == nil || s.Name != "torctest" || s.DefaultAccount != "mine" {
		t.Errorf("by files and cache: %+v", s)
	}
	env["NLR_CLUSTER"] = "kestrel"
	if s := f.WithoutAsking(); s == nil || s.Name != "kestrel" || cluster.calls != before {
		t.Errorf("by files: %+v after %d calls", s, cluster.calls-before)
	}
	find("kestrel", 0)
	f.Client = nil
	find("kestrel", 0)
	env["NLR_CLUSTER"] = ""
	if _, err := f.Find(t.Context()); workflow.CodeOf(err) != workflow.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

func TestFinderStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &Finder{Host: Host{Getenv: func(string) string { return "" }}, Client: slurm.New(slurm.Options{Executor: &recorded{}}), Now: time.Now}
	if _, err := f.Find(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDetectFake: the fake cluster offers the same as the recorded one.
func TestDetectFake(t *testing.T) {
	want, err := Detect(t.Context(), slurm.New(slurm.Options{Executor: &recorded{}}), "alice")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Detect(t.Context(), slurm.New(slurm.Options{Executor: slurmtest.New(slurmtest.Options{})}), slurmtest.TestUser)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Partitions {
		p := &got.Partitions[i]
		if hosts, err := slurm.ExpandNodes(want.Partitions[i].NodeList); err != nil || strings.Join(hosts, ",") != p.NodeList {
			t.Errorf("nodes of %s: %s, %v", p.Name, p.NodeList, err)
		}
		p.NodeList = want.Partitions[i].NodeList // the fake writes out each name
	}
	if diff := cmp.Diff(want.Partitions, got.Partitions); diff != "" || got.Account("limited") != want.Account("limited") {
		t.Errorf("%+v: -recorded +fake:\n%s", got.Accounts, diff)
	}
}
