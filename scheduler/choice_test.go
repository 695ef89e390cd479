package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// clusterOf returns a cluster of the partition std with nodes of four CPUs, of which the
// numbers are free.
func clusterOf(free ...int64) *forecast.Cluster {
	c := &forecast.Cluster{At: noon}
	for i, n := range free {
		c.Nodes = append(c.Nodes, forecast.Node{
			Name: fmt.Sprintf("n%d", i+1), Partitions: []string{"std"}, Usable: true,
			Whole: placement.FreeNode{CPUs: 4, MemoryBytes: 8 * gib}, Free: placement.FreeNode{CPUs: n, MemoryBytes: n * 2 * gib},
		})
	}
	return c
}

// sweep returns jobs of one CPU and five minutes, and the partition std for them.
func sweep(jobs int64, cluster *forecast.Cluster) Snapshot {
	return Snapshot{
		Now: noon, Forecast: &forecast.Forecast{Cluster: cluster},
		Demand:  []Demand{{Class: placement.Class{ID: 1, CPUs: 1, MemoryBytes: gib, RuntimeSeconds: 300}, Pools: []string{"partition std"}, Ready: jobs, Since: noon}},
		Pools:   []Pool{{Name: "partition std", ActionID: 1, Node: Resources{CPUs: 4, MemoryBytes: 8*gib - runnerMemory}, Shared: true, MaxNodes: 4, MaxWalltime: 24 * time.Hour, Place: forecast.Place{Partitions: []string{"std"}}}},
		Actions: []AutoSchedule{{ActionID: 1}},
	}
}

// asked returns what a decision requests, as CPUs × minutes, the largest first.
func asked(d Decision) (all []string) {
	for _, a := range d.Actions {
		if a.Kind == Submit {
			all = append(all, fmt.Sprintf("%d × %d CPUs %s", a.Count, a.Shape.Nodes*a.Shape.Node.CPUs, a.Shape.Walltime))
		}
	}
	return all
}

func TestChoice(t *testing.T) {
	week := func(change func(*forecast.Past)) func(*Snapshot) {
		return func(s *Snapshot) {
			p := forecast.Past{Partition: "std", Nodes: 1, CPUs: 4, Walltime: time.Hour, Asked: noon.Add(-time.Hour), Waited: 2 * time.Hour}
			change(&p)
			s.Forecast.Past = append(s.Forecast.Past, slices.Repeat([]forecast.Past{p}, 30)...)
		}
	}
	whole := func(s *Snapshot) { s.Pools[0].Shared = false }
	for name, tc := range map[string]struct {
		free   []int64
		jobs   int64
		change []func(*Snapshot)
		want   string
	}{
		"each of four idle nodes":                     {[]int64{4, 4, 4, 4}, 40, nil, "3 × 4 CPUs 18m0s, 1 × 4 CPUs 6m0s"},
		"two idle nodes, two taken by others":         {[]int64{4, 4, 0, 0}, 40, nil, "2 × 4 CPUs 28m0s"},
		"what is free on busy nodes":                  {[]int64{4, 4, 2, 2}, 40, nil, "2 × 4 CPUs 23m0s, 1 × 2 CPUs 23m0s"},
		"one job":                                     {[]int64{4, 4, 4, 4}, 1, nil, "1 × 1 CPUs 6m0s"},
		"whole nodes":                                 {[]int64{4, 4, 4, 4}, 5, []func(*Snapshot){whole}, "2 × 4 CPUs 6m0s"},
		"cost: one whole node that stays busy":        {[]int64{4, 4, 4, 4}, 5, []func(*Snapshot){whole, func(s *Snapshot) { s.Actions[0].Prefer = PreferCost }}, "1 × 4 CPUs 12m0s"},
		"no more than the user allows":                {[]int64{4, 4, 4, 4}, 40, []func(*Snapshot){func(s *Snapshot) { s.Actions[0].MaxAllocations = 1 }}, "1 × 16 CPUs 18m0s"},
		"one of several nodes may be broken":          {[]int64{4, 4, 4, 4}, 40, []func(*Snapshot){func(s *Snapshot) { s.Actions[0].MaxAllocations, s.Pools[0].Failures.Wide = 1, true }}, "1 × 4 CPUs 53m0s"},
		"the walltime of the user":                    {[]int64{4, 4, 4, 4}, 40, []func(*Snapshot){func(s *Snapshot) { s.Pools[0].Walltime = 2 * time.Hour }}, "4 × 4 CPUs 2h0m0s"},
		"nothing free, and no experience":             {[]int64{0, 0, 0, 0}, 40, nil, "13 × 1 CPUs 18m0s, 1 × 1 CPUs 6m0s"},
		"long ones wait for long, short ones do not":  {[]int64{0, 0, 0, 0}, 40, []func(*Snapshot){week(func(*forecast.Past) {}), week(func(p *forecast.Past) { p.Walltime, p.Waited = 10*time.Minute, time.Minute })}, "6 × 2 CPUs 18m0s, 1 × 2 CPUs 12m0s"},
		"jobs end long before their declared runtime": {[]int64{4, 4, 0, 0}, 40, []func(*Snapshot){func(s *Snapshot) { s.Demand[0].LikelySeconds = 30 }}, "2 × 4 CPUs 9m0s"},
		"an estimate of one is not one for all": {[]int64{4, 4, 4, 4}, 2000, []func(*Snapshot){func(s *Snapshot) {
			s.Forecast.Probes = []forecast.Probe{{Request: forecast.Request{Place: s.Pools[0].Place, Nodes: 1, Node: placement.FreeNode{CPUs: 4, MemoryBytes: 8 * gib}, Walltime: 24 * time.Hour}, At: noon, Start: noon}}
			s.Demand[0].RuntimeSeconds = 60
		}}, "1 × 16 CPUs 2h8m0s"},
		"for the stages that follow":                 {[]int64{4, 4, 4, 4}, 16, []func(*Snapshot){func(s *Snapshot) { s.Ahead = ahead(s, 16, 16, 1) }}, "3 × 4 CPUs 23m0s, 1 × 1 CPUs 6m0s"},
		"the user's walltime is for the user to say": {[]int64{4, 4, 4, 4}, 16, []func(*Snapshot){func(s *Snapshot) { s.Ahead, s.Pools[0].Walltime = ahead(s, 16), time.Hour }}, "4 × 4 CPUs 1h0m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sweep(tc.jobs, clusterOf(tc.free...))
			for _, change := range tc.change {
				change(&s)
			}
			d := Plan(s)
			if got := strings.Join(asked(d), ", "); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
				for _, c := range d.Choices {
					t.Log(c.Line())
				}
			}
			if again := deeds(Plan(carriedOut(s, d))); len(again) > 0 {
				t.Errorf("and then %+v", again)
			}
			if len(d.Choices) == 0 || !d.Choices[0].Chosen || d.Choices[0].Reason == "" {
				t.Errorf("choices %+v", d.Choices)
			}
		})
	}
}

// ahead returns jobs like those of the demand, so many in each step.
func ahead(s *Snapshot, counts ...int64) (all []Ahead) {
	for i, n := range counts {
		all = append(all, Ahead{Class: s.Demand[0].Class, Steps: int64(i + 1), Count: n})
	}
	return all
}

// pendingAt returns a pending allocation of the sweep that was requested some time ago.
func pendingAt(id int64, ago, walltime time.Duration) Allocation {
	return Allocation{
		ID: id, ActionID: 1, Asked: noon.Add(-ago), Reason: "Resources", Place: forecast.Place{Partitions: []string{"std"}},
		Shape: Shape{Pool: "partition std", Nodes: 1, Node: Resources{CPUs: 4, MemoryBytes: 7 * gib}, Walltime: walltime},
	}
}

// TestPendingAllocations: what is pending is changed or replaced only for a clear gain, and not
// soon after it was requested.
func TestPendingAllocations(t *testing.T) {
	soonEnded := map[int64]forecast.Runtimes{1: {Count: forecast.EnoughRuntimes, Median: 20 * time.Second, Ninety: 25 * time.Second}}
	for name, tc := range map[string]struct {
		free   []int64
		jobs   int64
		change func(*Snapshot)
		want   string // kinds of the actions
	}{
		"one that has to queue stays": {[]int64{0, 0}, 40, func(s *Snapshot) {
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, ""},
		"all of them have a place: nothing more queues": {[]int64{0, 0}, 40, func(s *Snapshot) {
			for id := range int64(10) {
				a := pendingAt(id+1, time.Hour, 6*time.Minute)
				a.Expected = noon.Add(time.Duration(1+id) * time.Hour) // an estimate is no reason to cancel
				s.Allocations = append(s.Allocations, a)
			}
		}, ""},
		"nodes have become idle": {[]int64{4, 4, 4, 4}, 40, func(s *Snapshot) {
			a := pendingAt(1, time.Hour, 53*time.Minute)
			a.Place.Partitions, a.Expected = []string{"other"}, noon.Add(5*time.Hour)
			s.Allocations = []Allocation{a}
		}, "submit submit"},
		"as many as the user allows: it is replaced": {[]int64{4, 4, 4, 4}, 40, func(s *Snapshot) {
			a := pendingAt(1, time.Hour, 53*time.Minute)
			a.Place.Partitions, a.Expected = []string{"other"}, noon.Add(5*time.Hour)
			s.Allocations, s.Actions[0].MaxAllocations = []Allocation{a}, 1
		}, "cancel submit"},
		"requested a minute ago: nothing changes": {[]int64{4, 4, 4, 4}, 40, func(s *Snapshot) {
			a := pendingAt(1, time.Minute, 53*time.Minute)
			a.Place.Partitions, a.Expected = []string{"other"}, noon.Add(5*time.Hour)
			s.Allocations, s.Actions[0].MaxAllocations = []Allocation{a}, 1
		}, ""},
		"others have done most of its jobs: shorter": {[]int64{0, 0}, 4, func(s *Snapshot) {
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, "shorten"},
		"Slurm has refused to shorten it": {[]int64{0, 0}, 4, func(s *Snapshot) {
			a := pendingAt(1, time.Hour, 53*time.Minute)
			a.Fixed = true
			s.Allocations = []Allocation{a}
		}, ""},
		"more jobs will be ready: as long as before": {[]int64{0, 0}, 4, func(s *Snapshot) {
			s.Demand[0].Later = 10
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, ""},
		"all that will be ready follows, and ends soon: shorter": {[]int64{0, 0}, 4, func(s *Snapshot) {
			s.Demand[0].Later = 4
			s.Foresee(ahead(s, 4, 4, 4, 4, 4, 4, 4, 4, 4), soonEnded)
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, "shorten"},
		"more will be ready than follows: as long as before": {[]int64{0, 0}, 4, func(s *Snapshot) {
			s.Foresee(ahead(s, 4, 4, 4, 4, 4, 4, 4, 4, 5), soonEnded)
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, ""},
		"what follows needs all of it: as long as before": {[]int64{0, 0}, 4, func(s *Snapshot) {
			s.Ahead = ahead(s, 4, 4, 4, 4, 4, 4, 4, 4, 4)
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, ""},
		"a large one may start later than is expected: smaller ones stay": {[]int64{0, 0}, 4, func(s *Snapshot) {
			large, small := pendingAt(1, time.Minute, 6*time.Minute), pendingAt(2, time.Hour, 12*time.Minute)
			small.Shape.Node.CPUs, small.Expected = 2, noon.Add(10*time.Hour)
			s.Allocations = []Allocation{large, small}
		}, ""},
		"a small one has room for all: no larger one": {[]int64{0, 0}, 2, func(s *Snapshot) {
			large, small := pendingAt(1, time.Minute, 12*time.Minute), pendingAt(2, time.Hour, 6*time.Minute)
			small.Shape.Node.CPUs, large.Expected = 2, noon.Add(10*time.Hour)
			s.Allocations = []Allocation{large, small}
		}, "cancel"},
		"no job is left": {[]int64{4, 4}, 0, func(s *Snapshot) {
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 53*time.Minute)}
		}, "cancel"},
		"free, but Slurm does not start it: smaller ones might": {[]int64{4, 4, 4, 4}, 4, func(s *Snapshot) {
			s.Allocations = []Allocation{pendingAt(1, time.Hour, 6*time.Minute)}
		}, "submit"},
		"none smaller is possible: no second one": {[]int64{4, 4, 4, 4}, 1, func(s *Snapshot) {
			s.Allocations, s.Demand[0].CPUs, s.Pools[0].Shared = []Allocation{pendingAt(1, time.Hour, 6*time.Minute)}, 4, false
			s.Allocations[0].Shape.WholeNodes = true
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := sweep(tc.jobs, clusterOf(tc.free...))
			tc.change(&s)
			d := Plan(s)
			var kinds []string
			for _, a := range deeds(d) {
				kinds = append(kinds, a.Kind.String())
			}
			if got := strings.Join(kinds, " "); got != tc.want {
				t.Errorf("%q, want %q: %+v", got, tc.want, d.Actions)
			}
		})
	}
}

// TestTheRestIsRequested: what max_submit_per_minute has cut off is requested a minute later, although
// all jobs have a place.
func TestTheRestIsRequested(t *testing.T) {
	s := sweep(120, clusterOf(slices.Repeat([]int64{4}, 30)...))
	s.Pools[0].MaxNodes = 1
	requested := 0
	for range 3 {
		d := Plan(s)
		for _, a := range d.Actions {
			requested += a.Count
		}
		s = carriedOut(s, d)
		s.Now = s.Now.Add(65 * time.Second)
	}
	if requested != 30 {
		t.Errorf("%d requested, want one for each of 30 nodes", requested)
	}
}

// TestTheRestIsNoLarger: what has been cut off is not requested as larger allocations because Slurm
// expects the first ones to start late.
func TestTheRestIsNoLarger(t *testing.T) {
	first := pendingAt(1, time.Minute, time.Hour)
	wait := forecast.Wait{Low: time.Hour, Likely: time.Hour, High: time.Hour}
	of := func(cpus, left int64) *option {
		return &option{slots: []slot{{draft: &draft{}, cpus: cpus, wait: wait}}, left: left}
	}
	none, small, large := &option{}, of(4, 0), of(8, 0)
	for name, tc := range map[string]struct {
		change  func(*chooser)
		options []*option
		want    int
	}{
		"no larger ones":                       {func(*chooser) {}, []*option{none, small, large}, 2},
		"only larger ones have room for all":   {func(*chooser) {}, []*option{{left: 2}, of(4, 2), large}, 3},
		"nothing has been cut off":             {func(c *chooser) { c.action.MaxSubmitPerMinute = 2 }, []*option{none, small, large}, 3},
		"the first ones have started":          {func(*chooser) { first.State = Active }, []*option{none, small, large}, 3},
		"the first ones were requested before": {func(c *chooser) { c.Now = noon.Add(time.Hour) }, []*option{none, small, large}, 3},
	} {
		first.State = Pending
		c := &chooser{
			planner: &planner{Snapshot: Snapshot{Now: noon}, supply: []*Allocation{&first}},
			action:  &AutoSchedule{ActionID: 1, MaxSubmitPerMinute: 1},
			outlook: &outlook{slots: []slot{{Allocation: &first, cpus: 4, wait: wait}}},
		}
		tc.change(c)
		if got := c.steady(tc.options); len(got) != tc.want {
			t.Errorf("%s: %d options, want %d", name, len(got), tc.want)
		}
	}
}

// TestWhatFollowsRunsInTheSamePlaces: stages of 16 jobs get 16 CPUs for as long as all last, and those
// that run count.
func TestWhatFollowsRunsInTheSamePlaces(t *testing.T) {
	s := sweep(16, clusterOf(4, 4, 4, 4, 4, 4, 4, 4))
	s.Ahead = ahead(&s, 16, 16)
	d := Plan(s)
	cpus := int64(0)
	for _, a := range d.Actions {
		if cpus += int64(a.Count) * a.Shape.Nodes * a.Shape.Node.CPUs; a.Kind == Submit && a.Shape.Walltime < 15*time.Minute {
			t.Errorf("%s for three stages of 5 min", a.Shape.Walltime)
		}
	}
	if c := d.Coverage[0]; cpus != 16 || c.Asked != 16 {
		t.Errorf("%d CPUs for %d jobs", cpus, c.Asked)
	}
	s = carriedOut(s, d)
	for i := range s.Allocations {
		a := &s.Allocations[i]
		a.State, a.End = Active, noon.Add(a.Shape.Walltime)
		a.Running = []Running{{Each: s.Demand[0].each(), Nodes: 1, Count: a.Shape.Nodes * 4, Until: noon.Add(5 * time.Minute), ClassID: 1, Declared: 5 * time.Minute}}
	}
	s.Demand[0].Ready, s.Now = 2, noon.Add(4*time.Minute) // two stages begin
	s.Allocations[0].Running[0].Count -= 2
	if d := deeds(Plan(s)); len(d) > 0 {
		t.Errorf("and then %+v", d)
	}
}

// TestDoubts: Slurm is asked about what has to queue and is not known, not about what is free
// or known.
func TestDoubts(t *testing.T) {
	if d := Plan(sweep(40, clusterOf(4, 4, 4, 4))); len(d.Doubts) > 0 {
		t.Errorf("all is free: %+v", d.Doubts)
	}
	s := sweep(40, clusterOf(0, 0))
	d := Plan(s)
	if len(d.Doubts) == 0 || len(d.Doubts) > doubtsOf {
		t.Fatalf("%d doubts", len(d.Doubts))
	}
	for _, x := range d.Doubts {
		s.Forecast.Probes = append(s.Forecast.Probes, forecast.Probe{Request: x.Request, At: noon, Start: noon.Add(time.Hour)})
	}
	if chosen := Plan(s).Choices[0]; chosen.Start < 30*time.Minute || !strings.Contains(Plan(s).Actions[0].Reason, "test-only") {
		t.Errorf("after the answers: %s", chosen.Line())
	}
}
