package graph

import "slices"

// GroupByDependencies groups jobs with the same set of dependencies: they share a gate. It
// returns the gate of each job, -1 for a job without dependencies, and the first job of each
// gate. Dependencies must be ascending and without duplicates.
func GroupByDependencies(n int, deps Deps) (gateOf, gates []int32) {
	g := gateGroups{deps: deps, byPlace: make(map[ListKey]int32), byHash: make(map[uint64]int32)}
	gateOf = make([]int32, n)
	for i := range n {
		gateOf[i] = g.gateOf(int32(i))
	}
	return gateOf, g.gates
}

// gateGroups finds a gate by its set of dependencies: a long set first by its address,
// because jobs often share one slice, then by a hash.
type gateGroups struct {
	deps    Deps
	gates   []int32 // the first job of each
	next    []int32 // for each gate, another one with the same hash; -1 for none
	byPlace map[ListKey]int32
	byHash  map[uint64]int32
}

// longList is the length from which a lookup by address is faster than by content.
const longList = 16

func (g *gateGroups) gateOf(job int32) int32 {
	set := g.deps(int(job))
	if len(set) == 0 {
		return -1
	}
	if len(set) < longList {
		return g.byContent(job, set)
	}
	gate, known := g.byPlace[KeyOf(set)]
	if !known {
		gate = g.byContent(job, set)
		g.byPlace[KeyOf(set)] = gate
	}
	return gate
}

func (g *gateGroups) byContent(job int32, set []int32) int32 {
	hash := hashSet(set)
	first, known := g.byHash[hash]
	if !known {
		first = -1
	}
	for k := first; k >= 0; k = g.next[k] {
		if slices.Equal(set, g.deps(int(g.gates[k]))) {
			return k
		}
	}
	gate := int32(len(g.gates))
	g.gates, g.next = append(g.gates, job), append(g.next, first)
	g.byHash[hash] = gate
	return gate
}

// hashSet returns the FNV-1a hash of the numbers.
func hashSet(set []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range set {
		h = (h ^ uint64(uint32(v))) * 1099511628211
	}
	return h
}
