package siteconfigs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/torc-slurm/torc-slurm/internal/trustedfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

//go:embed *.yaml
var shipped embed.FS

// builtin returns the shipped sites, read once.
var builtin = sync.OnceValues(func() ([]*Site, error) {
	entries, err := shipped.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the shipped sites: %w", err)
	}
	var sites []*Site
	for _, entry := range entries {
		text, err := shipped.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read a shipped site: %w", err)
		}
		site, err := Parse(entry.Name(), text)
		if err != nil {
			return nil, err
		}
		sites = append(sites, site)
	}
	return sites, nil
})

// Builtin returns the sites that are shipped with the program, by name.
func Builtin() ([]*Site, error) {
	sites, err := builtin()
	if err != nil {
		return nil, err
	}
	copies := make([]*Site, len(sites))
	for i, s := range sites {
		copies[i] = s.clone()
	}
	return copies, nil
}

// Known returns the shipped sites, changed by the user's files in a folder, one per site,
// and the sites that only these describe. It skips files that neither describe a whole
// site nor have detection rules; they are for Override. A missing folder has no files.
func Known(dir string) ([]*Site, error) {
	sites, err := Builtin()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list the sites in %s: %w", dir, err)
	}
	for _, path := range paths {
		base := &Site{Name: strings.TrimSuffix(filepath.Base(path), ".yaml"), ChargeFactorCPU: 1, ChargeFactorGPU: 10}
		i := slices.IndexFunc(sites, func(s *Site) bool { return s.Name == base.Name })
		if i >= 0 {
			base = sites[i]
		}
		text, err := trustedfile.Read(path)
		if err != nil {
			return nil, unreadable(path, err)
		}
		site, incomplete, err := overlay(base, path, text)
		switch {
		case err != nil:
			return nil, err
		case incomplete != nil && len(site.Detection) > 0:
			return nil, incomplete
		case incomplete != nil:
		case i >= 0:
			sites[i] = site
		default:
			sites = append(sites, site)
		}
	}
	slices.SortFunc(sites, func(a, b *Site) int { return strings.Compare(a.Name, b.Name) })
	return sites, nil
}

// Override returns a site changed by the user's file <name>.yaml in a folder, if it
// exists.
func Override(site *Site, dir string) (*Site, error) {
	path := filepath.Join(dir, site.Name+".yaml")
	text, err := trustedfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return site, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	return Overlay(site, path, text)
}

func unreadable(path string, err error) error {
	return &workflow.Error{Code: workflow.CodeInvalid, Message: fmt.Sprintf("cannot read %s: %v", path, err), Err: err}
}
