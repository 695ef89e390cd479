package cluster

import "slices"

// wholeProfile counts the free nodes of a partition whose nodes are all alike and not shared.
type wholeProfile struct {
	steps  []wholeStep
	bounds bounds
}

// wholeStep is how many nodes are free from a time until the next step.
type wholeStep struct {
	from int64
	free int64
}

func (f *wholeProfile) reset(p *partition, now, resolution int64) {
	f.bounds.reset(now)
	f.steps = append(f.steps[:0], wholeStep{now, int64(len(p.idle))})
	for _, j := range p.running {
		f.steps = append(f.steps, wholeStep{roundUp(j.Start+j.Limit, resolution), j.Nodes})
	}
	ends := f.steps[1:]
	slices.SortFunc(ends, func(a, b wholeStep) int { return compareTimes(a.from, b.from) })
	n := 0 // sum up the ends, those of one time in one step
	for _, e := range ends {
		if e.from > f.steps[n].from {
			n++
			f.steps[n] = wholeStep{e.from, f.steps[n-1].free}
		}
		f.steps[n].free += e.free
	}
	f.steps = f.steps[:n+1]
}

func (f *wholeProfile) reserve(j *Job, latest int64) (int64, []int, bool) {
	need := Resources{CPUs: j.Nodes}
	i := f.at(f.bounds.of(need, j.Limit))
	for i < len(f.steps) && f.steps[i].from <= latest {
		end := f.steps[i].from + j.Limit
		k := i
		for k < len(f.steps) && f.steps[k].from < end && f.steps[k].free >= j.Nodes {
			k++
		}
		if k == len(f.steps) || f.steps[k].from >= end {
			start := f.steps[i].from
			f.bounds.set(need, j.Limit, start)
			f.take(i, end, j.Nodes)
			return start, nil, true
		}
		i = k + 1
	}
	f.bounds.set(need, j.Limit, latest+1)
	return 0, nil, false
}

// at returns the index of the first step that begins at a time or later.
func (f *wholeProfile) at(time int64) int {
	i, _ := slices.BinarySearchFunc(f.steps, time, func(s wholeStep, t int64) int { return compareTimes(s.from, t) })
	return i
}

// take takes nodes from a step on, until a time.
func (f *wholeProfile) take(i int, end, nodes int64) {
	k := f.at(end)
	if k == len(f.steps) || f.steps[k].from > end {
		f.steps = slices.Insert(f.steps, k, wholeStep{end, f.steps[k-1].free})
	}
	for ; i < k; i++ {
		f.steps[i].free -= nodes
	}
}

// roundUp rounds up to a multiple.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
