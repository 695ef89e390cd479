package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCollapse(t *testing.T) {
	// a_1, a_2 → b_1, b_2 (a chain of one name from a to b_2) → end; lone
	names := []string{"a_*", "a_*", "b_*", "b_*", "end", "lone"}
	deps := [][]int32{nil, nil, {0, 1}, {2}, {2, 3}, nil}
	want := []Family{
		{Name: "a_*", Members: []int32{0, 1}},
		{Name: "lone", Members: []int32{5}},
		{Name: "b_*", Level: 1, Members: []int32{2}, After: []int32{0}},
		{Name: "b_*", Level: 2, Members: []int32{3}, After: []int32{2}},
		{Name: "end", Level: 3, Members: []int32{4}, After: []int32{2, 3}},
	}
	if diff := cmp.Diff(want, Collapse(names, func(i int) []int32 { return deps[i] })); diff != "" {
		t.Error(diff)
	}
	if got := Collapse(nil, nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
