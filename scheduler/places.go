package scheduler

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// places is where the allocations of a workflow can be requested, according to a pass. It
// does not change.
type places struct {
	pools // with the results of requests there
}

// places returns the places of a view; nil if nothing requests allocations.
func (v *view) places() *places {
	if v == nil || len(v.pools.actions) == 0 {
		return nil
	}
	return &places{v.pools}
}

// published returns the places for the store; nil if there are none.
func (v *view) published() placement.Places {
	if p := v.places(); p != nil {
		return p
	}
	return nil
}

// own returns a copy of the pools without cached targets, since a search stores them.
func (p *places) own() *pools {
	own := p.pools
	own.targets = map[string]*target{}
	return &own
}

// Unplaced returns why no allocation that can be requested could take a job of a class;
// empty if one could, or if it is not known.
func (p *places) Unplaced(c placement.Class) string {
	if p.site == nil {
		return ""
	}
	_, why := p.own().find(&Demand{Class: c})
	return why
}

// Elsewhere reports whether jobs of a class that avoid a node get allocations
// without it.
func (p *places) Elsewhere(c placement.Class, node string) bool {
	d := &Demand{Class: c, Avoid: []string{node}}
	own := p.own()
	names, _ := own.find(d)
	if len(names) == 0 {
		return false
	}
	pool := own.targets[names[0]]
	if seen := p.targets[names[0]]; seen != nil {
		pool = seen
	}
	excluded, _ := pool.exclude(d)
	return slices.Contains(excluded, node) || pool.Hosts != nil && !slices.Contains(pool.Hosts, node)
}
