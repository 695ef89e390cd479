package stage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// compensated lists the jobs of the compensation as "name: what is before it".
func compensated(d *Definition) []string {
	var lines []string
	stage := stage.CompensationOf(d)
	for i := range d.Jobs {
		j := &d.Jobs[i]
		if stage == 0 || j.Stage != stage {
			continue
		}
		line := j.Name + ":"
		for _, dep := range j.DependsOn {
			line += " " + d.Jobs[dep].Name
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAddCompensation(t *testing.T) {
	cleanup := []StageDefinition{{Kind: StageCompensation, Name: CompensationStage}}
	for _, tc := range []struct {
		name  string
		d     Definition
		undos map[int32]string
		want  []string
	}{
		{"nothing", Definition{Jobs: []JobDefinition{{Name: "a"}}}, nil, nil},
		{"undos alone", Definition{Jobs: []JobDefinition{{Name: "a"}, {Name: "b", DependsOn: []int32{0}}, {Name: "c", DependsOn: []int32{1}}}},
			map[int32]string{0: "rm a", 2: "rm c"}, []string{"undo/a: undo/c", "undo/c:"}},
		{"cleanup alone", Definition{Stages: cleanup, Jobs: []JobDefinition{{Name: "a"}, {Name: "tidy", Stage: 1}, {Name: "tell", Stage: 1, DependsOn: []int32{1}}}},
			nil, []string{"tidy:", "tell: tidy"}},
		{"cleanup behind the last undos", Definition{Stages: cleanup, Jobs: []JobDefinition{{Name: "a"}, {Name: "b", DependsOn: []int32{0}}, {Name: "c"}, {Name: "tidy", Stage: 1}, {Name: "tell", Stage: 1, DependsOn: []int32{3}}}},
			map[int32]string{0: "rm a", 1: "rm b", 2: "rm c"}, []string{"tidy: undo/a undo/c", "tell: tidy", "undo/a: undo/b", "undo/b:", "undo/c:"}},
		{"a sub-workflow is undone in the place of its job",
			Definition{Stages: []StageDefinition{{Kind: StageChild, Name: "sub"}}, Jobs: []JobDefinition{
				{Name: "before"}, {Name: "sub", Child: 1, DependsOn: []int32{0}}, {Name: "sub/a", Stage: 1}, {Name: "sub/b", Stage: 1, DependsOn: []int32{2}}, {Name: "after", DependsOn: []int32{1}}}},
			map[int32]string{0: "x", 2: "x", 3: "x", 4: "x"},
			[]string{"undo/before: undo/sub/a undo/sub/b undo/after", "undo/sub/a: undo/sub/b undo/after", "undo/sub/b: undo/after", "undo/after:"}},
		{"a sub-workflow in a sub-workflow",
			Definition{Stages: []StageDefinition{{Kind: StageChild, Name: "s"}, {Kind: StageChild, Name: "s/t", Parent: 1}}, Jobs: []JobDefinition{
				{Name: "s", Child: 1}, {Name: "s/t", Stage: 1, Child: 2}, {Name: "s/t/a", Stage: 2}, {Name: "after", DependsOn: []int32{0}}}},
			map[int32]string{2: "x", 3: "x"}, []string{"undo/s/t/a: undo/after", "undo/after:"}},
	} {
		stage.AddCompensation(&tc.d, tc.undos)
		if diff := cmp.Diff(tc.want, compensated(&tc.d)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tc.name, diff)
		}
	}
}

// TestUndoIsLikeItsJob: an undo runs where its job ran, whatever became of the
// undos before it, and uses no budget of the run.
func TestUndoIsLikeItsJob(t *testing.T) {
	stdio := &StdioConfig{}
	d := Definition{Policy: &RunPolicy{OnFailure: &CompensationPolicy{MaxAttempts: new(int64(7))}}, Jobs: []JobDefinition{{
		Name: "a", Command: "make a", JobSettings: JobSettings{InvocationScript: new("./in")}, Env: map[string]string{"A": "1"}, Labels: []string{"gpu"}, Requirements: "big", Scheduler: "s", JobOptions: JobOptions{Stdio: stdio, Policy: &JobPolicy{Timeouts: &Timeouts{Total: &TimeLimit{After: "1h"}}}},
		Priority: 5, FailureHandler: "h",
	}}}
	stage.AddCompensation(&d, map[int32]string{0: "rm a"})
	want := JobDefinition{
		Name: "undo/a", Command: "rm a", JobSettings: JobSettings{InvocationScript: new("./in")}, Env: map[string]string{"A": "1"}, Labels: []string{"gpu"}, Requirements: "big", Scheduler: "s", JobOptions: JobOptions{Stdio: stdio, Policy: &JobPolicy{RetryPolicies: []PolicyRef{{Policy: d.Policy.OnFailure.Retries()}}}},
		RunIf: RunIfAlways, Stage: 1, Undoes: 1,
	}
	if diff := cmp.Diff(want, d.Jobs[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCleanupKeepsItsPolicy: what jobs that clean up say about failures stands
// before what the compensation says, and jobs of the run that share it keep theirs.
func TestCleanupKeepsItsPolicy(t *testing.T) {
	shared := &JobPolicy{RetryPolicies: []PolicyRef{{Name: "site"}}}
	d := Definition{Stages: []StageDefinition{{Kind: StageCompensation, Name: CompensationStage}}, Jobs: []JobDefinition{
		{Name: "a", JobOptions: JobOptions{Policy: shared}}, {Name: "x", Stage: 1, JobOptions: JobOptions{Policy: shared}}, {Name: "y", Stage: 1, JobOptions: JobOptions{Policy: shared}}, {Name: "z", Stage: 1, DependsOn: []int32{1}, RunIf: RunIfFailure}}}
	stage.AddCompensation(&d, nil)
	names := func(p *JobPolicy) (names []string) {
		for _, r := range p.RetryPolicies {
			if r.Policy != nil {
				r.Name = r.Policy.Name
			}
			names = append(names, r.Name)
		}
		return names
	}
	for i, want := range [][]string{{"site"}, {"site", "compensation"}, {"site", "compensation"}, {"compensation"}} {
		if got := names(d.Jobs[i].Policy); !slices.Equal(got, want) {
			t.Errorf("job %s has %v, want %v", d.Jobs[i].Name, got, want)
		}
	}
	if d.Jobs[1].Policy != d.Jobs[2].Policy {
		t.Error("jobs that say the same do not share it any more")
	}
	if d.Jobs[3].RunIf != RunIfFailure || d.Jobs[1].RunIf != RunIfAlways {
		t.Errorf("run_if %s behind a job that cleans up, %s behind undos", d.Jobs[3].RunIf, d.Jobs[1].RunIf)
	}
}

// TestCleanupComesLast: whatever the graph, each job that cleans up is behind all
// undos, each undo behind those of all jobs after its own, and there is no cycle.
func TestCleanupComesLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Definition{Stages: []StageDefinition{{Kind: StageCompensation, Name: CompensationStage}}}
		n := rapid.IntRange(1, 10).Draw(t, "jobs")
		undos := map[int32]string{}
		for i := range n {
			j := JobDefinition{Name: fmt.Sprint("j", i)}
			if rapid.IntRange(0, 3).Draw(t, "cleans up") == 0 {
				j.Stage = 1
			} else if rapid.Bool().Draw(t, "undo") {
				undos[int32(i)] = "x"
			}
			for dep := range i {
				if d.Jobs[dep].Stage == j.Stage && rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					j.DependsOn = append(j.DependsOn, int32(dep))
				}
			}
			d.Jobs = append(d.Jobs, j)
		}
		before := make([][]int32, n)
		for i := range n {
			before[i] = graph.Dependents(n, func(k int) []int32 { return d.Jobs[k].DependsOn }, []int32{int32(i)})
		}
		stage.AddCompensation(&d, undos)
		deps := graph.Dependencies(&d)
		order := func(i int) []int32 { return deps[i] }
		if _, ok := graph.TopologicalOrder(len(deps), order); !ok {
			t.Fatalf("a cycle: %v", deps)
		}
		undoOf := map[int32]int32{}
		for u := n; u < len(d.Jobs); u++ {
			undoOf[d.Jobs[u].Undoes-1] = int32(u)
		}
		if len(undoOf) != len(undos) {
			t.Fatalf("%d undos for %d jobs", len(undoOf), len(undos))
		}
		for job, u := range undoOf {
			behind := graph.Dependents(len(deps), order, []int32{u})
			for i := range n {
				if d.Jobs[i].Stage == 1 && !slices.Contains(behind, int32(i)) {
					t.Fatalf("%s does not wait for %s", d.Jobs[i].Name, d.Jobs[u].Name)
				}
			}
			for _, later := range before[job] {
				if x, has := undoOf[later]; has && !slices.Contains(graph.Dependents(len(deps), order, []int32{x}), u) {
					t.Fatalf("%s does not wait for %s", d.Jobs[u].Name, d.Jobs[x].Name)
				}
			}
		}
	})
}
