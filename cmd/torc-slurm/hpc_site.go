package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// HPCConfig is about clusters.
type HPCConfig struct {
	DefaultAccount   string                 `toml:"default_account,omitempty" json:"default_account,omitempty"`
	ProfileOverrides map[string]HPCOverride `toml:"profile_overrides,omitempty" json:"profile_overrides,omitempty"`
	CustomProfiles   map[string]HPCProfile  `toml:"custom_profiles,omitempty" json:"custom_profiles,omitempty"`
}

// HPCOverride changes a profile.
type HPCOverride struct {
	DefaultAccount string `toml:"default_account,omitempty" json:"default_account,omitempty"`
}

// HPCProfile is a cluster that the user describes; a file in the folder of
// sites can say more.
type HPCProfile struct {
	DisplayName     string         `toml:"display_name,omitempty" json:"display_name,omitempty"`
	Description     string         `toml:"description,omitempty" json:"description,omitempty"`
	DetectEnvVar    string         `toml:"detect_env_var,omitempty" json:"detect_env_var,omitempty"` // NAME or NAME=value
	DetectHostname  string         `toml:"detect_hostname,omitempty" json:"detect_hostname,omitempty"`
	DefaultAccount  string         `toml:"default_account,omitempty" json:"default_account,omitempty"`
	ChargeFactorCPU *float64       `toml:"charge_factor_cpu,omitempty" json:"charge_factor_cpu,omitempty"` // 1
	ChargeFactorGPU *float64       `toml:"charge_factor_gpu,omitempty" json:"charge_factor_gpu,omitempty"` // 10
	Partitions      []HPCPartition `toml:"partitions" json:"partitions"`
}

// HPCPartition is a partition of such a cluster.
type HPCPartition struct {
	Name                    string `toml:"name" json:"name"`
	Description             string `toml:"description,omitempty" json:"description,omitempty"`
	CPUsPerNode             int64  `toml:"cpus_per_node" json:"cpus_per_node"`
	MemoryMB                int64  `toml:"memory_mb" json:"memory_mb"`
	MaxWalltimeSecs         int64  `toml:"max_walltime_secs" json:"max_walltime_secs"`
	GPUsPerNode             int64  `toml:"gpus_per_node,omitempty" json:"gpus_per_node,omitempty"`
	GPUType                 string `toml:"gpu_type,omitempty" json:"gpu_type,omitempty"`
	GPUMemoryGB             int64  `toml:"gpu_memory_gb,omitempty" json:"gpu_memory_gb,omitempty"`
	Shared                  bool   `toml:"shared,omitempty" json:"shared,omitempty"`
	RequiresExplicitRequest bool   `toml:"requires_explicit_request,omitempty" json:"requires_explicit_request,omitempty"`
}

// site is the profile as a site.
func (p *HPCProfile) site(name string) *siteconfigs.Site {
	s := &siteconfigs.Site{
		Name: name, DisplayName: p.DisplayName, Description: p.Description, DefaultAccount: p.DefaultAccount, AutoRouting: true,
		ChargeFactorCPU: 1, ChargeFactorGPU: 10,
	}
	if p.ChargeFactorCPU != nil {
		s.ChargeFactorCPU = *p.ChargeFactorCPU
	}
	if p.ChargeFactorGPU != nil {
		s.ChargeFactorGPU = *p.ChargeFactorGPU
	}
	if p.DetectEnvVar != "" {
		env, value, _ := strings.Cut(p.DetectEnvVar, "=")
		s.Detection = append(s.Detection, siteconfigs.Sign{Env: env, Value: value})
	}
	if p.DetectHostname != "" {
		s.Detection = append(s.Detection, siteconfigs.Sign{Hostname: p.DetectHostname})
	}
	for _, q := range p.Partitions {
		s.Partitions = append(s.Partitions, siteconfigs.Partition{
			Name: q.Name, Description: q.Description, CPUsPerNode: q.CPUsPerNode, MemoryMB: q.MemoryMB,
			MaxWalltime: time.Duration(q.MaxWalltimeSecs) * time.Second, GPUsPerNode: q.GPUsPerNode, GPUType: q.GPUType, GPUMemoryGB: q.GPUMemoryGB,
			Shared: q.Shared, RequiresExplicitRequest: q.RequiresExplicitRequest,
		})
	}
	return s
}

// siteDir is the folder of the user's files about sites.
func (a *app) siteDir() string { return filepath.Join(a.userConfigDir(), "torc", "sites") }

// knownSites are the sites that files describe: shipped ones, the user's, and
// those of the configuration.
func (a *app) knownSites() ([]*siteconfigs.Site, error) {
	sites, err := siteconfigs.Known(a.siteDir())
	if err != nil {
		return nil, err
	}
	hpc := &a.config.Client.HPC
	for name, profile := range hpc.CustomProfiles {
		sites = slices.DeleteFunc(sites, func(s *siteconfigs.Site) bool { return s.Name == name })
		sites = append(sites, profile.site(name))
	}
	slices.SortFunc(sites, func(x, y *siteconfigs.Site) int { return strings.Compare(x.Name, y.Name) })
	for _, s := range sites {
		a.chooseAccount(s)
	}
	return sites, nil
}

// chooseAccount lays what the configuration says of accounts over a site.
func (a *app) chooseAccount(s *siteconfigs.Site) {
	hpc := &a.config.Client.HPC
	s.DefaultAccount = firstOf(hpc.ProfileOverrides[s.Name].DefaultAccount, s.DefaultAccount, hpc.DefaultAccount)
}

// siteFinder tells which site this machine belongs to.
func (a *app) siteFinder() (*siteconfigs.Finder, error) {
	known, err := a.knownSites()
	if err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "unknown" // no site is recognised by it
	}
	return &siteconfigs.Finder{
		Known: known, Dir: a.siteDir(), User: a.user(), Client: a.slurmClient(), Cluster: slurm.ClusterName(a.getenv), CacheDir: filepath.Join(a.home(), "sites"), Now: a.Now,
		Host: siteconfigs.Host{Getenv: a.getenv, Hostname: hostname},
	}, nil
}

// siteMemory is what a daemon knows of its cluster. One goroutine asks, and the
// others find what it has remembered.
type siteMemory struct {
	app *app
	mu  sync.Mutex
}

// site returns the site that this machine belongs to. The daemon remembers it itself
// and asks for it when it has to be younger than what commands use may be: a
// partition may have gone down.
func (m *siteMemory) site(ctx context.Context, anew bool) (*siteconfigs.Site, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.app
	finder, err := a.siteFinder()
	if err != nil {
		return nil, err
	}
	finder.TTL, finder.Anew = time.Minute, anew
	found, err := finder.Find(ctx)
	if err != nil {
		return nil, err
	}
	a.chooseAccount(found)
	return found, nil
}

// facts returns what the cluster says of itself.
func (m *siteMemory) facts(ctx context.Context) (siteconfigs.Facts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	finder, err := m.app.siteFinder()
	if err != nil {
		return siteconfigs.Facts{}, err
	}
	return finder.Facts(ctx)
}

// site returns the site of a name, or the one that this machine belongs to.
func (a *app) site(ctx context.Context, name string) (*siteconfigs.Site, error) {
	finder, err := a.siteFinder()
	if err != nil {
		return nil, err
	}
	for _, s := range finder.Known {
		if s.Name == name {
			return s, nil
		}
	}
	found, err := finder.Find(ctx)
	if err != nil && name == "" {
		return nil, err
	}
	if err == nil && (name == "" || name == found.Name) {
		a.chooseAccount(found)
		return found, nil
	}
	var names []string
	for _, s := range finder.Known {
		names = append(names, s.Name)
	}
	return nil, workflow.Errorf(workflow.CodeNotFound, "there is no HPC profile %s", name).WithHint("known are %s", strings.Join(names, ", "))
}
