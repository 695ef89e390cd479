package scheduler

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRoomTakes(t *testing.T) {
	cpus := func(n int64) Resources { return Resources{CPUs: n} }
	for _, tc := range []struct {
		name  string
		nodes int64
		cpus  int64
		hours int64
		loads []load
		ask   int64
		want  []int64
		busy  int64 // hours
	}{
		{"side by side, then one after the other", 1, 10, 3, []load{{cpus(1), 1, 3600, 0, 0}}, 15, []int64{15}, 2},
		{"no more than fit", 2, 10, 3, []load{{cpus(3), 1, 3600, 0, 0}}, 100, []int64{18}, 3},
		{"beside others and after them", 1, 10, 3, []load{{cpus(8), 1, 7200, 0, 0}, {cpus(2), 1, 3600, 0, 0}}, 100, []int64{1, 7}, 3},
		{"where several small ones were", 1, 10, 3, []load{{cpus(3), 1, 3600, 0, 0}, {cpus(10), 1, 3600, 0, 0}}, 3, []int64{3, 2}, 3},
		{"not on two nodes at once", 2, 2, 3, []load{{cpus(3), 1, 3600, 0, 0}}, 1, []int64{0}, 0},
		{"what needs nothing takes nothing", 2, 10, 3, []load{{cpus(0), 1, 3600, 0, 0}, {cpus(10), 1, 3600, 0, 0}}, 100, []int64{100, 6}, 3},
		{"whole nodes", 5, 10, 3, []load{{cpus(1), 2, 3600, 0, 0}}, 100, []int64{6}, 3},
		{"too few nodes", 1, 10, 3, []load{{cpus(1), 2, 3600, 0, 0}}, 100, []int64{0}, 0},
		{"too long", 1, 10, 1, []load{{cpus(1), 1, 3601, 0, 0}}, 100, []int64{0}, 0},
	} {
		r := newRoom(tc.nodes, cpus(tc.cpus), time.Duration(tc.hours)*time.Hour, 0)
		for i, l := range tc.loads {
			if got := r.take(l, tc.ask); got != tc.want[i] {
				t.Errorf("%s: took %d of load %d, want %d", tc.name, got, i, tc.want[i])
			}
		}
		if r.busy != tc.busy*3600 {
			t.Errorf("%s: busy for %d s, want %d h", tc.name, r.busy, tc.busy)
		}
	}
}

// TestSideBySide: no more jobs run side by side than is said, one after the other as many as fit.
func TestSideBySide(t *testing.T) {
	for _, tc := range []struct{ nodes, cpus, n, most, taken, used int64 }{
		{1, 4, 100, 100, 12, 4},
		{1, 4, 100, 3, 9, 3},
		{1, 4, 2, 3, 2, 2},
		{3, 4, 100, 5, 15, 5},
		{3, 4, 7, 5, 7, 4}, // two rows of four, the last not full
	} {
		r := newRoom(tc.nodes, Resources{CPUs: tc.cpus}, 3*time.Hour, 0)
		if taken, used := r.takeSide(load{each: Resources{CPUs: 1}, nodes: 1, seconds: 3600}, tc.n, tc.most); taken != tc.taken || used != tc.used {
			t.Errorf("%+v: %d jobs, %d side by side", tc, taken, used)
		}
	}
}

// TestRoomIsNotPromisedTwice: what all jobs use together is there.
func TestRoomIsNotPromisedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.Int64Range(0, 20)
		each := Resources{CPUs: some.Draw(t, "cpus"), MemoryBytes: some.Draw(t, "memory"), GPUs: some.Draw(t, "gpus")}
		nodes, seconds := rapid.Int64Range(1, 4).Draw(t, "nodes"), rapid.Int64Range(1, 1000).Draw(t, "seconds")
		r := newRoom(nodes, each, time.Duration(seconds)*time.Second, 0)
		var used Resources
		for range rapid.IntRange(1, 8).Draw(t, "loads") {
			l := load{each: Resources{CPUs: 1 + some.Draw(t, "job cpus"), MemoryBytes: some.Draw(t, "job memory"), GPUs: some.Draw(t, "job gpus")}, nodes: 1, seconds: rapid.Int64Range(1, 300).Draw(t, "job seconds")}
			used = used.plus(l.each.times(l.seconds * r.take(l, rapid.Int64Range(1, 50).Draw(t, "n"))))
		}
		if all := each.times(nodes * seconds); used.most(all) != all {
			t.Errorf("%+v of %+v are used", used, all)
		}
		if r.busy > seconds {
			t.Errorf("busy for %d of %d s", r.busy, seconds)
		}
	})
}

// TestSlots: no more jobs at a time than a runner runs, of whatever sizes, and as
// many as that where nothing else is scarce.
func TestSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.Int64Range(1, 5).Draw(t, "slots")
		each := Resources{CPUs: rapid.Int64Range(1, 8).Draw(t, "cpus"), MemoryBytes: gib, Slots: slots}
		r := newRoom(1, each, time.Hour, 0)
		worked := int64(0) // slot seconds
		for range rapid.IntRange(1, 6).Draw(t, "kinds") {
			l := load{each: Resources{CPUs: rapid.Int64Range(1, 8).Draw(t, "needs")}, nodes: 1, seconds: rapid.Int64Range(1, 3600).Draw(t, "seconds")}
			worked += l.seconds * r.take(l, rapid.Int64Range(1, 20).Draw(t, "jobs"))
		}
		if worked > slots*3600 {
			t.Errorf("%d seconds of work in %d slots of an hour", worked, slots)
		}
	})
	wide := newRoom(1, Resources{CPUs: 4, Slots: 3}, time.Hour, 0)
	if n := wide.take(load{each: Resources{CPUs: 4}, nodes: 1, seconds: 1800}, 1); n != 1 {
		t.Fatalf("took %d", n)
	}
	if n := wide.take(load{each: Resources{CPUs: 1}, nodes: 1, seconds: 1800}, 9); n != 3 {
		t.Errorf("after a wide job %d run side by side, want 3", n)
	}
}
