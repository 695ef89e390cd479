package work

import (
	"testing"

	"github.com/torc-slurm/torc-slurm/bench/queue/cluster"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// fleetOf returns a fleet on an idle cluster of whole nodes with 4 CPUs, for jobs of some
// runtimes.
func fleetOf(class placement.Class, jobs ...Job) *Fleet {
	c := cluster.New(cluster.Config{Partitions: []cluster.Partition{
		{Name: "batch", Count: 4, Node: cluster.Resources{CPUs: 4, MemoryMB: 4096}, Whole: true, Limit: 100_000},
	}}, nil)
	class.ID = 1
	w := &Workload{Classes: []placement.Class{class}, Jobs: jobs}
	return NewFleet(c, NewProgress(w, 0))
}

func (f *Fleet) request(t *testing.T, nodes, walltime int64, together bool) *Allocation {
	t.Helper()
	a, err := f.Request(Shape{Nodes: nodes, Node: placement.FreeNode{CPUs: 4, MemoryBytes: 4 * gib}, Walltime: walltime, Together: together})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func jobs(n int, runtime int64) []Job {
	list := make([]Job, n)
	for i := range list {
		list[i] = Job{Runtime: runtime, After: -1}
	}
	return list
}

// Six jobs of 100 s on four CPUs: four at 5 s, two at 105 s, over at 205 s and a second.
func TestJobsSideBySideAndInTurn(t *testing.T) {
	f := fleetOf(placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 100}, jobs(6, 100)...)
	a := f.request(t, 1, 600, false)
	f.Cluster.Run(1000, f.Done)
	p := f.Progress
	if p.FirstStart != 5 || p.End != 205 || a.Slurm.Ended != 206 || p.Used != 600 || f.Allocated != 206*4 || p.Waited != 4*5+2*105 || p.Attempts != 6 {
		t.Errorf("first %d, end %d, over %d, used %d of %d, waited %d in %d", p.FirstStart, p.End, a.Slurm.Ended, p.Used, f.Allocated, p.Waited, p.Attempts)
	}
}

// An allocation of 600 s keeps 60 s at its end: of the jobs of 100 s that declare 200 s, the
// last start at 305 s, as 235 s are left then; at 405 s, 135 s are not enough.
func TestDeclaredRuntimeHasToFit(t *testing.T) {
	f := fleetOf(placement.Class{CPUs: 4, Nodes: 1, RuntimeSeconds: 200}, jobs(9, 100)...)
	a := f.request(t, 1, 600, false)
	f.Cluster.Run(1000, f.Done)
	if f.Progress.Attempts != 4 || a.Slurm.Ended != 406 || a.Slurm.End != cluster.Completed || f.Progress.Done() {
		t.Errorf("%d attempts, over at %d", f.Progress.Attempts, a.Slurm.Ended)
	}
}

// A job that needs all of a fresh allocation may start, and is cut off by its end.
func TestWholeRuntime(t *testing.T) {
	f := fleetOf(placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 600}, jobs(1, 598)...)
	a := f.request(t, 1, 600, false)
	f.Cluster.Run(1000, f.Done)
	is, _ := f.Progress.IsReady(0)
	if f.Progress.Attempts != 1 || a.Slurm.End != cluster.TimedOut || !is || f.Progress.Used != 0 {
		t.Errorf("%d attempts, %v at %d, ready %v", f.Progress.Attempts, a.Slurm.End, a.Slurm.Ended, is)
	}
}

// The second job of a chain starts at once. The runner of another node waits for the idle
// timeout and leaves.
func TestChainAndIdleTimeout(t *testing.T) {
	f := fleetOf(placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 300}, Job{Runtime: 300, After: -1}, Job{Runtime: 200, After: 0})
	f.request(t, 1, 3600, false)
	idle := f.request(t, 1, 3600, false)
	if n := f.Progress.Behind(0); n != 0 {
		t.Errorf("%d jobs behind before anything runs", n)
	}
	f.Cluster.Run(50, f.Done)
	if n := f.Progress.Behind(0); n != 1 {
		t.Errorf("%d jobs behind", n)
	}
	f.Cluster.Run(4000, f.Done)
	if f.Progress.End != 505 || idle.Slurm.Ended != 5+IdleTimeout+1 {
		t.Errorf("end %d, idle until %d", f.Progress.End, idle.Slurm.Ended)
	}
}

// Jobs of two whole nodes need an allocation that one runner leads.
func TestJobsOfSeveralNodes(t *testing.T) {
	class := placement.Class{CPUs: 4, Nodes: 2, RuntimeSeconds: 100}
	f := fleetOf(class, jobs(3, 100)...)
	f.request(t, 4, 600, true)
	f.Cluster.Run(1000, f.Done)
	if f.Progress.End != 205 || f.Progress.Used != 3*100*8 {
		t.Errorf("end %d, used %d", f.Progress.End, f.Progress.Used)
	}
	f = fleetOf(class, jobs(1, 100)...)
	f.request(t, 2, 600, false)
	f.Cluster.Run(1000, f.Done)
	if f.Progress.Attempts != 0 {
		t.Error("runners of one node each have taken a job of two")
	}
}

// A job that fails once is ready again 30 s later.
func TestRetry(t *testing.T) {
	f := fleetOf(placement.Class{CPUs: 1, Nodes: 1, RuntimeSeconds: 100}, Job{Runtime: 100, After: -1, Fails: 1})
	f.request(t, 1, 600, false)
	f.Cluster.Run(1000, f.Done)
	if f.Progress.Attempts != 2 || f.Progress.End != 5+100+retryDelay+100 || f.Progress.Used != 200 {
		t.Errorf("%d attempts, end %d, used %d", f.Progress.Attempts, f.Progress.End, f.Progress.Used)
	}
}

func TestWorkloads(t *testing.T) {
	names, about := Names()
	if len(names) != 7 || len(about) != 7 {
		t.Errorf("%d workloads", len(names))
	}
	for _, name := range names {
		w, err := New(name, 3, 1)
		if err != nil || PartitionOf(name) == "" {
			t.Fatal(name, err)
		}
		ready := int64(0)
		for _, j := range w.Jobs {
			if 3*j.Runtime > w.Classes[j.Class].RuntimeSeconds || j.Runtime < w.Classes[j.Class].RuntimeSeconds/4 {
				t.Errorf("%s: runs for %d s, declares %d s", name, j.Runtime, w.Classes[j.Class].RuntimeSeconds)
			}
			if j.After < 0 {
				ready++
			}
		}
		if ready != w.Width || w.Width*w.Depth != int64(len(w.Jobs)) {
			t.Errorf("%s: %d jobs, %d at a time, %d deep", name, len(w.Jobs), w.Width, w.Depth)
		}
	}
	if _, err := New("none", 1, 1); err == nil {
		t.Error("a workload that is not there was made")
	}
}
