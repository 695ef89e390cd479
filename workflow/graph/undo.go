package graph

import "slices"

// UndoOrder says in which order jobs are undone: the reverse of that in which
// they ran. For each job that has an undo it lists, ascending, the jobs whose
// undos come directly before: those that depend on it and have an undo, also
// through jobs that have none. Lists may be shared, and may name a job that another
// one in the list waits for: that changes no order, and to leave it out would cost
// more than it saves. The graph has no cycle.
func UndoOrder(n int, deps Deps, hasUndo func(i int) bool) map[int32][]int32 {
	order, _ := TopologicalOrder(n, deps)
	_, dependants := invert(n, deps)
	near := make([][]int32, n) // the nearest jobs with an undo behind each
	after := map[int32][]int32{}
	var last []int32 // jobs in front of one barrier share a list
	for _, i := range slices.Backward(order) {
		var list []int32
		for _, d := range dependants.of(i) {
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
