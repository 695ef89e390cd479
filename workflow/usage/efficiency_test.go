package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/workflow"
)

func TestFamilyOf(t *testing.T) {
	for name, want := range map[string]string{
		"":                   "",
		"merge":              "merge",
		"s_10":               "s_*",
		"train_lr0.01_b32":   "train_lr*_b*",
		"lr1e-05":            "lr*",
		"1e":                 "*e",
		"v2.model":           "v*.model",
		"run_2026-01-05_[7]": "run_*-*-*_[*]",
		"größe12":            "größe*",
		"a.1.2.3":            "a.*.*",
	} {
		if got := FamilyOf(name); got != want {
			t.Errorf("FamilyOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestMeter(t *testing.T) {
	var m Meter
	if diff := cmp.Diff(Efficiency{Families: []FamilyUse{}, Wasted: []Waste{}}, m.Report()); diff != "" {
		t.Errorf("without attempts:\n%s", diff)
	}
	for i := range 20 {
		m.Add(&Attempt{
			JobID: int64(i), JobName: "sim_" + string(rune('0'+i%10)) + string(rune('0'+i/10)), Status: workflow.Completed, Seconds: float64(10 * (i + 1)),
			CPUSeconds: new(float64(10 * (i + 1))), PeakCPUPercent: new(150.0), PeakMemoryBytes: new(int64(i + 1)),
			CPUs: 2, MemoryBytes: 100, RuntimeSeconds: 600,
		})
	}
	m.Add(&Attempt{JobID: 3, JobName: "sim_30", Status: workflow.Failed, Cause: "oom", Seconds: 50, CPUs: 2, Nodes: 2, MemoryBytes: 50, GPUs: 1})
	m.Add(&Attempt{JobID: 99, JobName: "merge 7", Status: workflow.Failed, Cause: "exit", Seconds: 1})
	m.Add(&Attempt{JobID: 99, JobName: "merge 7", Status: workflow.Terminated, Cause: "oom", Seconds: 2})
	share := 0.5
	want := Efficiency{
		CoreSeconds: 4200 + 200 + 3, UsefulCoreSeconds: 4200, CPUShare: &share,
		Wasted: []Waste{{"oom", 2, 202}, {"exit", 1, 1}},
		Families: []FamilyUse{
			{
				Family: "sim_*", Example: "sim_00", Jobs: 20, Attempts: 21, Nodes: 2, GPUs: 1, CoreSeconds: 4400,
				CPUs:    Spread{Requested: 4, Measured: 20, P50: 1, P95: 1, Peak: 1.5},
				Memory:  Spread{Requested: 100, Measured: 20, P50: 10, P95: 19, Peak: 20},
				Runtime: Spread{Requested: 600, Measured: 20, P50: 100, P95: 190, Peak: 200},
				Wasted:  []Waste{{"oom", 1, 200}},
			},
			{
				Family: "merge 7", Example: "merge 7", Jobs: 1, Attempts: 2, Nodes: 1, CoreSeconds: 3,
				CPUs: Spread{Requested: 1}, Wasted: []Waste{{"oom", 1, 2}, {"exit", 1, 1}},
			},
		},
	}
	if diff := cmp.Diff(want, m.Report()); diff != "" {
		t.Error(diff)
	}
}
