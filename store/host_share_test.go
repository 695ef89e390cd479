package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// sharer acts like a runner that shares its host: it starts what it was granted, in that
// order, as far as it fits, and requests jobs ahead if the test says so.
type sharer struct {
	*hand
	total   placement.FreeNode
	ahead   int64
	running []lease.Grant
	queue   []lease.Grant
}

// sharer registers a runner of the rig's workflow.
func (r *rig) sharer(host, boot string, cpus int64, change ...func(*Registration)) *sharer {
	r.tb.Helper()
	total := placement.FreeNode{Name: host, CPUs: cpus, MemoryBytes: 8 << 30}
	reg := Registration{WorkflowID: r.workflow, RegisterRequest: lease.RegisterRequest{
		Key: fmt.Sprintf("%s-%d", host, r.workflow), Hostname: host, BootID: boot, StartTime: "2026-11-21T10:00:00+00:00",
		NumCPUs: cpus, MemoryBytes: total.MemoryBytes, NumNodes: 1, NodeType: compute.SchedulerLocal, OutputDir: "/out", SharesHost: true,
	}}
	for _, c := range change {
		c(&reg)
	}
	answer, err := r.Runners.Register(r.ctx, reg)
	r.must(err)
	return &sharer{hand: &hand{rig: r, id: answer.RunnerID}, total: total}
}

func heldBy(grants []lease.Grant) (n placement.FreeNode) {
	for _, g := range grants {
		n.CPUs, n.MemoryBytes = n.CPUs+g.CPUs, n.MemoryBytes+g.MemoryBytes
	}
	return n
}

// ask sends a turn, and starts what fits.
func (s *sharer) ask(reports ...lease.Report) lease.TurnResponse {
	s.tb.Helper()
	used := heldBy(append(slices.Clone(s.running), s.queue...))
	room := placement.FreeNode{Name: s.total.Name, CPUs: max(0, s.total.CPUs-used.CPUs), MemoryBytes: max(0, s.total.MemoryBytes-used.MemoryBytes), Busy: used.CPUs > 0}
	s.free = lease.Free{Slots: room.CPUs + s.ahead}
	if room.CPUs > 0 {
		s.free.Nodes = append(s.free.Nodes, room)
	}
	for n := int64(0); n < s.ahead; n += s.total.CPUs {
		whole := s.total
		whole.Busy = true
		s.free.Nodes = append(s.free.Nodes, whole)
	}
	answer := s.turn(reports...)
	s.queue = append(s.queue, answer.Grants...)
	s.start()
	return answer
}

func (s *sharer) start() {
	for len(s.queue) > 0 {
		with := heldBy(append(slices.Clone(s.running), s.queue[0]))
		if with.CPUs > s.total.CPUs || with.MemoryBytes > s.total.MemoryBytes {
			return
		}
		s.running, s.queue = append(s.running, s.queue[0]), s.queue[1:]
	}
}

// end ends the i-th running job, starts the next one in the queue, and reports.
func (s *sharer) end(i int) lease.TurnResponse {
	s.tb.Helper()
	g := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	s.start()
	return s.ask(exited(g.LeaseRef, 0))
}

// woken reports whether the latest commits have woken a runner.
func (s *sharer) woken() bool {
	is := slices.ContainsFunc(s.changes, func(c Changes) bool { return slices.Contains(c.Runners, s.id) })
	s.changes = nil
	return is
}

// need returns n jobs of this many CPUs.
func need(n int, cpus int64) []rigJob {
	return slices.Repeat([]rigJob{{needs: workflow.ResourceRequirements{NumCPUs: cpus}}}, n)
}

// TestRunnersShareTheirHost: two runners never hold more than the host has, and the one
// that holds nothing is next.
func TestRunnersShareTheirHost(t *testing.T) {
	r := newRig(t, need(9, 1)...)
	a := r.sharer("n1", "boot", 2)
	first := r.workflow
	r.begin(need(9, 1)...)
	b := r.sharer("n1", "boot", 2)
	if got := a.ask(); len(got.Grants) != 2 || got.WaitsForHost != "" {
		t.Fatalf("alone it got %d: %+v", len(got.Grants), got)
	}
	want := fmt.Sprintf("2 of 2 CPUs of n1 are used by workflow %d", first)
	if got := b.ask(); len(got.Grants) != 0 || got.WaitsForHost != want || !got.ClaimableLater {
		t.Fatalf("the other one got %d: %+v", len(got.Grants), got)
	}
	b.woken()
	if got := a.end(0); len(got.Grants) != 0 || !strings.Contains(got.WaitsForHost, "of 2 CPUs of n1") {
		t.Fatalf("the first one did not leave it to the other: %+v", got)
	}
	if !b.woken() {
		t.Error("the other one was not woken")
	}
	if got := b.ask(); len(got.Grants) != 1 {
		t.Fatalf("it was its turn: %+v", got)
	}
	for range 3 { // from now on each has its half
		if got := a.end(0); len(got.Grants) != 1 {
			t.Fatalf("its half: %+v", got)
		}
		if got := b.end(0); len(got.Grants) != 1 {
			t.Fatalf("its half: %+v", got)
		}
	}
	r.must(leave(b))
	if !a.woken() {
		t.Error("nobody was woken when one left")
	}
	if got := a.ask(); len(got.Grants) != 1 || got.WaitsForHost != "" {
		t.Errorf("alone again: %+v", got)
	}
}

func leave(s *sharer) error {
	_, err := s.Runners.Leave(s.ctx, s.id, lease.LeaveRequest{Reason: "done"})
	return err
}

// TestALargeJobGetsItsTurn: until there is room for a job that needs all of the host, the
// other runner gets no more.
func TestALargeJobGetsItsTurn(t *testing.T) {
	r := newRig(t, need(9, 1)...)
	a := r.sharer("n1", "boot", 2)
	r.begin(need(2, 2)...)
	b := r.sharer("n1", "boot", 2)
	a.ask()
	for range 2 {
		if got := b.ask(); len(got.Grants) != 0 {
			t.Fatalf("there is no room: %+v", got)
		}
		if got := a.end(0); len(got.Grants) != 0 {
			t.Fatalf("it is not its turn: %+v", got)
		}
	}
	if got := b.ask(); len(got.Grants) != 1 {
		t.Fatalf("the host is free: %+v", got)
	}
	if got := b.end(0); len(got.Grants) != 0 {
		t.Fatalf("it is the other's turn: %+v", got)
	}
	if got := a.ask(); len(got.Grants) != 1 {
		t.Fatalf("it is its turn: %+v", got)
	}
}

// TestNothingIsTakenAheadOfOthers: jobs that a runner has taken ahead count as no more
// than it can run at a time, and it takes no more ahead while others use the host.
func TestNothingIsTakenAheadOfOthers(t *testing.T) {
	r := newRig(t, need(20, 1)...)
	a := r.sharer("n1", "boot", 2)
	a.ahead = 6
	r.begin(need(9, 1)...)
	b := r.sharer("n1", "boot", 2)
	if got := a.ask(); len(got.Grants) != 8 {
		t.Fatalf("alone it got %d", len(got.Grants))
	}
	for range 6 { // what it has ahead
		if got := b.ask(); len(got.Grants) != 0 {
			t.Fatalf("there is no room: %+v", got)
		}
		if got := a.end(0); len(got.Grants) != 0 {
			t.Fatalf("it took more ahead: %+v", got)
		}
	}
	if got := a.end(0); len(got.Grants) != 0 {
		t.Fatalf("it is not its turn: %+v", got)
	}
	if got := b.ask(); len(got.Grants) != 1 {
		t.Fatalf("it is its turn: %+v", got)
	}
}

// TestWhoDoesNotShare: as configured, on another host, or after another boot.
func TestWhoDoesNotShare(t *testing.T) {
	for name, change := range map[string]func(*Registration){
		"another host":    func(r *Registration) { r.Hostname = "n2" },
		"another boot":    func(r *Registration) { r.BootID = "later" },
		"a number":        func(r *Registration) { r.SharesHost = false },
		"counting jobs":   func(r *Registration) { r.MaxParallelJobs = 2 },
		"several nodes":   func(r *Registration) { r.NumNodes = 2 },
		"no known boot":   func(r *Registration) { r.BootID = "" },
		"with the others": nil,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, need(9, 1)...)
			a := r.sharer("n1", "boot", 2)
			r.begin(need(9, 1)...)
			want := 2
			if change == nil {
				change, want = func(*Registration) {}, 0
			}
			b := r.sharer("n1", "boot", 2, change)
			a.ask()
			if got := b.ask(); len(got.Grants) != want {
				t.Errorf("it got %d", len(got.Grants))
			}
		})
	}
}

// TestSharedHosts: whatever runners that share a host do, their running jobs never need
// more than it has, and all jobs end.
func TestSharedHosts(t *testing.T) {
	r := newRig(t)
	hosts := 0
	rapid.Check(t, func(rt *rapid.T) {
		hosts++
		host := fmt.Sprint("n", hosts)
		cpus := rapid.Int64Range(1, 6).Draw(rt, "cpus")
		var all []*sharer
		left := 0
		for i := range rapid.IntRange(2, 4).Draw(rt, "runners") {
			var jobs []rigJob
			for range rapid.IntRange(0, 8).Draw(rt, "jobs") {
				jobs = append(jobs, rigJob{needs: workflow.ResourceRequirements{
					NumCPUs: rapid.Int64Range(1, cpus).Draw(rt, "needs"), Memory: rapid.SampledFrom([]string{"", "1g", "5g", "8g"}).Draw(rt, "memory"),
				}})
			}
			left += len(jobs)
			r.begin(jobs...)
			s := r.sharer(host, "boot", cpus)
			if s.ahead = rapid.SampledFrom([]int64{0, 0, 5}).Draw(rt, "ahead"); i > 0 {
				s.ahead = 0
			}
			all = append(all, s)
		}
		check := func() {
			var used placement.FreeNode
			for _, s := range all {
				h := heldBy(s.running)
				used.CPUs, used.MemoryBytes = used.CPUs+h.CPUs, used.MemoryBytes+h.MemoryBytes
			}
			if used.CPUs > cpus || used.MemoryBytes > all[0].total.MemoryBytes {
				rt.Fatalf("%d of %d CPUs and %d bytes are in use", used.CPUs, cpus, used.MemoryBytes)
			}
		}
		for steps := 0; left > 0; steps++ {
			if steps > 2000 {
				rt.Fatalf("%d jobs are left", left)
			}
			s := all[rapid.IntRange(0, len(all)-1).Draw(rt, "who")]
			if n := len(s.running); n > 0 && rapid.Bool().Draw(rt, "ends") {
				s.end(rapid.IntRange(0, n-1).Draw(rt, "which"))
				left--
			} else {
				s.ask()
			}
			check()
		}
		for _, s := range all {
			r.must(leave(s))
		}
	})
}
