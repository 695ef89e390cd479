package core

import (
	"sync"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// places is where allocations can be requested, as published by the scheduler. It is kept
// in memory only.
type places struct {
	Mu sync.RWMutex
	By map[int64]placement.Places
}

// Of returns the places of a workflow; nil if they are unknown.
func (p *places) Of(workflowID int64) placement.Places {
	p.Mu.RLock()
	defer p.Mu.RUnlock()
	return p.By[workflowID]
}
