package graph_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	. "github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

func depsOf(edges [][]int32) graph.Deps { return func(i int) []int32 { return edges[i] } }

func TestTopologicalOrder(t *testing.T) {
	order, ok := graph.TopologicalOrder(5, depsOf([][]int32{{4}, {0}, {}, {0, 2}, {}}))
	if diff := cmp.Diff([]int32{2, 4, 0, 1, 3}, order); diff != "" || !ok {
		t.Errorf("%v, (-want +got):\n%s", ok, diff)
	}
	order, _ = graph.TopologicalOrder(4, depsOf([][]int32{{}, {}, {1}, {0}}))
	if diff := cmp.Diff([]int32{0, 1, 2, 3}, order); diff != "" {
		t.Errorf("the lowest number first (-want +got):\n%s", diff)
	}
	order, ok = graph.TopologicalOrder(4, depsOf([][]int32{{}, {2}, {1}, {2}}))
	if diff := cmp.Diff([]int32{0}, order); diff != "" || ok {
		t.Errorf("%v, (-want +got):\n%s", ok, diff)
	}
}

func TestLevels(t *testing.T) {
	got := graph.Levels(6, depsOf([][]int32{{}, {0}, {0, 1}, {4}, {3}, {4}}))
	if diff := cmp.Diff([]int32{0, 1, 2, -1, -1, -1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindCycle(t *testing.T) {
	tests := []struct {
		name  string
		edges [][]int32
		want  []int
	}{
		{"none", [][]int32{{}, {0}, {0, 1}}, nil},
		{"empty", nil, nil},
		{"itself", [][]int32{{}, {1}}, []int{1}},
		{"two", [][]int32{{1}, {0}}, []int{0, 1}},
		{"not what is only behind it", [][]int32{{1}, {2}, {3}, {2}}, []int{2, 3}},
		{"shortest through its lowest node", [][]int32{{1}, {2, 3}, {3}, {0}}, []int{0, 1, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, graph.FindCycle(len(tt.edges), depsOf(tt.edges))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCycleText(t *testing.T) {
	name := func(i int) string { return string(rune('a' + i)) }
	if got := graph.CycleText([]int{1, 0}, name); got != "b -> a -> b" {
		t.Error(got)
	}
	if got := graph.CycleText([]int{0}, name); got != "a -> a" {
		t.Error(got)
	}
	if got := graph.CycleText([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, name); got != "a -> b -> c -> d -> e -> f -> g -> (3 more) -> a" {
		t.Error(got)
	}
}

// drawGraph draws a graph without cycles, or any graph.
func drawGraph(t *rapid.T, acyclic bool) [][]int32 {
	n := rapid.IntRange(0, 12).Draw(t, "nodes")
	edges := make([][]int32, n)
	for i := range edges {
		most := n - 1
		if acyclic {
			most = i - 1
		}
		if most < 0 {
			continue
		}
		d := rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(most)), 0, min(4, most+1), rapid.ID).Draw(t, "deps")
		slices.Sort(d)
		edges[i] = d
	}
	return edges
}

// A graph has an order exactly if it has no cycle, and both are what they say.
func TestOrderOrCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := drawGraph(t, rapid.Bool().Draw(t, "acyclic"))
		n := len(edges)
		order, ok := graph.TopologicalOrder(n, depsOf(edges))
		cycle := graph.FindCycle(n, depsOf(edges))
		if ok != (cycle == nil) {
			t.Fatalf("order %v, cycle %v", ok, cycle)
		}
		at := map[int32]int{}
		for k, i := range order {
			at[i] = k
			for _, d := range edges[i] {
				if before, there := at[d]; !there || before >= k {
					t.Fatalf("%d stands before %d", i, d)
				}
			}
		}
		for k, i := range cycle {
			if !slices.Contains(edges[i], int32(cycle[(k+1)%len(cycle)])) {
				t.Fatalf("no edge from %d in %v", i, cycle)
			}
		}
	})
}

func TestDependants(t *testing.T) {
	edges := [][]int32{{}, {0}, {1}, {0}, {}, {4, 3}}
	if diff := cmp.Diff([]int32{1, 2, 3, 5}, graph.Dependents(6, depsOf(edges), []int32{0})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{2, 5}, graph.Dependents(6, depsOf(edges), []int32{1, 3, 4})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := graph.Dependents(6, depsOf(edges), []int32{2}); got != nil {
		t.Errorf("behind a last job: %v", got)
	}
}

// Jobs share a gate exactly if they have the same dependencies.
func TestGroupByDependencies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := drawGraph(t, true)
		gateOf, gates := graph.GroupByDependencies(len(edges), depsOf(edges))
		for i := range edges {
			if (gateOf[i] < 0) != (len(edges[i]) == 0) {
				t.Fatalf("job %d with %v has gate %d", i, edges[i], gateOf[i])
			}
			if g := gateOf[i]; g >= 0 && !slices.Equal(edges[gates[g]], edges[i]) {
				t.Fatalf("gate %d stands for %v, job %d has %v", g, edges[gates[g]], i, edges[i])
			}
			for k := range i {
				if gateOf[k] >= 0 && (gateOf[k] == gateOf[i]) != slices.Equal(edges[k], edges[i]) {
					t.Fatalf("jobs %d and %d: gates %d and %d", k, i, gateOf[k], gateOf[i])
				}
			}
		}
	})
}

// Long lists are found by where they lie and by what is in them.
func TestGroupLongLists(t *testing.T) {
	long := make([]int32, 40)
	for i := range long {
		long[i] = int32(i)
	}
	copied, other := slices.Clone(long), slices.Clone(long)
	other[39] = 77
	edges := [][]int32{long, copied, other, long, long[:39], other}
	gateOf, gates := graph.GroupByDependencies(len(edges), depsOf(edges))
	if diff := cmp.Diff([]int32{0, 0, 1, 0, 2, 1}, gateOf); diff != "" {
		t.Errorf("gates of jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int32{0, 2, 4}, gates); diff != "" {
		t.Errorf("first jobs of gates (-want +got):\n%s", diff)
	}
}

func TestDefinitionDependencies(t *testing.T) {
	shared, third := []int32{0, 1}, []int32{2}
	d := Definition{
		Files: make([]FileDefinition, 3), UserData: make([]UserDataDefinition, 1),
		Jobs: []JobDefinition{
			{Name: "a", OutputFiles: []int32{0}},
			{Name: "b", OutputFiles: []int32{1}, OutputUserData: []int32{0}},
			{Name: "both", InputFiles: shared},
			{Name: "both too", InputFiles: shared, DependsOn: []int32{2}},
			{Name: "in place", InputFiles: []int32{0, 2}, OutputFiles: []int32{2}, DependsOn: []int32{1}},
			{Name: "data", InputUserData: []int32{0}, DependsOn: []int32{1}},
			{Name: "again", InputFiles: shared},
			{Name: "append", InputFiles: third, OutputFiles: third},
			{Name: "read", InputFiles: third},
		},
	}
	want := [][]int32{nil, nil, {0, 1}, {0, 1, 2}, {0, 1, 7}, {1}, {0, 1}, {4}, {4, 7}}
	got := graph.Dependencies(&d)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{4, 7}, cycleOf(&d)); diff != "" {
		t.Errorf("two that write what both read (-want +got):\n%s", diff)
	}
	d.Jobs[7].OutputFiles = nil
	if cycle := cycleOf(&d); cycle != nil {
		t.Errorf("cycle %v", cycle)
	}
	d.Jobs[0].InputFiles = third
	if diff := cmp.Diff([]int{0, 4}, cycleOf(&d)); diff != "" {
		t.Errorf("cycle by files (-want +got):\n%s", diff)
	}
}

// Jobs that share a long list share what follows from it.
func TestDefinitionDependenciesOfLongLists(t *testing.T) {
	const n = 30
	d := Definition{Files: make([]FileDefinition, n)}
	var all []int32
	for i := range int32(n) {
		d.Jobs = append(d.Jobs, JobDefinition{OutputFiles: []int32{i}})
		all = append(all, i)
	}
	d.Jobs = append(d.Jobs, JobDefinition{InputFiles: all}, JobDefinition{InputFiles: all}, JobDefinition{InputFiles: all, DependsOn: []int32{n}})
	d.Jobs[0].InputFiles = all // itself among others
	got := graph.Dependencies(&d)
	if !slices.Equal(got[n], all) || &got[n][0] != &got[n+1][0] {
		t.Errorf("not shared: %v, %v", got[n], got[n+1])
	}
	if want := append(slices.Clone(all), n); !slices.Equal(got[n+2], want) {
		t.Errorf("with a dependency of its own: %v", got[n+2])
	}
	if !slices.Equal(got[0], all[1:]) {
		t.Errorf("of a job that reads what it writes: %v", got[0])
	}
}

// cycleOf returns a cycle of the definition's jobs, nil if there is none; see
// graph.FindCycle.
func cycleOf(d *Definition) []int {
	deps := graph.Dependencies(d)
	return graph.FindCycle(len(deps), func(i int) []int32 { return deps[i] })
}
