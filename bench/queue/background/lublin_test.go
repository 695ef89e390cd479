package background

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
)

const draws = 100_000

// wholeNodes is what sizes mean in a partition of nodes that are not shared.
func wholeNodes(largest int) Sizes {
	return Sizes{
		Largest: largest,
		Request: func(n int64) cluster.Request { return cluster.Request{Nodes: n} },
		Work:    func(r *cluster.Request) float64 { return float64(r.Nodes) },
	}
}

func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*math.Abs(want) {
		t.Errorf("%s: %.4g, want %.4g", what, got, want)
	}
}

// The means that follow from the published parameters.
func TestModelHasItsMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	serial, powers, sum := 0, 0, 0.0
	for range draws {
		size := sizeOf(r, Largest)
		if size < 1 || size > Largest {
			t.Fatalf("size %d", size)
		}
		sum += math.Log2(float64(size))
		if size == 1 {
			serial++
		} else if size&(size-1) == 0 {
			powers++
		}
	}
	// E(u) = (Uprob·Ulow + Umed + (1−Uprob)·Uhi)/2, as the authors give it.
	u := (0.86*0.8 + 4.5 + 0.14*7) / 2
	near(t, "part of serial jobs", float64(serial)/draws, 0.244, 0.02)
	near(t, "mean of log2 of the size", sum/draws, (1-0.244)*u, 0.02)
	if part := float64(powers) / float64(draws-serial); part < 0.576 || part > 0.75 { // others are powers by chance
		t.Errorf("%.3f of the parallel jobs are powers of two", part)
	}
	for _, size := range []int64{1, 64, 144} {
		p := max(-0.0054*float64(size)+0.78, 0)
		sum, longest := 0.0, int64(0)
		for range draws {
			runtime := runtimeOf(r, size)
			sum += math.Log(float64(runtime))
			longest = max(longest, runtime)
		}
		// E(h) = p·a1·b1 + (1−p)·a2·b2; the limit and rounding down lower it a little.
		near(t, "mean of the log of the runtime", sum/draws, p*4.2*0.94+(1-p)*312*0.03, 0.03)
		if longest > int64(math.Exp(12)) {
			t.Errorf("a job runs for %d s", longest)
		}
	}
	sum = 0
	for range draws {
		sum += math.Log(gapOf(r))
	}
	near(t, "mean of the log of the gap", sum/draws, 10.2303*1.0225*0.4871, 0.02)
}

// Jobs arrive as often as gives the load, mostly in the afternoon.
func TestLoadAndDay(t *testing.T) {
	for _, load := range []float64{0.5, 1.1} {
		s := Settings{Sizes: wholeNodes(Largest), CPUs: 1000, Load: load, Users: 10, MostLimit: 200_000}
		l := New(s, 7)
		const days = 200
		work, jobs, last := 0.0, 0, int64(0)
		var hours [24]int
		users := map[int]int{}
		for {
			a, ok := l.Next()
			if !ok || a.At < last {
				t.Fatalf("%+v after %d", a, last)
			}
			if last = a.At; a.At > days*86400 {
				break
			}
			if a.Limit < a.Runtime && a.Limit != s.MostLimit || a.Runtime < 1 || a.User < 1 || a.User > s.Users {
				t.Fatalf("%+v", a)
			}
			work += float64(a.Runtime * a.Nodes)
			hours[a.At/3600%24]++
			users[a.User]++
			jobs++
		}
		near(t, "load", work/(days*86400*1000), load, 0.1)
		night, afternoon := hours[3]+hours[4], hours[14]+hours[15]
		if night*3 > afternoon {
			t.Errorf("%d jobs at night, %d in the afternoon", night, afternoon)
		}
		if len(users) != 10 || users[1] < 2*users[5] {
			t.Errorf("users %v", users)
		}
	}
}

func TestLublinIsDeterministic(t *testing.T) {
	s := Settings{Sizes: wholeNodes(64), CPUs: 100, Load: 0.8, Users: 5, MostLimit: 100_000}
	a, b, other := New(s, 1), New(s, 1), New(s, 2)
	differs := false
	for i := range 1000 {
		x, _ := a.Next()
		y, _ := b.Next()
		z, _ := other.Next()
		if x.At != y.At || x.Runtime != y.Runtime || x.Limit != y.Limit || x.Nodes != y.Nodes {
			t.Fatalf("job %d: %+v, %+v", i, x, y)
		}
		differs = differs || x.At != z.At
		if i == 500 {
			b = a.Clone().(*Lublin)
		}
	}
	if !differs {
		t.Error("another seed gives the same jobs")
	}
}

func TestLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	s := Settings{MostLimit: 86400}
	longest := 0
	for range draws {
		l := s.limit(r, 600)
		if l < 600 || l > 86400 {
			t.Fatalf("limit %d", l)
		}
		if l == 86400 {
			longest++
		}
	}
	near(t, "part with the longest limit", float64(longest)/draws, 0.1, 0.1)
	s.Exact = true
	if l := s.limit(r, 601); l != 660 {
		t.Errorf("an exact user asks for %d s", l)
	}
}
