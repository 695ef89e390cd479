package spawn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/spawn"
)

func spawnFacts(jobs ...spawn.SpawnJob) spawn.Facts {
	return spawn.Facts{
		Request: spawn.SpawnRequest{Jobs: jobs}, CallerID: 7, CallerName: "opt", CallerStatus: Running,
		Existing: map[string]int64{"opt": 7, "prep": 3}, Iteration: 4,
		Requirements: map[string]int64{DefaultRequirements: 1, "big": 2}, Env: map[string]string{"A": "1"},
	}
}

func TestPlanSpawn(t *testing.T) {
	f := spawnFacts(
		spawn.SpawnJob{Name: "g5_a", Command: "./a", ResourceRequirements: "big", Priority: 2, Labels: []string{"y", "x"}},
		spawn.SpawnJob{Name: "g5_b", Command: "./b", CancelOnBlockingJobFailure: new(false), DependsOn: []string{"g5_a", "prep", "opt", "prep"}},
	)
	f.Request.State = json.RawMessage(`{"best":1.5}`)
	got, err := spawn.Decide(f)
	if err != nil {
		t.Fatal(err)
	}
	want := spawn.Plan{
		Iteration: 5,
		Jobs: []spawn.PlannedJob{
			{Name: "g5_a", Command: "./a", RequirementsID: 2, Priority: 2, Labels: []string{"x", "y"}, DependsOn: []int64{7}},
			{Name: "g5_b", Command: "./b", RunIf: RunIfAlways, RequirementsID: 1, DependsOn: []int64{7, 3}, DependsOnSiblings: []int{0}},
		},
		Env:    map[string]string{"A": "1", spawn.EnvLineage: "opt"},
		Record: &spawn.LineageState{Name: "__torc_lineage__opt__g000005", Data: json.RawMessage(`{"generation":5,"spawn_count":2,"state":{"best":1.5}}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A job may call before its runner's report that it has started has arrived.
func TestPlanSpawnByAClaimedJob(t *testing.T) {
	f := spawnFacts(spawn.SpawnJob{Name: "g5", Command: "./a"})
	f.CallerStatus = Pending
	got, err := spawn.Decide(f)
	if err != nil || len(got.Jobs) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestPlanSpawnAgain(t *testing.T) {
	f := spawnFacts(spawn.SpawnJob{Name: "prep"}, spawn.SpawnJob{Name: "opt"})
	got, err := spawn.Decide(f)
	if diff := cmp.Diff(spawn.Plan{Replay: true, IDs: []int64{3, 7}, Iteration: 4}, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

func TestPlanSpawnEnd(t *testing.T) {
	f := spawnFacts()
	got, err := spawn.Decide(f)
	if diff := cmp.Diff(spawn.Plan{Iteration: 4}, got); diff != "" || err != nil {
		t.Errorf("nothing to do: %v, (-want +got):\n%s", err, diff)
	}
	f.Request.Lineage, f.Request.State = "mine", json.RawMessage(`7`)
	got, err = spawn.Decide(f)
	want := spawn.Plan{Iteration: 4, Record: &spawn.LineageState{Name: "__torc_lineage__mine__final", Final: true,
		Data: json.RawMessage(`{"generation":4,"spawn_count":0,"final":true,"state":7}`)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the end: %v, (-want +got):\n%s", err, diff)
	}
}

// Each request also has what would be refused later: the order is torc's.
func TestPlanSpawnRefusals(t *testing.T) {
	tests := []struct {
		name   string
		change func(*spawn.Facts)
		want   string
	}{
		{"duplicate", func(f *spawn.Facts) { f.Request.Jobs = append(f.Request.Jobs, spawn.SpawnJob{Name: "new"}) }, `duplicate job name "new"`},
		{"priority", func(f *spawn.Facts) { f.Request.Jobs[0].Priority = -1 }, "priority -1 is negative"},
		{"label", func(f *spawn.Facts) { f.Request.Jobs[0].Labels = []string{"a,b"} }, "invalid label"},
		{"status", func(f *spawn.Facts) { f.CallerStatus = Completed }, "must be Running"},
		{"replay", func(f *spawn.Facts) {
			f.Existing["new"] = 9
			f.Request.Jobs = append(f.Request.Jobs, spawn.SpawnJob{Name: "other"})
		}, "Inconsistent replay: 1 of 2"},
		{"cap", func(f *spawn.Facts) { f.Iteration = 1000 }, "cap of 1000"},
		{"own cap", func(f *spawn.Facts) { f.MaxIteration = 4 }, "cap of 4"},
		{"requirements", func(*spawn.Facts) {}, `unknown resource requirements "huge"`},
		{"cycle", func(f *spawn.Facts) {
			f.Request.Jobs = []spawn.SpawnJob{{Name: "a", DependsOn: []string{"b"}}, {Name: "b", DependsOn: []string{"a"}}}
		}, "cycle among the spawned jobs: a -> b -> a"},
		{"dependency", func(f *spawn.Facts) { f.Request.Jobs[0].ResourceRequirements = "" }, `depends on unknown job "nowhere"`},
		{"state", func(f *spawn.Facts) {
			f.Request.Jobs, f.Request.State = []spawn.SpawnJob{{Name: "new"}}, json.RawMessage("{")
		}, "not JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := spawnFacts(spawn.SpawnJob{Name: "new", ResourceRequirements: "huge", DependsOn: []string{"nowhere"}})
			tt.change(&f)
			_, err := spawn.Decide(f)
			if CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestLineageIteration(t *testing.T) {
	for _, n := range []int64{0, 1, 999_999, 1_000_000} {
		if got, ok := spawn.LineageIteration("opt", spawn.LineageRecord("opt", n)); !ok || got != n {
			t.Errorf("%s: %d, %v", spawn.LineageRecord("opt", n), got, ok)
		}
	}
	for _, name := range []string{spawn.LineageFinalRecord("opt"), "__torc_lineage__opt__g", "__torc_lineage__opt__g-1",
		"__torc_lineage__optimum__g000001", "__torc_lineage__opt__g" + strings.Repeat("9", 30)} {
		if n, ok := spawn.LineageIteration("opt", name); ok {
			t.Errorf("%s is iteration %d", name, n)
		}
	}
}

// A name that several jobs or requirements have is refused where it is used, and only there.
func TestPlanSpawnOfAmbiguousNames(t *testing.T) {
	for _, tc := range []struct {
		name string
		job  spawn.SpawnJob
		want string
	}{
		{"dependency", spawn.SpawnJob{Name: "new", DependsOn: []string{"prep"}}, `the name "prep" is ambiguous: 2 jobs of the workflow have it`},
		{"repetition", spawn.SpawnJob{Name: "prep"}, `the name "prep" is ambiguous: 2 jobs of the workflow have it`},
		{"requirements", spawn.SpawnJob{Name: "new", ResourceRequirements: "big"}, `the name "big" is ambiguous: 3 resource requirements of the workflow have it`},
		{"not used", spawn.SpawnJob{Name: "new"}, ""},
	} {
		f := spawnFacts(tc.job)
		f.SameName.Jobs, f.SameName.Requirements = map[string]int64{"prep": 2}, map[string]int64{"big": 3}
		_, err := spawn.Decide(f)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (CodeOf(err) != CodeInvalid || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}
