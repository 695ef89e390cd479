// Package graph orders jobs by their dependencies: cycles, gates, the order in which jobs
// are undone, and the execution plan.
package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Deps returns the nodes that node i of a graph depends on. Graphs have the nodes 0..n-1.
// The result must not be changed.
type Deps = func(i int) []int32

// TopologicalOrder returns the nodes in an order in which each follows its dependencies:
// level by level, ascending within a level. If there is a cycle, ok is false, and the nodes
// on the cycle and those that depend on it are missing.
func TopologicalOrder(n int, deps Deps) (order []int32, ok bool) {
	open, dependents := invert(n, deps)
	order = make([]int32, 0, n)
	var next []int32 // the nodes of one level, sorted
	for i := range n {
		if open[i] == 0 {
			next = append(next, int32(i))
		}
	}
	for len(next) > 0 {
		order = append(order, next...)
		var level []int32
		for _, i := range next {
			for _, d := range dependents.of(i) {
				if open[d]--; open[d] == 0 {
					level = append(level, d)
				}
			}
		}
		slices.Sort(level)
		next = level
	}
	return order, len(order) == n
}

// Levels returns for each node the length of its longest chain of dependencies: 0 for a node
// without dependencies, -1 for nodes on a cycle and those that depend on one.
func Levels(n int, deps Deps) []int32 {
	levels := make([]int32, n)
	for i := range levels {
		levels[i] = -1
	}
	order, _ := TopologicalOrder(n, deps)
	for _, i := range order {
		level := int32(0)
		for _, d := range deps(int(i)) {
			level = max(level, levels[d]+1)
		}
		levels[i] = level
	}
	return levels
}

// FindCycle returns a cycle, in which each node depends on the next one and the last on the
// first; nil if there is none. It starts at the lowest node of the first cycle found, and is
// the shortest cycle through that node.
func FindCycle(n int, deps Deps) []int {
	order, ok := TopologicalOrder(n, deps)
	if ok {
		return nil
	}
	inOrder := make([]bool, n)
	for _, i := range order {
		inOrder[i] = true
	}
	left := func(i int) int { // the first dependency that is not in the order
		for _, d := range deps(i) {
			if !inOrder[d] {
				return int(d)
			}
		}
		return -1
	}
	// Every node that is left depends on another one that is left, so that following
	// these leads into a cycle.
	at := slices.Index(inOrder, false)
	seen := make(map[int]bool)
	for !seen[at] {
		seen[at] = true
		at = left(at)
	}
	lowest := at
	for i := left(at); i != at; i = left(i) {
		lowest = min(lowest, i)
	}
	return shortestCycle(lowest, deps)
}

// shortestCycle returns the shortest cycle through start, by a breadth-first search; nil if
// start is not on a cycle.
func shortestCycle(start int, deps Deps) []int {
	from := map[int]int{start: -1}
	queue := []int{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, d := range deps(at) {
			i := int(d)
			if i == start {
				var cycle []int
				for ; at >= 0; at = from[at] {
					cycle = append(cycle, at)
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, known := from[i]; !known {
				from[i] = at
				queue = append(queue, i)
			}
		}
	}
	return nil
}

// Dependents returns the nodes that depend on any of the given ones, directly or indirectly,
// ascending. The given nodes are included only if they depend on each other.
func Dependents(n int, deps Deps, of []int32) []int32 {
	_, dependents := invert(n, deps)
	reached := make([]bool, n)
	stack := slices.Clone(of)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range dependents.of(i) {
			if !reached[d] {
				reached[d] = true
				stack = append(stack, d)
			}
		}
	}
	var all []int32
	for i, r := range reached {
		if r {
			all = append(all, int32(i))
		}
	}
	return all
}

// adjacency is a list of lists in two slices.
type adjacency struct {
	start []int32 // where each node's part of list starts; one more entry at the end
	list  []int32
}

func (a adjacency) of(i int32) []int32 { return a.list[a.start[i]:a.start[i+1]] }

// invert returns how many dependencies each node has, and which nodes depend on it.
func invert(n int, deps Deps) (open []int32, dependents adjacency) {
	open = make([]int32, n)
	start := make([]int32, n+1)
	for i := range n {
		for _, d := range deps(i) {
			open[i]++
			start[d+1]++
		}
	}
	for i := range n {
		start[i+1] += start[i]
	}
	list := make([]int32, start[n])
	next := slices.Clone(start[:n])
	for i := range n {
		for _, d := range deps(i) {
			list[next[d]] = int32(i)
			next[d]++
		}
	}
	return open, adjacency{start: start, list: list}
}

// CycleText returns a cycle as text: "a -> b -> a", where each job depends on the next. Of a
// long cycle it shows only the beginning.
func CycleText(cycle []int, name func(i int) string) string {
	const shown = 8
	var names []string
	for k, i := range cycle {
		if len(cycle) > shown && k == shown-1 {
			names = append(names, fmt.Sprintf("(%d more)", len(cycle)-shown+1))
			break
		}
		names = append(names, name(i))
	}
	return strings.Join(append(names, name(cycle[0])), " -> ")
}
