package cluster

import "slices"

// sharedProfile is what will be free on each node of a shared partition.
type sharedProfile struct {
	nodes  [][]sharedStep
	bounds bounds
	found  []int // by the last reservation
}

// sharedStep is what is free on a node from a time until the next step.
type sharedStep struct {
	from int64
	free Resources
}

func (f *sharedProfile) reset(p *partition, now, resolution int64) {
	f.bounds.reset(now)
	for len(f.nodes) < len(p.nodes) {
		f.nodes = append(f.nodes, nil)
	}
	f.nodes = f.nodes[:len(p.nodes)]
	for i := range p.nodes {
		n := &p.nodes[i]
		steps := append(f.nodes[i][:0], sharedStep{now, n.free})
		for _, j := range n.jobs { // by the end of their time limits
			end := roundUp(j.Start+j.Limit, resolution)
			last := &steps[len(steps)-1]
			if end > last.from {
				steps = append(steps, sharedStep{end, last.free})
				last = &steps[len(steps)-1]
			}
			last.free = last.free.plus(j.Each)
		}
		f.nodes[i] = steps
	}
}

func (f *sharedProfile) reserve(j *Job, latest int64) (int64, []int, bool) {
	from := f.bounds.of(j.Each, j.Limit)
	if j.Nodes > 1 {
		return f.reserveMany(j, from, latest)
	}
	best, start := -1, latest+1
	for i, steps := range f.nodes {
		last := start - 1
		if start == f.bounds.now { // of several that are free now, the one with the least
			if last = start; steps[0].free.CPUs >= f.nodes[best][0].free.CPUs {
				continue
			}
		}
		if at, ok := earliest(steps, j.Each, j.Limit, from, last); ok {
			best, start = i, at
		}
		if start == from && start > f.bounds.now {
			break
		}
	}
	f.bounds.set(j.Each, j.Limit, start)
	if best < 0 {
		return 0, nil, false
	}
	f.take(best, start, start+j.Limit, j.Each)
	f.found = append(f.found[:0], best)
	return start, f.found, true
}

// reserveMany is reserve for a job of several nodes: the earliest time at which so many
// have room.
func (f *sharedProfile) reserveMany(j *Job, from, latest int64) (int64, []int, bool) {
	var times []int64
	for _, steps := range f.nodes {
		for _, s := range steps {
			if s.from >= from && s.from <= latest {
				times = append(times, s.from)
			}
		}
	}
	slices.Sort(times)
	for _, at := range slices.Compact(times) {
		f.found = f.found[:0]
		for i, steps := range f.nodes {
			if start, ok := earliest(steps, j.Each, j.Limit, at, at); ok && start == at {
				if f.found = append(f.found, i); int64(len(f.found)) == j.Nodes {
					for _, n := range f.found {
						f.take(n, at, at+j.Limit, j.Each)
					}
					return at, f.found, true
				}
			}
		}
	}
	return 0, nil, false
}

// earliest returns the first time from a time on, no later than latest, at which a need fits
// on a node for so long.
func earliest(steps []sharedStep, need Resources, length, from, latest int64) (int64, bool) {
	for i := stepAt(steps, from); i < len(steps); {
		start := max(steps[i].from, from)
		if start > latest {
			return 0, false
		}
		k := i
		for k < len(steps) && steps[k].from < start+length && steps[k].free.holds(need) {
			k++
		}
		if k == len(steps) || steps[k].from >= start+length {
			return start, true
		}
		i = k + 1
	}
	return 0, false
}

// stepAt returns the index of the step in which a time is.
func stepAt(steps []sharedStep, at int64) int {
	if len(steps) == 1 || steps[1].from > at {
		return 0
	}
	low, high := 0, len(steps) // the first step that begins later is between them
	for low < high {
		if middle := (low + high) / 2; steps[middle].from > at {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return max(low-1, 0)
}

// take takes resources of a node for some time.
func (f *sharedProfile) take(node int, start, end int64, need Resources) {
	steps := cut(cut(f.nodes[node], start), end)
	for i := range steps {
		if steps[i].from >= start && steps[i].from < end {
			steps[i].free = steps[i].free.minus(need)
		}
	}
	f.nodes[node] = steps
}

// cut makes a step begin at a time.
func cut(steps []sharedStep, at int64) []sharedStep {
	i := stepAt(steps, at)
	if steps[i].from == at {
		return steps
	}
	return slices.Insert(steps, i+1, sharedStep{at, steps[i].free})
}
