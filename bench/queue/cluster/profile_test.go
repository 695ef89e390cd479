package cluster

import (
	"math/rand/v2"
	"testing"
)

// naive is a profile that knows what is free on each node in each second.
type naive struct {
	now  int64
	free [][]Resources // by node and second
}

const naiveSpan = 3000

// newNaive returns a profile. Whole nodes are alike, so they are the CPUs of one node.
func newNaive(p *partition, now int64) *naive {
	n := &naive{now: now}
	if p.Whole {
		n.free = [][]Resources{make([]Resources, naiveSpan)}
		for t := range n.free[0] {
			n.free[0][t].CPUs = int64(p.Count)
		}
		for _, j := range p.running {
			n.take(0, 0, j.Start+j.Limit-now, Resources{CPUs: j.Nodes})
		}
		return n
	}
	for range p.nodes {
		seconds := make([]Resources, naiveSpan)
		for t := range seconds {
			seconds[t] = p.Node
		}
		n.free = append(n.free, seconds)
	}
	for _, j := range p.running {
		for _, i := range j.Placed {
			n.take(i, 0, j.Start+j.Limit-now, j.Each)
		}
	}
	return n
}

func (n *naive) take(node int, from, to int64, need Resources) {
	for t := from; t < min(to, naiveSpan); t++ {
		n.free[node][t] = n.free[node][t].minus(need)
	}
}

// earliest returns the first second at which enough nodes have room for a need.
func (n *naive) earliest(need Resources, nodes, length int64) (at int64, found []int) {
	for at := int64(0); at < naiveSpan-length; at++ {
		found = nil
		for i := range n.free {
			fits := true
			for t := at; t < at+length && fits; t++ {
				fits = n.free[i][t].holds(need)
			}
			if fits {
				found = append(found, i)
			}
		}
		if int64(len(found)) >= nodes {
			return n.now + at, found
		}
	}
	return 0, nil
}

// Both profiles find the same times as a search second by second does, with the shortcuts
// that they take.
func TestProfilesAgainstSearch(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		description := shared(3)
		if seed%2 == 0 {
			description = batch(3)
		}
		c := New(Config{Partitions: []Partition{description}}, nil)
		job := func() Request {
			q := Request{Partitions: []int{0}, Nodes: 1, Limit: 10 + r.Int64N(300), Each: Resources{1 + r.Int64N(4), r.Int64N(500), r.Int64N(2)}}
			if description.Whole {
				q.Nodes, q.Each = 1+r.Int64N(3), Resources{CPUs: 4}
			}
			return q
		}
		for range 6 {
			if _, err := c.Submit(job(), nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		c.Run(7, never)
		p := c.partitions[0]
		free, search := c.profileOf(p), newNaive(p, c.now)
		free.reset(p, c.now, 1)
		for range 25 {
			j := &Job{Request: job()}
			need, count := j.Each, j.Nodes
			if p.Whole {
				need, count = Resources{CPUs: j.Nodes}, 1
			}
			want, nodes := search.earliest(need, count, j.Limit)
			got, chosen, ok := free.reserve(j, c.now+naiveSpan)
			if nodes == nil {
				break // beyond what the search knows
			}
			if !ok || got != want {
				t.Fatalf("seed %d: %+v starts at %d, %v; the search says %d", seed, j.Request, got, ok, want)
			}
			if p.Whole {
				chosen = []int{0}
			}
			for _, i := range chosen {
				search.take(i, got-c.now, got-c.now+j.Limit, need)
			}
		}
	}
}
