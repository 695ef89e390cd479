// Package graph orders jobs by what they wait for: dependencies, cycles, gates, the
// order in which jobs are undone, and the plan that follows.
package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Deps returns what node i of a graph depends on, as indexes; the graphs of
// this file have the nodes 0..n-1. The result is not changed.
type Deps = func(i int) []int32

// TopologicalOrder returns the nodes so that each stands behind what it depends
// on, and whether that is possible. Among those that could stand next, the
// lowest number does. If it is not possible, nodes on or behind a cycle are
// missing.
func TopologicalOrder(n int, deps Deps) (order []int32, ok bool) {
	open, dependants := invert(n, deps)
	order = make([]int32, 0, n)
	var next []int32 // sorted: nodes are appended wave by wave
	for i := range n {
		if open[i] == 0 {
			next = append(next, int32(i))
		}
	}
	for len(next) > 0 {
		order = append(order, next...)
		var wave []int32
		for _, i := range next {
			for _, d := range dependants.of(i) {
				if open[d]--; open[d] == 0 {
					wave = append(wave, d)
				}
			}
		}
		slices.Sort(wave)
		next = wave
	}
	return order, len(order) == n
}

// Levels returns for each node how long the longest chain of dependencies below
// it is, 0 for a node that depends on nothing; -1 on or behind a cycle.
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

// FindCycle returns a cycle, nil if there is none: each node depends on the
// next one and the last on the first. It begins at the lowest node that lies on
// the cycle found first and is as short as any cycle through that node.
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
	// Every node that is left depends on one that is left, so that following
	// them leads into a cycle.
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

// shortestCycle searches breadth first from start, which lies on a cycle, until
// it comes back.
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

// Dependants returns the nodes that depend on any of the given ones, directly
// or through others, ascending; the given ones only if they do so too.
func Dependants(n int, deps Deps, of []int32) []int32 {
	_, dependants := invert(n, deps)
	reached := make([]bool, n)
	stack := slices.Clone(of)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range dependants.of(i) {
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
	start []int32 // of each node's part of list; one more at the end
	list  []int32
}

func (a adjacency) of(i int32) []int32 { return a.list[a.start[i]:a.start[i+1]] }

// invert returns how many dependencies each node has and who depends on it.
func invert(n int, deps Deps) (open []int32, dependants adjacency) {
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

// CycleText writes a cycle by names: "a -> b -> a", where each depends on the
// next. The middle of a long one is left out.
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
