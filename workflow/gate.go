package workflow

import "slices"

// Gate counts for a set of dependencies that several jobs share how many of
// them are not complete yet, and how many completed without success.
type Gate struct {
	Open   int64
	Failed int64
}

// Add counts a dependency by its status.
func (g *Gate) Add(dependency JobStatus) {
	if !dependency.IsComplete() {
		g.Open++
	} else if dependency.IsUnsuccessful() {
		g.Failed++
	}
}

// Change is what a change of a dependency's status adds to a gate.
func (g *Gate) Change(from, to JobStatus) {
	var before, after Gate
	before.Add(from)
	after.Add(to)
	g.Open += after.Open - before.Open
	g.Failed += after.Failed - before.Failed
}

// Status is what the gate makes of a job behind it that has not run: blocked
// while a dependency is open, then canceled if one was not successful and the
// job wants it so, else ready.
func (g Gate) Status(cancelOnFailure bool) JobStatus {
	switch {
	case g.Open > 0:
		return Blocked
	case g.Failed > 0 && cancelOnFailure:
		return Canceled
	}
	return Ready
}

// GroupByDependencies finds jobs with the same set of dependencies: they share
// a gate. gateOf holds each job's gate, -1 for a job without dependencies;
// gates holds for each gate the first job that has it. Dependencies are
// ascending and without repeats.
func GroupByDependencies(n int, deps Deps) (gateOf, gates []int32) {
	gateOf = make([]int32, n)
	byHash := make(map[uint64][]int32) // gates
	for i := range n {
		set := deps(i)
		if len(set) == 0 {
			gateOf[i] = -1
			continue
		}
		hash := hashSet(set)
		gate := int32(-1)
		for _, g := range byHash[hash] {
			if sameSet(set, deps(int(gates[g]))) {
				gate = g
				break
			}
		}
		if gate < 0 {
			gate = int32(len(gates))
			gates = append(gates, int32(i))
			byHash[hash] = append(byHash[hash], gate)
		}
		gateOf[i] = gate
	}
	return gateOf, gates
}

// sameSet is slices.Equal, quick where two jobs share one slice.
func sameSet(a, b []int32) bool {
	return len(a) == len(b) && (&a[0] == &b[0] || slices.Equal(a, b))
}

// hashSet is FNV-1a over the numbers.
func hashSet(set []int32) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range set {
		h = (h ^ uint64(uint32(v))) * 1099511628211
	}
	return h
}
