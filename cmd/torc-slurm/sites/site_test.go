package sites

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
)

// TestOf: a profile of the configuration is a site, with what it leaves out as torc has it.
func TestOf(t *testing.T) {
	two := 2.0
	got := Of(&cli.HPCProfile{
		DisplayName: "Mine", DetectEnvVar: "CLUSTER=mine", DetectHostname: "login.*", DefaultAccount: "ours", ChargeFactorCPU: &two,
		Partitions: []cli.HPCPartition{{Name: "gpu", CPUsPerNode: 8, MemoryMB: 16384, MaxWalltimeSecs: 3600, GPUsPerNode: 2, GPUType: "a100", GPUMemoryGB: 40, Shared: true, RequiresExplicitRequest: true}},
	}, "mine")
	want := &siteconfigs.Site{
		Name: "mine", DisplayName: "Mine", DefaultAccount: "ours", AutoRouting: true, ChargeFactorCPU: 2, ChargeFactorGPU: 10,
		Detection:  []siteconfigs.DetectionRule{{Env: "CLUSTER", Value: "mine"}, {Hostname: "login.*"}},
		Partitions: []siteconfigs.Partition{{Name: "gpu", CPUsPerNode: 8, MemoryMB: 16384, MaxWalltime: time.Hour, GPUsPerNode: 2, GPUType: "a100", GPUMemoryGB: 40, Shared: true, RequiresExplicitRequest: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := Of(&cli.HPCProfile{DetectEnvVar: "CLUSTER"}, "any"); len(s.Detection) != 1 || s.Detection[0] != (siteconfigs.DetectionRule{Env: "CLUSTER"}) {
		t.Errorf("a variable with any value: %+v", s.Detection)
	}
}

// TestKnown: the user's profile goes before a shipped site of that name, and an account of
// the configuration before that of a site.
func TestKnown(t *testing.T) {
	dir := t.TempDir()
	a := &cli.Factory{Environment: cli.Environment{Dir: dir, Environ: []string{"HOME=" + dir}}, Config: cli.DefaultConfig()}
	a.Config.Client.HPC = cli.HPCConfig{
		DefaultAccount:   "all",
		ProfileOverrides: map[string]cli.HPCOverride{"kestrel": {DefaultAccount: "solar"}},
		CustomProfiles:   map[string]cli.HPCProfile{"dane": {DisplayName: "Our Dane"}, "mine": {DefaultAccount: "ours"}},
	}
	known, err := Known(a)
	if err != nil {
		t.Fatal(err)
	}
	type site struct{ Name, Title, Account string }
	var got []site
	for _, s := range known {
		got = append(got, site{s.Name, s.Title(), s.DefaultAccount})
	}
	want := []site{{"dane", "Our Dane", "all"}, {"kestrel", "NLR Kestrel", "solar"}, {"mine", "mine", "ours"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
