package graph_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow/graph"
)

func TestUndoOrder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		deps  [][]int32
		undos string // u for each job that has one
		want  map[int32][]int32
	}{
		{"nothing to undo", [][]int32{nil, {0}}, "--", map[int32][]int32{}},
		{"chain", [][]int32{nil, {0}, {1}}, "uuu", map[int32][]int32{0: {1}, 1: {2}, 2: nil}},
		{"through a job without", [][]int32{nil, {0}, {1}}, "u-u", map[int32][]int32{0: {2}, 2: nil}},
		{"fan", [][]int32{nil, {0}, {0}}, "uuu", map[int32][]int32{0: {1, 2}, 1: nil, 2: nil}},
		{"barrier without", [][]int32{nil, nil, {0, 1}, {2}, {2}}, "uu-uu", map[int32][]int32{0: {3, 4}, 1: {3, 4}, 3: nil, 4: nil}},
		{"diamond, one arm without", [][]int32{nil, {0}, {0}, {1, 2}}, "u-uu", map[int32][]int32{0: {2, 3}, 2: {3}, 3: nil}},
		{"independent", [][]int32{nil, nil}, "uu", map[int32][]int32{0: nil, 1: nil}},
		{"dependencies that come later", [][]int32{{1}, nil}, "uu", map[int32][]int32{0: nil, 1: {0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := graph.UndoOrder(len(tc.deps), func(i int) []int32 { return tc.deps[i] }, func(i int) bool { return tc.undos[i] == 'u' })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUndoOrderIsReverse: of two jobs with an undo, one behind the other, the
// later one is undone first; and no undo waits for another without such a reason.
func TestUndoOrderIsReverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "jobs")
		deps := make([][]int32, n)
		undo := make([]bool, n)
		for i := range n {
			undo[i] = rapid.Bool().Draw(t, "undo")
			for d := range i {
				if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					deps[i] = append(deps[i], int32(d))
				}
			}
		}
		order := func(i int) []int32 { return deps[i] }
		after := graph.UndoOrder(n, order, func(i int) bool { return undo[i] })
		undone := func(i int) []int32 { return after[int32(i)] }
		for i := range n {
			if _, has := after[int32(i)]; has != undo[i] {
				t.Fatalf("job %d: in the order %v, has an undo %v", i, has, undo[i])
			}
			var want []int32 // every job with an undo that is behind it
			for _, d := range graph.Dependents(n, order, []int32{int32(i)}) {
				if undo[i] && undo[d] {
					want = append(want, d)
				}
			}
			// What an undo waits for, directly or not, is what the dependants of the
			// turned graph are.
			turned := make([][]int32, n)
			for k := range n {
				for _, d := range undone(k) {
					turned[d] = append(turned[d], int32(k))
				}
			}
			if got := graph.Dependents(n, func(k int) []int32 { return turned[k] }, []int32{int32(i)}); !slices.Equal(got, want) {
				t.Fatalf("job %d waits for the undos of %v, want %v", i, got, want)
			}
		}
	})
}
