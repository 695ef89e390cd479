package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/lease"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// TestUnfit: what no place has is named with the most that there is; what may be
// possible is not refused.
func TestUnfit(t *testing.T) {
	const gib, mib, hour = 1 << 30, 1 << 20, 3600
	scheduler := func(name, partition, walltime, mem, gres, extra string) compute.SlurmScheduler {
		return compute.SlurmScheduler{ID: 1, Name: name, Partition: &partition, Nodes: 1, Walltime: walltime, Mem: &mem, Gres: &gres, Extra: &extra}
	}
	short := scheduler("short", "std", "01:00:00", "", "", "")
	daemon := autoAction{id: 1}
	following := autoAction{id: 1, config: action.NodesConfig{SchedulerID: new(int64(1))}, follows: []int64{1}}
	for _, tc := range []struct {
		name       string
		schedulers []compute.SlurmScheduler
		actions    []autoAction
		options    compute.SubmitOptions
		live       []compute.Allocation
		prepare    func(*siteconfigs.Site)
		class      placement.Class
		want       string
	}{
		{name: "the largest there is", actions: []autoAction{daemon}, class: placement.Class{CPUs: 16, MemoryBytes: 60 * gib, RuntimeSeconds: 24 * hour}},
		{name: "one second too long", actions: []autoAction{daemon}, class: placement.Class{CPUs: 1, RuntimeSeconds: 24*hour + 1}, want: "needs 1d1s, the longest allocation of partition big is 1d"},
		{name: "too many CPUs", actions: []autoAction{daemon}, class: placement.Class{CPUs: 64}, want: "needs 64 CPUs, the largest node of partition big has 16"},
		{name: "too many CPUs for the partition of the submission", actions: []autoAction{daemon}, options: compute.SubmitOptions{Partition: "std"}, class: placement.Class{CPUs: 8}, want: "needs 8 CPUs, the largest node of partition std has 4"},
		{name: "of a partition that nobody knows", actions: []autoAction{daemon}, options: compute.SubmitOptions{Partition: "new"}, class: placement.Class{CPUs: 8000}},
		{name: "too much memory", actions: []autoAction{daemon}, class: placement.Class{CPUs: 1, MemoryBytes: 100 * gib}, want: "needs 100.00 GiB of memory, the largest node of partition big has 63.88 GiB"},
		{name: "GPUs", actions: []autoAction{daemon}, class: placement.Class{CPUs: 1, GPUs: 2}, want: "needs 2 GPUs, the largest node of partition std has 0"},
		{name: "too many nodes", actions: []autoAction{daemon}, class: placement.Class{CPUs: 1, Nodes: 5}, want: "needs 5 nodes, the largest allocation of partition std has 4"},
		{name: "too much of two things", actions: []autoAction{daemon}, class: placement.Class{CPUs: 64, RuntimeSeconds: 48 * hour}, want: "needs 64 CPUs, the largest node of partition big has 16; needs 2d, the longest allocation of partition big is 1d"},
		{name: "none has all", actions: []autoAction{daemon}, class: placement.Class{CPUs: 1, MemoryBytes: 30 * gib, Nodes: 3},
			want: "no place has all of it: needs 30.00 GiB of memory, the largest node of partition std has 7.88 GiB; needs 3 nodes, the largest allocation of partition big has 2"},
		{name: "the account allows less", actions: []autoAction{daemon}, prepare: func(s *siteconfigs.Site) {
			s.Partitions = s.Partitions[:1]
			s.Accounts = []siteconfigs.Account{{Name: "research", MaxJob: siteconfigs.Size{CPUs: 2}}}
		}, class: placement.Class{CPUs: 3}, want: "needs 3 CPUs, the account or QOS allows 2 on a node of partition std"},
		{name: "the partition is closed for now", actions: []autoAction{daemon}, prepare: func(s *siteconfigs.Site) { s.Partitions[1].Closed = "its state is DOWN" }, class: placement.Class{CPUs: 16}},
		{name: "nothing is known of the nodes", actions: []autoAction{daemon}, prepare: func(s *siteconfigs.Site) { s.Partitions[0].CPUsPerNode = 0 }, class: placement.Class{CPUs: 500}},

		{name: "all of a scheduler's walltime", schedulers: []compute.SlurmScheduler{short}, class: placement.Class{CPUs: 1, RuntimeSeconds: hour}},
		{name: "longer than a scheduler", schedulers: []compute.SlurmScheduler{short}, class: placement.Class{CPUs: 1, RuntimeSeconds: 2 * hour}, want: "needs 2h, the longest allocation of scheduler short is 1h"},
		{name: "longer, of which the daemon asks for longer ones", schedulers: []compute.SlurmScheduler{short}, actions: []autoAction{following}, class: placement.Class{CPUs: 1, RuntimeSeconds: 2 * hour}},
		{name: "longer than its partition allows", schedulers: []compute.SlurmScheduler{short}, actions: []autoAction{following}, class: placement.Class{CPUs: 1, RuntimeSeconds: 5 * hour}, want: "needs 5h, the longest allocation of scheduler short is 4h"},
		{name: "its scheduler asks for more than is known", schedulers: []compute.SlurmScheduler{scheduler("long", "std", "2-00:00:00", "20G", "", "")}, actions: []autoAction{following}, class: placement.Class{CPUs: 1, MemoryBytes: 16 * gib, RuntimeSeconds: 47 * hour}},
		{name: "another scheduler is long enough", schedulers: []compute.SlurmScheduler{short, {ID: 2, Name: "long", Nodes: 1, Walltime: "1-00:00:00"}}, class: placement.Class{CPUs: 1, RuntimeSeconds: 2 * hour, SchedulerID: new(int64(1))}},
		{name: "an allocation is long enough", schedulers: []compute.SlurmScheduler{short}, live: []compute.Allocation{{Request: compute.AllocationRequest{Partition: "std", Nodes: 1, WalltimeS: 2 * hour}}}, class: placement.Class{CPUs: 1, RuntimeSeconds: 2 * hour}},
		{name: "larger than the nodes of a scheduler", schedulers: []compute.SlurmScheduler{short}, class: placement.Class{CPUs: 64}, want: "needs 64 CPUs, the largest node of partition std has 4"},
		{name: "more nodes than a scheduler asks for", schedulers: []compute.SlurmScheduler{short}, class: placement.Class{CPUs: 1, Nodes: 2}, want: "needs 2 nodes, the largest allocation of scheduler short has 1"},
		{name: "all of a node's memory", schedulers: []compute.SlurmScheduler{short}, class: placement.Class{CPUs: 1, MemoryBytes: 8 * gib}},
		{name: "more than a scheduler asks for", schedulers: []compute.SlurmScheduler{scheduler("lean", "std", "1:00:00", "600M", "", "")}, class: placement.Class{CPUs: 1, MemoryBytes: 700 * mib}, want: "needs 700.00 MiB of memory, an allocation of scheduler lean has at most 600.00 MiB on a node"},
		{name: "its own options may say otherwise", schedulers: []compute.SlurmScheduler{scheduler("lean", "std", "1:00:00", "600M", "", "--mem=4G -p big")}, class: placement.Class{CPUs: 16, MemoryBytes: 700 * mib}},
		{name: "a scheduler without a partition may be anywhere", schedulers: []compute.SlurmScheduler{scheduler("any", "", "1:00:00", "", "", "")}, class: placement.Class{CPUs: 16}},
		{name: "a scheduler of several partitions", schedulers: []compute.SlurmScheduler{scheduler("two", "std,big", "1:00:00", "", "", "")}, class: placement.Class{CPUs: 17}, want: "needs 17 CPUs, the largest node of partition big has 16"},
		{name: "a scheduler of an unknown partition", schedulers: []compute.SlurmScheduler{scheduler("new", "new", "1:00:00", "", "", "")}, class: placement.Class{CPUs: 17, MemoryBytes: 1000 * gib}},
		{name: "too long for one of an unknown partition", schedulers: []compute.SlurmScheduler{scheduler("new", "new", "1:00:00", "", "", "")}, class: placement.Class{CPUs: 17, RuntimeSeconds: 2 * hour}, want: "needs 2h, the longest allocation of scheduler new is 1h"},
		{name: "nothing asks for allocations", class: placement.Class{CPUs: 1000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if tc.prepare != nil {
				tc.prepare(w.site)
			}
			p := pools{site: w.site, schedulers: tc.schedulers, actions: tc.actions, options: tc.options, workflow: &workflow.Workflow{}}
			if got := unfit(&tc.class, p.places(tc.live)); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// TestFitness: jobs are named by the first of those with the same lack, however they
// differ otherwise; a live runner that is large enough is a place too.
func TestFitness(t *testing.T) {
	w := newWorld(t)
	check := func(o *compute.SubmitOptions) Fitness {
		t.Helper()
		f, err := w.scheduler.Fitness(t.Context(), w.id, o, nil)
		w.must(err)
		return f
	}
	options := &compute.SubmitOptions{OutputDir: w.output}
	w.jobs(3, 1, "1g", "PT1H")
	if f := check(options); len(f.Unfit) != 0 || f.Unchecked != "" {
		t.Errorf("all fit: %+v", f)
	}
	w.jobs(2, 64, "1g", "PT1H")
	w.jobs(1, 64, "2g", "PT1H")
	if f := check(options); len(f.Unfit) != 1 || f.Unfit[0].Jobs != 3 || f.Unfit[0].Reason != "needs 64 CPUs, the largest node of partition big has 16" {
		t.Errorf("three do not: %+v", f)
	}
	if f := check(nil); len(f.Unfit) != 0 {
		t.Errorf("nobody asks for allocations: %+v", f)
	}
	_, err := w.store.Runners.Register(t.Context(), store.Registration{WorkflowID: w.id, RegisterRequest: lease.RegisterRequest{
		Key: "k", Hostname: "big", StartTime: "2026-11-23T06:00:00Z", NumCPUs: 64, MemoryBytes: 1 << 40, NumNodes: 1, NodeType: "local", OutputDir: w.output,
	}})
	w.must(err)
	if f := check(options); len(f.Unfit) != 0 {
		t.Errorf("a runner takes them: %+v", f)
	}
	w.scheduler.Site = func(context.Context) (*siteconfigs.Site, error) { return nil, errors.New("squeue: timed out") }
	if f := check(options); len(f.Unfit) != 0 || f.Unchecked != "squeue: timed out" {
		t.Errorf("the site is not known: %+v", f)
	}
}

func TestUnfitInALine(t *testing.T) {
	for n, want := range map[int64]string{1: "train: needs 2 GPUs", 12: "train (and 11 more): needs 2 GPUs"} {
		if got := fmt.Sprint(Unfit{First: "train", Jobs: n, Reason: "needs 2 GPUs"}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWhatHasAPlaceIsNotUnfit: whatever the daemon would ask an allocation for, it does
// not refuse.
func TestWhatHasAPlaceIsNotUnfit(t *testing.T) {
	sites, err := siteconfigs.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := pools{site: rapid.SampledFrom(sites).Draw(t, "site"), workflow: &workflow.Workflow{}, targets: map[string]*target{}, set: Settings{}.withDefaults()}
		drawn := rapid.SampledFrom(p.site.Partitions).Draw(t, "partition")
		partition, least := drawn.Name, max(drawn.MinNodes, 1)
		if rapid.Bool().Draw(t, "scheduler") {
			p.schedulers = []compute.SlurmScheduler{{
				ID: 1, Name: "s", Partition: &partition, Nodes: rapid.Int64Range(least, least+2).Draw(t, "nodes"), Walltime: rapid.SampledFrom([]string{"00:30:00", "04:00:00", "2-00:00:00"}).Draw(t, "walltime"),
			}}
			p.actions = []autoAction{{id: 1, config: action.NodesConfig{SchedulerID: new(int64(1))}}}
		} else {
			p.actions = []autoAction{{id: 1}}
			p.options.Partition = rapid.SampledFrom([]string{"", partition}).Draw(t, "of the submission")
		}
		d := Demand{Class: placement.Class{
			CPUs: rapid.Int64Range(1, 130).Draw(t, "cpus"), MemoryBytes: rapid.Int64Range(0, 2200).Draw(t, "gib") << 30, GPUs: rapid.Int64Range(0, 5).Draw(t, "gpus"),
			Nodes: rapid.Int64Range(1, 200).Draw(t, "job nodes"), RuntimeSeconds: rapid.Int64Range(0, 12*86400).Draw(t, "runtime"),
		}}
		names, _ := p.find(&d)
		if why := unfit(&d.Class, p.places(nil)); len(names) > 0 && why != "" {
			t.Fatalf("%v take %+v, which is refused: %s", names, d.Class, why)
		}
	})
}
