package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// batch is a partition of whole nodes, shared one of shared nodes.
func batch(count int) Partition {
	return Partition{Name: "batch", Count: count, Node: Resources{CPUs: 4, MemoryMB: 1000}, Whole: true, Limit: 100_000}
}

func shared(count int) Partition {
	return Partition{Name: "shared", Count: count, Node: Resources{CPUs: 8, MemoryMB: 1000, GPUs: 2}, Limit: 100_000}
}

func never() bool { return false }

// random gives jobs at random, as many as it is told.
type random struct {
	pcg       rand.PCG
	partition int
	most      Resources
	nodes     int64
	left      int
	at        int64
	gap       int64
	same      bool // all need the same
}

func (s *random) Clone() Source {
	c := *s
	return &c
}

func (s *random) Next() (Arrival, bool) {
	if s.left == 0 {
		return Arrival{}, false
	}
	s.left--
	r := rand.New(&s.pcg)
	s.at += r.Int64N(s.gap)
	runtime := 1 + r.Int64N(3000)
	a := Arrival{At: s.at, Request: Request{
		User: 1 + r.IntN(3), Partitions: []int{s.partition}, Nodes: 1 + r.Int64N(s.nodes), Runtime: runtime, Limit: runtime + r.Int64N(6000),
		Each: Resources{1 + r.Int64N(s.most.CPUs), r.Int64N(s.most.MemoryMB), r.Int64N(s.most.GPUs + 1)},
	}}
	if s.same {
		a.Nodes, a.Each = 1, Resources{CPUs: 4}
	}
	return a, true
}

// busy returns a cluster with so many random jobs in each partition, more than it can run at a
// time.
func busy(seed uint64, jobs int, priority Priority) *Cluster {
	one := &random{partition: 0, most: Resources{4, 1000, 0}, nodes: 4, left: jobs, gap: 500}
	two := &random{partition: 1, most: Resources{8, 1000, 2}, nodes: 2, left: jobs, gap: 120}
	one.pcg.Seed(seed, 1)
	two.pcg.Seed(seed, 2)
	return New(Config{Partitions: []Partition{batch(6), shared(5)}, Priority: priority}, []Source{one, two})
}

// check verifies what holds at any time.
func check(t *testing.T, c *Cluster) {
	t.Helper()
	n := c.Counts()
	if n.Submitted != n.Pending+n.Running+n.Ended {
		t.Fatalf("%+v at %d", n, c.now)
	}
	pending, running := 0, 0
	for _, p := range c.partitions {
		pending += len(p.queue)
		running += len(p.running)
		used := make([]Resources, len(p.nodes))
		for _, j := range p.running {
			if int64(len(j.Placed)) != j.Nodes || j.Start > c.now {
				t.Fatalf("job %+v at %d", j, c.now)
			}
			for _, i := range j.Placed {
				used[i] = used[i].plus(j.takes(&p.Partition))
			}
		}
		idle := 0
		for i := range p.nodes {
			if !p.Node.holds(used[i]) || p.Node.minus(used[i]) != p.nodes[i].free {
				t.Fatalf("node %d of %s: %+v used, %+v free at %d", i, p.Name, used[i], p.nodes[i].free, c.now)
			}
			if used[i] == (Resources{}) {
				idle++
			}
		}
		if p.Whole && idle != len(p.idle) {
			t.Fatalf("%d idle nodes, %d known at %d", idle, len(p.idle), c.now)
		}
	}
	if int64(pending) != n.Pending || int64(running) != n.Running {
		t.Fatalf("%d pending, %d running: %+v at %d", pending, running, n, c.now)
	}
}

// Nodes are never given twice, no job is lost, and all jobs end.
func TestInvariants(t *testing.T) {
	for seed := range uint64(6) {
		c := busy(seed, 300, Priority{Age: 1, Size: float64(seed % 2), FairShare: float64(seed % 3)})
		for c.nextTime() < 1<<40 {
			c.now = c.nextTime()
			c.step()
			check(t, c)
		}
		if n := c.Counts(); n.Ended != 600 {
			t.Errorf("seed %d: %+v", seed, n)
		}
	}
}

// Each event of a cluster, and so its result, follows from the seed; a clone goes on alike.
func TestCloneGoesOnAlike(t *testing.T) {
	history := func(c *Cluster) (text string) {
		c.Watch = func(j *Job) { text += fmt.Sprintln(j.ID, j.Start, j.Placed) }
		c.Run(1<<40, never)
		return text
	}
	a := busy(5, 300, Priority{Age: 1, FairShare: 1})
	a.Run(20_000, never)
	b := a.Clone()
	first, second := history(a), history(b)
	if first != second || first == "" {
		t.Error("a clone does other things")
	}
	whole := history(busy(5, 300, Priority{Age: 1, FairShare: 1}))
	if n := len(whole) - len(first); n <= 0 || whole[n:] != first {
		t.Error("the same seed does other things")
	}
	if history(busy(6, 300, Priority{Age: 1, FairShare: 1})) == whole {
		t.Error("another seed does the same")
	}
}

// Equal jobs of equal priority start in the order of their submission.
func TestFirstComeFirstServed(t *testing.T) {
	s := &random{most: Resources{4, 1000, 0}, nodes: 1, left: 500, gap: 300, same: true}
	s.pcg.Seed(3, 1)
	c := New(Config{Partitions: []Partition{batch(4)}}, []Source{s})
	last, waited := int64(0), false
	c.Watch = func(j *Job) {
		if j.ID < last && j.Start > j.Submit {
			// A shorter one may go ahead, but only where it delays no other.
			waited = true
		}
		last = max(last, j.ID)
	}
	c.Run(1<<40, never)
	if n := c.Counts(); n.Ended != 500 {
		t.Fatalf("%+v", n)
	}
	if waited {
		t.Error("a job of one node waited although another such job that came later started")
	}
}

// The first job of the queue starts no later than when its resources were reserved for it.
func TestBackfillDoesNotDelayTheFirst(t *testing.T) {
	delays, checked := 0, 0
	for seed := range uint64(8) {
		c := busy(seed, 150, Priority{})
		promised := map[*Job]int64{}
		for c.nextTime() < 1<<40 {
			c.now = c.nextTime()
			c.step()
			for i, p := range c.partitions {
				if len(p.queue) == 0 {
					continue
				}
				c.Expect(i)
				first := p.queue[0]
				if _, known := promised[first]; !known && first.Expected > 0 {
					promised[first] = first.Expected
				}
			}
		}
		for j, at := range promised {
			checked++
			if j.Start > at {
				delays++
				t.Logf("seed %d: job %d was to start at %d, started at %d", seed, j.ID, at, j.Start)
			}
		}
	}
	if delays > 0 || checked < 100 {
		t.Errorf("%d of %d jobs delayed", delays, checked)
	}
}

// Three nodes: one job has two for 1000 s; the next needs three; short jobs may go ahead of it.
func TestBackfill(t *testing.T) {
	c := New(Config{Partitions: []Partition{batch(3)}}, nil)
	submit := func(nodes, limit, runtime int64) *Job {
		t.Helper()
		j, err := c.Submit(Request{Partitions: []int{0}, Nodes: nodes, Limit: limit, Runtime: runtime}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	first := submit(2, 1000, 700)
	c.Run(1, never)
	wide, long, short := submit(3, 600, 0), submit(1, 1500, 0), submit(1, 300, 0)
	if at, ok := c.Estimate(Request{Partitions: []int{0}, Nodes: 1, Limit: 60}); !ok || at != 301 && at > 361 {
		t.Errorf("another would start at %d, %v", at, ok)
	}
	c.Run(100, never)
	if first.Start != 0 || short.State != Running || short.Start != 30 || wide.State != Pending || long.State != Pending {
		t.Errorf("first %d, short %v %d, wide %v, long %v", first.Start, short.State, short.Start, wide.State, long.State)
	}
	if wide.Expected != 1020 { // the end of the time limit, rounded up to the resolution
		t.Errorf("wide is expected at %d", wide.Expected)
	}
	c.Run(1<<40, never)
	if wide.Start != 700 || long.Start != 1300 || short.Ended != 330 || short.End != TimedOut || first.End != Completed {
		t.Errorf("wide %d, long %d, short ended %d %v, first %v", wide.Start, long.Start, short.Ended, short.End, first.End)
	}
}

// A job that is shortened may fit before the reservation of an earlier one.
func TestShorten(t *testing.T) {
	c := New(Config{Partitions: []Partition{batch(2)}}, nil)
	submit := func(nodes, limit int64) *Job {
		j, _ := c.Submit(Request{Partitions: []int{0}, Nodes: nodes, Limit: limit}, nil, nil)
		return j
	}
	first := submit(1, 1000)
	c.Run(10, never)
	submit(2, 1000)
	long := submit(1, 2000)
	c.Run(100, never)
	if long.State != Pending || c.Shorten(long, 3000) || c.Shorten(first, 100) {
		t.Fatalf("long %v, first until %d", long.State, first.Limit)
	}
	if !c.Shorten(long, 600) {
		t.Fatal("it was not shortened")
	}
	c.Run(200, never)
	if long.Start != 120 {
		t.Errorf("shortened, it is %v, started at %d", long.State, long.Start)
	}
}

func TestCancelAndFinish(t *testing.T) {
	c := New(Config{Partitions: []Partition{batch(1), shared(1)}}, nil)
	over := 0
	request := Request{Partitions: []int{0}, Nodes: 1, Limit: 1000, Each: Resources{CPUs: 1}}
	a, _ := c.Submit(request, nil, func(*Job) { over++ })
	c.Run(10, never)
	b, _ := c.Submit(request, nil, func(*Job) { over++ })
	d, _ := c.Submit(request, nil, func(*Job) { over++ })
	c.Run(20, never)
	c.Cancel(b)
	c.Widen(d, 1)
	c.Run(60, never)
	if a.State != Running || b.State != Ended || b.End != Canceled || d.State != Running || d.Partition != 1 {
		t.Errorf("a %v, b %v %v, d %v in %d", a.State, b.State, b.End, d.State, d.Partition)
	}
	c.Finish(a)
	c.Cancel(a)
	if a.Ended != 60 || a.End != Completed || over != 2 {
		t.Errorf("a ended at %d, %v; %d over", a.Ended, a.End, over)
	}
	for _, bad := range []Request{
		{Partitions: []int{0}, Nodes: 2, Limit: 1}, {Partitions: []int{0}, Nodes: 1, Limit: 100_001}, {Partitions: []int{1}, Nodes: 1, Limit: 1, Each: Resources{CPUs: 9}},
	} {
		if _, err := c.Submit(bad, nil, nil); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// A user who has used much comes after one who has used nothing.
func TestFairShare(t *testing.T) {
	c := New(Config{Partitions: []Partition{batch(1)}, Priority: Priority{FairShare: 1}}, nil)
	submit := func(user int) *Job {
		j, _ := c.Submit(Request{User: user, Partitions: []int{0}, Nodes: 1, Limit: 1000}, nil, nil)
		return j
	}
	submit(1)
	c.Run(500, never)
	greedy, modest := submit(1), submit(2)
	c.Run(1<<40, never)
	if modest.Start != 1000 || greedy.Start != 2000 {
		t.Errorf("modest %d, greedy %d", modest.Start, greedy.Start)
	}
	plain := New(Config{Partitions: []Partition{batch(1)}}, nil)
	c = plain
	submit(1)
	c.Run(500, never)
	greedy, modest = submit(1), submit(2)
	c.Run(1<<40, never)
	if modest.Start != 2000 || greedy.Start != 1000 {
		t.Errorf("without fair share: modest %d, greedy %d", modest.Start, greedy.Start)
	}
}
