package graph

import "slices"

// UndoOrder returns the order in which jobs are undone: the reverse of that in which they
// ran. For each job with an undo it has, ascending, the jobs whose undos run directly before:
// those with an undo that depend on it, also through jobs without one. Lists may be shared.
// A list may also contain a job that another one in the list waits for; that does not change
// the order, and removing it would cost more than it saves. The graph must not have a cycle.
func UndoOrder(n int, deps Deps, hasUndo func(i int) bool) map[int32][]int32 {
	order, _ := TopologicalOrder(n, deps)
	_, dependents := invert(n, deps)
	near := make([][]int32, n) // for each job, the nearest dependents with an undo
	after := map[int32][]int32{}
	var last []int32 // jobs with the same dependents share a list
	for _, i := range slices.Backward(order) {
		var list []int32
		for _, d := range dependents.of(i) {
			if hasUndo(int(d)) {
				list = append(list, d)
			} else {
				list = append(list, near[d]...)
			}
		}
		slices.Sort(list)
		if list = slices.Compact(list); slices.Equal(list, last) {
			list = last
		}
		last, near[i] = list, list
		if hasUndo(int(i)) {
			after[i] = list
		}
	}
	return after
}
