package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/scheduler/forecast"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const gib = 1 << 30

// drawPool draws a partition or a scheduler. Nodes are small, so that jobs
// often do not fit.
func drawPool(t *rapid.T, i int) Pool {
	p := Pool{
		Name: fmt.Sprintf("pool%d", i), ActionID: rapid.Int64Range(1, 2).Draw(t, "action"),
		Node: Resources{CPUs: rapid.Int64Range(1, 16).Draw(t, "cpus"), MemoryBytes: rapid.Int64Range(1, 32).Draw(t, "gib") * gib, GPUs: rapid.Int64Range(0, 2).Draw(t, "gpus"),
			Slots: rapid.SampledFrom([]int64{0, 0, 1, 3, 20}).Draw(t, "slots")},
		Shared: rapid.Bool().Draw(t, "shared"), MaxNodes: rapid.Int64Range(0, 4).Draw(t, "max nodes"),
		MaxWalltime: time.Duration(rapid.IntRange(0, 300).Draw(t, "max walltime")) * time.Minute,
		Serialize:   rapid.Bool().Draw(t, "serialize"),
	}
	if rapid.Bool().Draw(t, "scheduler") {
		p.SchedulerID = new(int64(i))
		p.Walltime = time.Duration(rapid.IntRange(0, 120).Draw(t, "walltime")) * time.Minute
		if p.MaxWalltime > 0 {
			p.Walltime = min(p.Walltime, p.MaxWalltime)
		}
		p.Asks.MemoryBytes = rapid.Int64Range(0, 8).Draw(t, "mem") * gib
	}
	if p.MaxNodes > 0 && rapid.IntRange(0, 3).Draw(t, "fixed nodes") == 0 {
		p.Nodes = rapid.Int64Range(1, p.MaxNodes).Draw(t, "nodes")
	}
	if rapid.IntRange(0, 3).Draw(t, "labelled") == 0 {
		p.Labels = []string{"a", "b"}
	}
	if rapid.Bool().Draw(t, "hosts known") {
		p.Hosts = []string{"n1", "n2", "n3", "n4"}[:rapid.IntRange(1, 4).Draw(t, "hosts")]
	}
	if rapid.Bool().Draw(t, "spare") {
		p.Spares = []Spare{{Partition: "spare", Node: Resources{CPUs: rapid.Int64Range(1, 16).Draw(t, "spare cpus"), MemoryBytes: 16 * gib, GPUs: 1}}}
	}
	if len(p.Hosts) > 1 && (p.MaxNodes == 0 || p.MaxNodes > 1) && rapid.IntRange(0, 3).Draw(t, "named") == 0 {
		p.Required = p.Hosts[:rapid.IntRange(1, 2).Draw(t, "names")]
	}
	switch rapid.IntRange(0, 9).Draw(t, "trouble") {
	case 0:
		p.Hold = &Hold{Until: noon.Add(time.Minute), Reason: "QOSMaxSubmitJobPerUserLimit", Limit: rapid.Bool().Draw(t, "limit")}
	case 1:
		p.Failures = Failures{InARow: rapid.IntRange(1, 9).Draw(t, "failures"), Last: noon.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "failed")) * time.Minute), Reason: "no such account",
			Refused: rapid.Bool().Draw(t, "refused")}
	case 2:
		p.Room = new(rapid.IntRange(0, 3).Draw(t, "room"))
	}
	return p
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func drawDemand(t *rapid.T, i int, pools []Pool) Demand {
	d := Demand{
		Class: placement.Class{
			ID: int64(i), Priority: rapid.Int64Range(0, 1).Draw(t, "priority"), CPUs: rapid.Int64Range(1, 16).Draw(t, "cpus"),
			GPUs: rapid.Int64Range(0, 1).Draw(t, "gpus"), MemoryBytes: rapid.Int64Range(0, 16).Draw(t, "gib") * gib,
			Nodes: rapid.SampledFrom([]int64{1, 1, 1, 2, 3}).Draw(t, "nodes"), RuntimeSeconds: rapid.SampledFrom([]int64{0, 1, 50, 60, 600, 3600, 7200, seconds(pools[0].Walltime), seconds(pools[0].MaxWalltime)}).Draw(t, "runtime"),
		},
		Ready: rapid.Int64Range(0, 300).Draw(t, "ready"), Later: rapid.Int64Range(0, 1).Draw(t, "later") * rapid.Int64Range(0, 300).Draw(t, "how many later"),
		Since: noon.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "since")) * time.Second),
	}
	d.LikelySeconds = rapid.SampledFrom([]int64{0, 0, 1, d.RuntimeSeconds / 10, d.RuntimeSeconds}).Draw(t, "likely")
	if rapid.IntRange(0, 3).Draw(t, "labelled") == 0 {
		d.Labels = []string{"a"}
	}
	if rapid.IntRange(0, 3).Draw(t, "avoids") == 0 {
		d.Avoid = []string{"n1", "n2"}[:rapid.IntRange(1, 2).Draw(t, "avoid")]
	}
	action := rapid.SampledFrom(pools).Draw(t, "pool").ActionID
	for _, p := range pools {
		if p.ActionID == action {
			d.Pools = append(d.Pools, p.Name)
		}
	}
	if pools[0].SchedulerID != nil && rapid.Bool().Draw(t, "bound") {
		d.SchedulerID, d.Pools = pools[0].SchedulerID, []string{pools[0].Name}
	}
	return d
}

// drawSnapshot draws a workflow. Its allocations come of an earlier plan for
// other demand, so that they have shapes that occur.
func drawSnapshot(t *rapid.T) Snapshot {
	s := Snapshot{Now: noon, Working: rapid.Bool().Draw(t, "working"), Ended: rapid.IntRange(0, 9).Draw(t, "ended") == 9}
	for i := range rapid.IntRange(1, 3).Draw(t, "pools") {
		s.Pools = append(s.Pools, drawPool(t, i+1))
	}
	for id := range 2 {
		s.Actions = append(s.Actions, AutoSchedule{
			ActionID: int64(id + 1), MinReadyJobs: rapid.Int64Range(0, 20).Draw(t, "min ready"), MaxAllocations: rapid.IntRange(0, 30).Draw(t, "max allocations"),
			MaxSubmitPerMinute: rapid.SampledFrom([]int{0, 3, 100}).Draw(t, "max submit"), Submitted: []time.Time{noon.Add(-30 * time.Second), noon.Add(-time.Hour)},
		})
	}
	draw := func(what string) (list []Demand) {
		for i := range rapid.IntRange(0, 4).Draw(t, what) {
			list = append(list, drawDemand(t, i+1, s.Pools))
		}
		return list
	}
	if rapid.Bool().Draw(t, "forecast") {
		s.Forecast = drawForecast(t)
		for i := range s.Pools {
			s.Pools[i].Place = forecast.Place{Partitions: []string{fmt.Sprintf("part%d", i%2)}}
		}
	}
	s.Demand = draw("earlier demand")
	s = carriedOut(s, Plan(s))
	s.Demand = draw("demand")
	switch rapid.IntRange(0, 9).Draw(t, "held") {
	case 8:
		s.Held = &Hold{Reason: "claims are held", Keep: rapid.Bool().Draw(t, "keep")}
	case 9:
		s.Held = &Hold{Reason: "claims are held", Until: noon.Add(time.Hour)}
	}
	for i := range s.Allocations {
		a := &s.Allocations[i]
		a.Asked = noon.Add(-time.Duration(rapid.IntRange(0, 60).Draw(t, "asked")) * time.Minute)
		switch rapid.IntRange(0, 3).Draw(t, "state") {
		case 0:
			a.State, a.End, a.Hosts = Active, noon.Add(a.Shape.Walltime/2), []string{"n1", "n2", "n3", "n4"}[:min(a.Shape.Nodes, 4)]
			a.Running = []Running{{Each: Resources{CPUs: 1}, Nodes: 1, Count: 1, Until: noon.Add(time.Duration(rapid.IntRange(-9, 9).Draw(t, "until")) * time.Minute)}}
		case 1:
			a.State = Closed
		case 2:
			a.Requeued = rapid.Bool().Draw(t, "requeued")
			a.Eligible = noon.Add(time.Duration(rapid.IntRange(0, 30).Draw(t, "eligible")) * time.Minute)
		case 3:
			if rapid.Bool().Draw(t, "returning") {
				a.State = Returning
			}
		}
		a.Reason = rapid.SampledFrom([]string{"", "Priority", "BeginTime"}).Draw(t, "reason")
		if rapid.IntRange(0, 5).Draw(t, "by hand") == 0 {
			a.ActionID = 0
		}
	}
	return s
}

// drawForecast draws a cluster of two partitions, and what is known of waits there.
func drawForecast(t *rapid.T) *forecast.Forecast {
	f := &forecast.Forecast{Cluster: &forecast.Cluster{At: noon}}
	for i := range rapid.IntRange(0, 6).Draw(t, "nodes") {
		n := forecast.Node{Name: fmt.Sprintf("n%d", i+1), Usable: rapid.IntRange(0, 5).Draw(t, "usable") > 0, Partitions: []string{"part0", "part1"}[:rapid.IntRange(1, 2).Draw(t, "partitions")]}
		n.Whole = placement.FreeNode{CPUs: rapid.Int64Range(1, 16).Draw(t, "node cpus"), MemoryBytes: 32 * gib, GPUs: 2}
		n.Free = placement.FreeNode{CPUs: rapid.Int64Range(0, n.Whole.CPUs).Draw(t, "free cpus"), MemoryBytes: 32 * gib, GPUs: 2}
		f.Cluster.Nodes = append(f.Cluster.Nodes, n)
	}
	for range rapid.IntRange(0, 5).Draw(t, "past") {
		f.Past = append(f.Past, forecast.Past{
			Partition: "part0", Nodes: 1, CPUs: rapid.Int64Range(1, 16).Draw(t, "past cpus"), Walltime: time.Duration(rapid.IntRange(1, 300).Draw(t, "past walltime")) * time.Minute,
			Asked: noon.Add(-time.Hour * time.Duration(rapid.IntRange(0, 200).Draw(t, "past asked"))), Waited: time.Second * time.Duration(rapid.IntRange(0, 20000).Draw(t, "waited")),
			NotStarted: rapid.Bool().Draw(t, "not started"), Free: rapid.Bool().Draw(t, "was free"),
		})
	}
	return f
}

// carriedOut is the snapshot after the decision: a moment later, but for the
// clock.
func carriedOut(s Snapshot, d Decision) Snapshot {
	s.Allocations, s.Actions, s.Pools = slices.Clone(s.Allocations), slices.Clone(s.Actions), slices.Clone(s.Pools)
	for _, a := range d.Actions {
		switch a.Kind {
		case Widen:
			i := slices.IndexFunc(s.Allocations, func(o Allocation) bool { return o.ID == a.Allocation })
			s.Allocations[i].Widened = true
		case Shorten:
			i := slices.IndexFunc(s.Allocations, func(o Allocation) bool { return o.ID == a.Allocation })
			s.Allocations[i].Shape.Walltime, s.Allocations[i].Shortened = a.Shape.Walltime, s.Now
		case Cancel:
			s.Allocations = slices.DeleteFunc(s.Allocations, func(o Allocation) bool { return o.ID == a.Allocation })
			for i := range s.Actions {
				s.Actions[i].Canceled = append(slices.Clone(s.Actions[i].Canceled), s.Now)
			}
		case Submit, Probe:
			for range a.Count {
				s.Allocations = append(s.Allocations, Allocation{ID: nextID(s), ActionID: a.ActionID, Shape: a.Shape, Asked: s.Now, Place: poolOf(s, a.Pool).Place})
				i := slices.IndexFunc(s.Actions, func(o AutoSchedule) bool { return o.ActionID == a.ActionID })
				s.Actions[i].Submitted = append(slices.Clone(s.Actions[i].Submitted), s.Now)
			}
			if p := &s.Pools[slices.IndexFunc(s.Pools, func(o Pool) bool { return o.Name == a.Pool })]; p.Room != nil {
				p.Room = new(*p.Room - a.Count)
			}
		}
	}
	return s
}

func nextID(s Snapshot) int64 {
	id := int64(1)
	for _, a := range s.Allocations {
		id = max(id, a.ID+1)
	}
	return id
}

// deeds are the actions that change something.
func deeds(d Decision) (list []Action) {
	for _, a := range d.Actions {
		if a.Kind == Submit || a.Kind == Probe || a.Kind == Cancel || a.Kind == Widen || a.Kind == Shorten {
			list = append(list, a)
		}
	}
	return list
}

func TestEveryJobIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		d := Plan(s)
		if len(d.Coverage) != len(s.Demand) {
			t.Fatalf("%d answers for %d demands", len(d.Coverage), len(s.Demand))
		}
		for _, c := range d.Coverage {
			if c.Live+c.Pending+c.Asked+c.Uncovered != c.Ready || min(c.Live, c.Pending, c.Asked, c.Uncovered) < 0 {
				t.Errorf("jobs do not add up: %+v", c)
			}
			if (c.Uncovered > 0) != (c.Reason != "") {
				t.Errorf("uncovered without a reason, or covered with one: %+v", c)
			}
		}
		for _, a := range d.Actions {
			if a.Reason == "" {
				t.Errorf("no reason: %+v", a)
			}
		}
	})
}

// TestNothingIsAskedForInVain: while nothing changes but the time, what a plan has
// requested is not canceled by a later one, and in the end nothing more is done.
func TestNothingIsAskedForInVain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.Ended = false
		s.Allocations = slices.DeleteFunc(s.Allocations, func(a Allocation) bool { return a.State == Active })
		for i := range s.Allocations {
			if a := &s.Allocations[i]; a.ActionID == 0 {
				a.Eligible = time.Time{} // else it is counted on some day
			}
		}
		ours := nextID(s)
		replaced := map[time.Time]bool{} // when
		for range 40 {
			d := Plan(s)
			for _, a := range d.Actions {
				if s.Forecast != nil && a.Kind == Cancel && strings.HasPrefix(a.Reason, "new allocations are expected") {
					replaced[s.Now] = true // the facts have changed: a pool may be used again, or what was free is not
					continue
				}
				if a.Kind == Cancel && a.Allocation >= ours {
					t.Errorf("at %s: %s", s.Now.Format("15:04"), a.Reason)
				}
			}
			s = carriedOut(s, d)
			s.Now = s.Now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "minutes")) * time.Minute)
		}
		if len(replaced) > 2 {
			t.Errorf("replaced again and again: %v", replaced)
		}
	})
}

func TestPlanIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		first := Plan(s)
		after := carriedOut(s, first)
		if again := deeds(Plan(after)); len(again) > 0 {
			t.Errorf("more to do at the same moment: %+v\nafter %+v", again, first)
		}
	})
}

func TestPlanIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		r := s
		r.Demand = rapid.Permutation(s.Demand).Draw(t, "demand")
		r.Allocations = rapid.Permutation(s.Allocations).Draw(t, "allocations")
		r.Pools = rapid.Permutation(s.Pools).Draw(t, "pools")
		r.Actions = rapid.Permutation(s.Actions).Draw(t, "actions")
		if diff := cmp.Diff(Plan(s), Plan(r)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWhatIsAskedForIsClaimed: each ready job for which allocations are requested
// fits one of them as the claim of its runner sees it, also when that has taken
// some time to start, and in each allocation some ready job fits.
func TestWhatIsAskedForIsClaimed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		d := Plan(s)
		late := rapid.Float64Range(0, 1).Draw(t, "late")
		var asked []Shape
		for _, a := range d.Actions {
			if a.Kind != Submit && a.Kind != Probe {
				continue
			}
			asked = append(asked, a.Shape)
			if !slices.ContainsFunc(s.Demand, func(d Demand) bool { return d.Ready > 0 && claims(a.Shape, late, d.Class) }) {
				t.Errorf("no job fits %+v", a)
			}
		}
		for i := range d.Coverage {
			c := &d.Coverage[i]
			of := slices.IndexFunc(s.Demand, func(d Demand) bool { return d.ID == c.ClassID && slices.Equal(d.Avoid, c.Avoid) })
			if c.Asked > 0 && !slices.ContainsFunc(asked, func(a Shape) bool { return claims(a, late, s.Demand[of].Class) }) {
				t.Errorf("%d of %+v are to run in %+v, where they do not fit", c.Asked, s.Demand[of].Class, asked)
			}
		}
	})
}

// claims reports whether the runner of an allocation takes a job of a class when
// it starts late: 1 is as late as an allocation counts as fresh.
func claims(s Shape, late float64, c placement.Class) bool {
	elapsed := time.Duration(late * float64(placement.Fresh(s.Walltime))).Truncate(time.Second)
	fits, _ := placement.NewPacker(offerOf(s, elapsed)).Fits(c)
	return fits
}

// offerOf is what the runners of an allocation offer some time after its start.
func offerOf(s Shape, elapsed time.Duration) placement.Offer {
	left := s.Walltime - elapsed
	node := placement.FreeNode{CPUs: s.Node.CPUs, MemoryBytes: s.Node.MemoryBytes, GPUs: s.Node.GPUs}
	grace := Settings{}.withDefaults().Margins.Within(s.Walltime).Grace
	o := placement.Offer{
		Nodes: []placement.FreeNode{node}, Slots: 1000, Labels: s.Labels, SchedulerConfigID: s.SchedulerID, StrictScheduler: true,
		TimeLeftSeconds: new(seconds(left - grace)), WholeSeconds: seconds(placement.WholeRuntime(s.Walltime, left)),
	}
	if s.Together {
		o.Nodes = slices.Repeat(o.Nodes, int(s.Nodes))
	}
	return o
}

func TestLimitsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		d := Plan(s)
		asked := make(map[int64]int)
		perPool := make(map[string]int)
		for _, a := range d.Actions {
			asked[a.ActionID] += a.Count
			perPool[a.Pool] += a.Count
			if p := poolOf(s, a.Pool); p != nil && a.Shape.Pool != "" {
				switch {
				case p.MaxWalltime > 0 && a.Shape.Walltime > p.MaxWalltime, a.Shape.Walltime < p.Walltime, a.Shape.Walltime%time.Minute != 0:
					t.Errorf("walltime %s in %+v", a.Shape.Walltime, p)
				case p.MaxNodes > 0 && a.Shape.Nodes > p.MaxNodes, !p.leaves(a.Shape.Nodes, a.Shape.Exclude):
					t.Errorf("%d nodes without %v in %+v", a.Shape.Nodes, a.Shape.Exclude, p)
				case slices.ContainsFunc(a.Shape.Exclude, func(host string) bool { return slices.Contains(p.Required, host) }):
					t.Errorf("%v excluded in %+v", a.Shape.Exclude, p)
				case a.Shape.Node.most(p.Node.most(p.Asks)) != p.Node.most(p.Asks):
					t.Errorf("%+v of a node in %+v", a.Shape.Node, p)
				}
			}
		}
		for _, a := range s.Actions {
			a = a.withDefaults(s.foresees())
			there := 0
			for _, o := range carriedOut(s, d).Allocations {
				if o.ActionID == a.ActionID || o.ActionID == 0 {
					there++
				}
			}
			if n := asked[a.ActionID]; n > a.MaxSubmitPerMinute-1 || n > 0 && there > a.MaxAllocations {
				t.Errorf("action %+v asks for %d, then there are %d", a, n, there)
			}
		}
		if s.Held != nil && slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Kind == Submit || a.Kind == Probe }) {
			t.Errorf("asked for although claims are held: %+v", d.Actions)
		}
		for _, p := range s.Pools {
			n := perPool[p.Name]
			if p.Hold != nil && n > 0 || p.Room != nil && n > *p.Room || p.Failures.InARow >= 5 && n > 1 {
				t.Errorf("%d asked for in %+v", n, p)
			}
		}
	})
}

func poolOf(s Snapshot, name string) *Pool {
	if i := slices.IndexFunc(s.Pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
		return &s.Pools[i]
	}
	return nil
}

// TestProgress: where no limit holds it back, all demand that fits is covered.
func TestProgress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.Ended, s.Held = false, nil
		for i := range s.Pools {
			p := &s.Pools[i]
			p.Hold, p.Room, p.Failures = nil, nil, Failures{}
		}
		for i := range s.Actions {
			s.Actions[i].MaxAllocations, s.Actions[i].MaxSubmitPerMinute, s.Actions[i].MinReadyJobs = 1<<20, 1<<20, 1
		}
		d := Plan(s)
		set := Settings{}.withDefaults()
		for _, c := range d.Coverage {
			demand := s.Demand[slices.IndexFunc(s.Demand, func(d Demand) bool { return d.ID == c.ClassID })]
			fits := slices.ContainsFunc(demand.Pools, func(name string) bool { return poolOf(s, name).misfit(&demand, &set) == "" })
			if fits && c.Uncovered > 0 {
				t.Errorf("nothing limits it: %+v", c)
			}
		}
	})
}

// TestCapacityIsBounded: what live and pending allocations can take is at most
// the demand and one allocation of each shape (promise P10). With jobs of one
// kind it can be counted exactly.
func TestCapacityIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.Demand, s.Allocations, s.Forecast = []Demand{drawDemand(t, 1, s.Pools)}, nil, nil
		s.Demand[0].LikelySeconds = 0
		job := s.Demand[0]
		after := carriedOut(s, Plan(s))
		job.Ready = rapid.Int64Range(0, job.Ready).Draw(t, "still ready")
		after.Demand = []Demand{job}
		after = carriedOut(after, Plan(after))

		capacity, slack := int64(0), make(map[string]int64)
		for _, a := range after.Allocations {
			n := capacityOf(a.Shape, &job)
			capacity += n
			shape := fmt.Sprintf("%+v", a.Shape)
			slack[shape] = n
		}
		allowed := job.Ready + job.Later
		for _, n := range slack {
			allowed += n
		}
		if capacity > allowed {
			t.Errorf("capacity for %d jobs, but %d ready, %d later, slack %v", capacity, job.Ready, job.Later, slack)
		}
	})
}

// capacityOf counts how many jobs of one kind an allocation can take.
func capacityOf(s Shape, d *Demand) int64 {
	rows := int64(Settings{}.withDefaults().Margins.Usable(s.Walltime)/time.Second) / d.seconds()
	if d.nodes() > 1 {
		return s.Nodes / d.nodes() * rows
	}
	each := d.each()
	each.Slots = min(s.Node.Slots, 1)
	return s.Nodes * s.Node.holds(each) * rows
}

// TestForecastRequestsWhatIsUsed: with a forecast no more is requested than has jobs, and all of it
// is canceled when no job is left (promise P10). An allocation may have room for more jobs than
// there are, so that they run side by side.
func TestForecastRequestsWhatIsUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		s.Forecast, s.Allocations, s.Ended, s.Held = drawForecast(t), nil, false, nil
		jobs, requested := int64(0), int64(0)
		for i := range s.Demand {
			jobs += s.Demand[i].Ready
		}
		d := Plan(s)
		for _, a := range d.Actions {
			requested += int64(a.Count)
		}
		if requested > jobs {
			t.Errorf("%d allocations for %d jobs: %+v", requested, jobs, d.Actions)
		}
		after := carriedOut(s, d)
		after.Demand = nil
		if left := carriedOut(after, Plan(after)).Allocations; len(left) > 0 {
			t.Errorf("no job is left, but %d allocations stay", len(left))
		}
	})
}
