// Package sites finds the HPC site that this machine belongs to, and what the site offers.
package sites

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	siteconfigs "github.com/torc-slurm/torc-slurm/site-configs"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// Of returns the site that a profile of the configuration describes.
func Of(p *cli.HPCProfile, name string) *siteconfigs.Site {
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
		s.Detection = append(s.Detection, siteconfigs.DetectionRule{Env: env, Value: value})
	}
	if p.DetectHostname != "" {
		s.Detection = append(s.Detection, siteconfigs.DetectionRule{Hostname: p.DetectHostname})
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

// Dir returns the folder of the user's site files.
func Dir(a *cli.Factory) string { return filepath.Join(a.UserConfigDir(), "torc", "sites") }

// Known returns the known sites by name: the built-in ones, those of the user's site files, and
// those of the configuration. Later ones replace earlier ones. It returns an error if a file
// is invalid.
func Known(a *cli.Factory) ([]*siteconfigs.Site, error) {
	sites, err := siteconfigs.Known(Dir(a))
	if err != nil {
		return nil, err
	}
	hpc := &a.Config.Client.HPC
	for name, profile := range hpc.CustomProfiles {
		sites = slices.DeleteFunc(sites, func(s *siteconfigs.Site) bool { return s.Name == name })
		sites = append(sites, Of(&profile, name))
	}
	slices.SortFunc(sites, func(x, y *siteconfigs.Site) int { return strings.Compare(x.Name, y.Name) })
	for _, s := range sites {
		chooseAccount(a, s)
	}
	return sites, nil
}

// chooseAccount sets the default account of a site from the configuration, if that has one.
func chooseAccount(a *cli.Factory, s *siteconfigs.Site) {
	hpc := &a.Config.Client.HPC
	s.DefaultAccount = cli.FirstOf(hpc.ProfileOverrides[s.Name].DefaultAccount, s.DefaultAccount, hpc.DefaultAccount)
}

// Finder returns a finder of the site that this machine belongs to, or the error of Known.
func Finder(a *cli.Factory) (*siteconfigs.Finder, error) {
	known, err := Known(a)
	if err != nil {
		return nil, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "unknown" // no site is recognized by it
	}
	return &siteconfigs.Finder{
		Known: known, Dir: Dir(a), User: a.User(), Client: a.SlurmClient(), Cluster: slurm.ClusterName(a.Getenv), CacheDir: filepath.Join(a.Home(), "sites"), Now: a.Now,
		Host: siteconfigs.Host{Getenv: a.Getenv, Hostname: hostname},
	}, nil
}

// Memory has what a daemon knows about its cluster. While one goroutine asks Slurm, others wait
// and then use the cached answer.
type Memory struct {
	App *cli.Factory
	mu  sync.Mutex
}

// Site returns the site that this machine belongs to, at most a minute old, or without using
// the cache if anew is set. The daemon needs newer data than commands, because a partition may
// have gone down.
func (m *Memory) Site(ctx context.Context, anew bool) (*siteconfigs.Site, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.App
	finder, err := Finder(a)
	if err != nil {
		return nil, err
	}
	finder.TTL, finder.ForceRefresh = time.Minute, anew
	found, err := finder.Find(ctx)
	if err != nil {
		return nil, err
	}
	chooseAccount(a, found)
	return found, nil
}

// Facts returns what the cluster reports about itself.
func (m *Memory) Facts(ctx context.Context) (siteconfigs.Facts, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	finder, err := Finder(m.App)
	if err != nil {
		return siteconfigs.Facts{}, err
	}
	return finder.Facts(ctx)
}

// Find returns the site with a name, or the one that this machine belongs to if name is empty.
// It returns a not-found error if there is no such site.
func Find(ctx context.Context, a *cli.Factory, name string) (*siteconfigs.Site, error) {
	finder, err := Finder(a)
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
		chooseAccount(a, found)
		return found, nil
	}
	var names []string
	for _, s := range finder.Known {
		names = append(names, s.Name)
	}
	return nil, workflow.Errorf(workflow.CodeNotFound, "there is no HPC profile %s", name).WithHint("known profiles: %s", strings.Join(names, ", "))
}
