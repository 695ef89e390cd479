package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func shippedSite(t testing.TB, name string) *siteconfigs.Site {
	t.Helper()
	sites, err := siteconfigs.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sites, func(s *siteconfigs.Site) bool { return s.Name == name })
	return sites[i]
}

func need(name string, cpus int64, memory, runtime string) workflow.ResourceRequirements {
	return workflow.ResourceRequirements{Name: name, NumCPUs: cpus, NumNodes: 1, Memory: memory, Runtime: runtime}
}

// many is n jobs that need the same.
func many(n int, level int32, r workflow.ResourceRequirements) []Work {
	return slices.Repeat([]Work{{Requirements: r, Level: level}}, n)
}

func options(change ...func(*GenerateOptions)) GenerateOptions {
	o := GenerateOptions{Account: "proj", GroupBy: ByPartition, Strategy: MaxJobRuntime, Multiplier: 1.5}
	for _, c := range change {
		c(&o)
	}
	return o
}

// summary is what a scheduler asks for, in a line.
func summary(g *Generated) string {
	s := &g.Scheduler
	waves := []string{}
	for _, w := range g.Waves {
		waves = append(waves, fmt.Sprintf("%d jobs/%d", len(w.Jobs), w.Allocations))
	}
	text := fmt.Sprintf("%s on %s (%s) %d nodes %s mem %s", s.Name, g.Partition, s.Partition, s.Nodes, s.Walltime, s.Mem)
	for _, more := range []string{s.Gres, s.Extra} {
		if more != "" {
			text += " " + more
		}
	}
	if g.WorkerPerNode {
		text += " worker-per-node"
	}
	return text + ": " + strings.Join(waves, ", ")
}

func TestGenerate(t *testing.T) {
	gpu := need("gpu", 4, "20g", "PT1H")
	gpu.NumGPUs = 2
	wide := need("wide", 100, "200g", "PT2H")
	wide.NumNodes = 4
	for _, tc := range []struct {
		name    string
		site    string
		work    []Work
		options GenerateOptions
		want    []string
		warning string
	}{
		{"small jobs share a part of a node", "kestrel", many(10, 0, need("small", 2, "2g", "PT1H")), options(),
			[]string{"shared_scheduler on shared (shared) 1 nodes 01:30:00 mem 47320M --ntasks-per-node=1 --cpus-per-task=20: 10 jobs/1"}, ""},
		{"as many as whole nodes need", "kestrel", many(100, 0, need("small", 2, "2g", "PT1H")), options(),
			[]string{"shared_scheduler on shared (shared) 1 nodes 01:30:00 mem 246064M --ntasks-per-node=1 --cpus-per-task=104: 100 jobs/2"}, ""},
		{"memory counts", "kestrel", many(8, 0, need("fat", 30, "100g", "PT1H")), options(),
			[]string{"short_scheduler on short () 1 nodes 01:30:00 mem 246064M: 8 jobs/4"}, ""},
		{"one after the other", "kestrel", many(100, 0, need("whole", 104, "100g", "PT1H")), options(func(o *GenerateOptions) { o.Walltime = 4 * time.Hour }),
			[]string{"short_scheduler on short () 1 nodes 04:00:00 mem 246064M: 100 jobs/34"}, ""},
		{"as long as the partition allows", "kestrel", many(6, 0, need("whole", 104, "100g", "PT1H")), options(func(o *GenerateOptions) { o.Strategy = MaxPartitionTime }),
			[]string{"short_scheduler on short () 1 nodes 04:00:00 mem 246064M: 6 jobs/2"}, ""},
		{"the reserve ends at the limit", "kestrel", many(1, 0, need("whole", 104, "100g", "PT3H30M")), options(),
			[]string{"short_scheduler on short () 1 nodes 04:00:00 mem 246064M: 1 jobs/1"}, ""},
		{"no room for the margins", "kestrel", many(1, 0, need("whole", 104, "100g", "PT4H")), options(),
			[]string{"standard_scheduler on standard () 1 nodes 06:00:00 mem 246064M: 1 jobs/1"}, ""},
		{"short jobs", "kestrel", many(1, 0, need("whole", 104, "100g", "PT1M")), options(),
			[]string{"short_scheduler on short () 1 nodes 00:02:00 mem 246064M: 1 jobs/1"}, ""},
		{"GPUs", "kestrel", many(3, 0, gpu), options(),
			[]string{"gpu-h100s_scheduler on gpu-h100s () 1 nodes 01:30:00 mem 360000M gpu:4 --ntasks-per-node=1 --cpus-per-task=128: 3 jobs/2"}, ""},
		{"a part of the GPUs", "kestrel", many(1, 0, gpu), options(),
			[]string{"gpu-h100s_scheduler on gpu-h100s () 1 nodes 01:30:00 mem 20608M gpu:2 --ntasks-per-node=1 --cpus-per-task=4: 1 jobs/1"}, ""},
		{"several nodes", "kestrel", many(3, 0, wide), options(),
			[]string{"short_scheduler on short () 4 nodes 03:00:00 mem 246064M: 3 jobs/3"}, ""},
		{"levels", "kestrel", slices.Concat(many(4, 0, need("a", 104, "1g", "PT1H")), many(2, 1, need("a", 104, "1g", "PT1H")), many(1, 2, need("a", 104, "1g", "PT1H"))), options(),
			[]string{"short_scheduler on short () 1 nodes 01:30:00 mem 246064M: 4 jobs/4", "short_deferred_scheduler on short () 1 nodes 01:30:00 mem 246064M: 2 jobs/2, 1 jobs/1"}, ""},
		{"one partition, two needs", "kestrel", slices.Concat(many(4, 0, need("a", 52, "1g", "PT1H")), many(4, 0, need("b", 40, "1g", "PT2H"))), options(),
			[]string{"short_scheduler on short () 1 nodes 03:00:00 mem 246064M: 8 jobs/3"}, ""},
		{"by requirements", "kestrel", slices.Concat(many(4, 0, need("a", 52, "1g", "PT1H")), many(4, 0, need("b", 40, "1g", "PT2H"))), options(func(o *GenerateOptions) { o.GroupBy = ByRequirements }),
			[]string{"a_scheduler on short () 1 nodes 01:30:00 mem 246064M: 4 jobs/2", "b_scheduler on short () 1 nodes 03:00:00 mem 246064M: 4 jobs/2"}, ""},
		{"one allocation", "kestrel", many(8, 0, need("a", 52, "1g", "PT1H")), options(func(o *GenerateOptions) { o.SingleAllocation, o.WorkerPerNode = true, true }),
			[]string{"short_scheduler on short () 4 nodes 01:30:00 mem 246064M worker-per-node: 8 jobs/1"}, ""},
		{"one allocation, at most", "kestrel", many(100, 0, need("a", 4, "1500g", "PT1H")), options(func(o *GenerateOptions) { o.SingleAllocation = true }),
			[]string{"bigmem_scheduler on bigmem () 4 nodes 01:30:00 mem 2000000M: 100 jobs/1"}, ""},
		{"labels", "kestrel", []Work{{Requirements: need("a", 1, "1g", "PT1H"), Labeled: true}}, options(), nil, "jobs with labels get no scheduler (1)"},
		{"on the daemon's host", "kestrel", []Work{{Requirements: need("a", 1, "1g", "PT1H"), Login: true}}, options(), nil, ""},
		{"fits nowhere", "dane", many(2, 0, gpu), options(), nil, "jobs with the resource requirements gpu get no scheduler, they fit nowhere: pbatch: 2 GPUs are needed"},
		{"named partition", "dane", many(1, 0, need("a", 1, "1g", "PT30M")), options(func(o *GenerateOptions) { o.Partition = "pdebug" }),
			[]string{"pdebug_scheduler on pdebug (pdebug) 1 nodes 00:45:00 mem 257054M: 1 jobs/1"}, ""},
		{"named partition, too short", "dane", many(1, 0, need("a", 1, "1g", "PT2H")), options(func(o *GenerateOptions) { o.Partition = "pdebug" }),
			nil, "fit nowhere: pdebug: 2h3m are needed, at most 1h are allowed"},
		{"walltime too short", "dane", many(1, 0, need("a", 1, "1g", "PT2H")), options(func(o *GenerateOptions) { o.Walltime = time.Hour }),
			[]string{"pbatch_scheduler on pbatch (pbatch) 1 nodes 01:00:00 mem 257054M: 1 jobs/1"}, "too long for a walltime of 1h0m0s"},
		{"again", "dane", many(1, 1, need("a", 1, "1g", "PT2H")), options(func(o *GenerateOptions) { o.Stamp = "20261121" }),
			[]string{"pbatch_deferred_regen_20261121 on pbatch (pbatch) 1 nodes 03:00:00 mem 257054M: 1 jobs/1"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all, warnings, err := Generate(tc.work, shippedSite(t, tc.site), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range all {
				got = append(got, summary(&all[i]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if text := strings.Join(warnings, "\n"); (tc.warning == "") != (text == "") || !strings.Contains(text, tc.warning) {
				t.Errorf("warnings %q, want %q", text, tc.warning)
			}
		})
	}
}

// TestGenerateMemoryPerCPU: more memory than Slurm allows for the CPUs needs
// more CPUs.
func TestGenerateMemoryPerCPU(t *testing.T) {
	site := &siteconfigs.Site{Name: "bounded", Partitions: []siteconfigs.Partition{{Name: "all", CPUsPerNode: 8, MemoryMB: 16384, MaxMemPerCPUMB: 1024, Shared: true}}}
	all, _, err := Generate(many(1, 0, need("a", 1, "4g", "PT1H")), site, options())
	if err != nil {
		t.Fatal(err)
	}
	const want = "all_scheduler on all (all) 1 nodes 01:30:00 mem 4224M --ntasks-per-node=1 --cpus-per-task=5: 1 jobs/1"
	if got := summary(&all[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestGenerateWithinLimits: what an allocation has in all is within the limits of
// the account, the QOS and the partition.
func TestGenerateWithinLimits(t *testing.T) {
	single := options(func(o *GenerateOptions) { o.SingleAllocation = true })
	small := many(64, 0, need("small", 2, "2g", "PT1H"))
	wide := need("wide", 4, "8g", "PT1H")
	wide.NumNodes = 2
	for _, tc := range []struct {
		name    string
		shared  bool
		most    siteconfigs.Size
		work    []Work
		options GenerateOptions
		want    string
	}{
		{"no limit", true, siteconfigs.Size{}, small, single, "8 nodes 01:30:00 mem 65536M --ntasks-per-node=1 --cpus-per-task=16: 64 jobs/1"},
		{"nodes", true, siteconfigs.Size{Nodes: 3}, small, single, "3 nodes 01:30:00 mem 65536M --ntasks-per-node=1 --cpus-per-task=16: 64 jobs/1"},
		{"CPUs", true, siteconfigs.Size{CPUs: 40}, small, single, "2 nodes 01:30:00 mem 65536M --ntasks-per-node=1 --cpus-per-task=16: 64 jobs/1"},
		{"CPUs, less than a node", true, siteconfigs.Size{CPUs: 10}, small, single, "1 nodes 01:30:00 mem 65536M --ntasks-per-node=1 --cpus-per-task=10: 64 jobs/1"},
		{"memory", true, siteconfigs.Size{MemoryMB: 100_000}, small, single, "1 nodes 01:30:00 mem 65536M --ntasks-per-node=1 --cpus-per-task=16: 64 jobs/1"},
		{"whole nodes", false, siteconfigs.Size{CPUs: 40}, small, single, "2 nodes 01:30:00 mem 65536M: 64 jobs/1"},
		{"several nodes for a job", true, siteconfigs.Size{CPUs: 72}, many(9, 0, wide), single, "4 nodes 01:30:00 mem 65536M --ntasks-per-node=1 --cpus-per-task=16: 9 jobs/1"},
		{"several allocations", true, siteconfigs.Size{CPUs: 8, MemoryMB: 20_000}, small, options(), "1 nodes 01:30:00 mem 20000M --ntasks-per-node=1 --cpus-per-task=8: 64 jobs/16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			site := &siteconfigs.Site{
				Name: "bounded", Accounts: []siteconfigs.Account{{Name: "proj", DefaultQOS: "normal"}}, QOS: []siteconfigs.QOS{{Name: "normal", MaxJob: tc.most}},
				Partitions: []siteconfigs.Partition{{Name: "all", CPUsPerNode: 16, MemoryMB: 65536, TotalNodes: 20, Shared: tc.shared}},
			}
			all, warnings, err := Generate(tc.work, site, tc.options)
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			if got := summary(&all[0]); got != "all_scheduler on all (all) "+tc.want {
				t.Errorf("got  %s\nwant all_scheduler on all (all) %s", got, tc.want)
			}
		})
	}
}

func TestGenerateRefuses(t *testing.T) {
	site := shippedSite(t, "dane")
	for name, tc := range map[string]struct {
		work    []Work
		options GenerateOptions
	}{
		"multiplier": {nil, options(func(o *GenerateOptions) { o.Multiplier = 0.5 })},
		"memory":     {many(1, 0, need("a", 1, "1.5g", "PT1H")), options()},
		"runtime":    {many(1, 0, need("a", 1, "1g", "soon")), options()},
	} {
		if _, _, err := Generate(tc.work, site, tc.options); workflow.CodeOf(err) != workflow.CodeInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestWorkOf: dependencies by files count too.
func TestWorkOf(t *testing.T) {
	d := &workflow.Definition{
		Files:        []workflow.FileDefinition{{Name: "f"}},
		Requirements: []workflow.ResourceRequirements{need("big", 8, "8g", "PT1H")},
		Jobs: []workflow.JobDefinition{
			{Name: "a", OutputFiles: []int32{0}}, {Name: "b", InputFiles: []int32{0}, Requirements: "big"}, {Name: "c", DependsOn: []int32{1}, Labels: []string{"x"}},
		},
	}
	want := []Work{{Name: "a", Requirements: defaultNeed}, {Name: "b", Requirements: d.Requirements[0], Level: 1}, {Name: "c", Requirements: defaultNeed, Level: 2, Labeled: true}}
	if diff := cmp.Diff(want, WorkOf(d)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestGenerated: every job that fits is in one wave of one group, and the
// allocation of its group has room and time for it.
func TestGenerated(t *testing.T) {
	sites, err := siteconfigs.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		site := rapid.SampledFrom(sites).Draw(t, "site")
		var kinds []workflow.ResourceRequirements
		for i := range rapid.IntRange(1, 4).Draw(t, "kinds") {
			r := need(fmt.Sprint("r", i), rapid.Int64Range(1, 110).Draw(t, "cpus"), fmt.Sprint(rapid.IntRange(1, 300).Draw(t, "memory"), "g"), fmt.Sprint("PT", rapid.IntRange(1, 3000).Draw(t, "minutes"), "M"))
			r.NumGPUs, r.NumNodes = rapid.Int64Range(0, 2).Draw(t, "gpus"), rapid.Int64Range(1, 3).Draw(t, "nodes")
			kinds = append(kinds, r)
		}
		work := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Work {
			return Work{Requirements: rapid.SampledFrom(kinds).Draw(t, "kind"), Level: rapid.Int32Range(0, 2).Draw(t, "level")}
		}), 0, 30).Draw(t, "work")
		o := options(func(o *GenerateOptions) {
			o.GroupBy = rapid.SampledFrom([]GroupBy{ByPartition, ByRequirements}).Draw(t, "by")
		})
		all, warnings, err := Generate(work, site, o)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[int]bool)
		names := make(map[string]bool)
		for i := range all {
			names[all[i].Scheduler.Name] = true
			for _, w := range all[i].Waves {
				for _, j := range w.Jobs {
					if seen[j] {
						t.Fatalf("job %d is there twice", j)
					}
					seen[j] = true
					checkRoom(t, &all[i], &work[j])
				}
				if w.Allocations < 1 || w.Allocations > int64(len(w.Jobs)) {
					t.Fatalf("%d allocations for %d jobs", w.Allocations, len(w.Jobs))
				}
			}
		}
		if len(names) != len(all) {
			t.Fatalf("%d names for %d schedulers", len(names), len(all))
		}
		if len(seen) < len(work) && len(warnings) == 0 {
			t.Fatalf("%d of %d jobs have a scheduler, and no word why", len(seen), len(work))
		}
	})
}

// checkRoom checks that a job fits into an allocation of its scheduler.
func checkRoom(t *rapid.T, g *Generated, w *Work) {
	memory, _ := workflow.ParseMemory(g.Scheduler.Mem)
	need, _ := workflow.ParseMemory(w.Requirements.Memory)
	seconds, _ := workflow.ParseRuntime(w.Requirements.Runtime)
	walltime, ok := siteconfigs.ParseDuration(g.Scheduler.Walltime)
	margins := Settings{}.withDefaults().Margins
	if memory < need || g.Scheduler.Nodes != w.Requirements.NumNodes || !ok || margins.Usable(walltime) < time.Duration(seconds)*time.Second {
		t.Fatalf("%+v does not fit into %s", w.Requirements, summary(g))
	}
	if w.Requirements.NumGPUs > 0 && g.Scheduler.Gres == "" {
		t.Fatalf("%+v without GPUs: %s", w.Requirements, summary(g))
	}
}
