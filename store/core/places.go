package core

import (
	"sync"

	"github.com/torc-slurm/torc-slurm/workflow/placement"
)

// places is where allocations for workflows can be asked for, as whoever asks for them
// has published it. It is kept in memory alone.
type places struct {
	Mu sync.RWMutex
	By map[int64]placement.Places
}

// Of returns the places of a workflow; nil if nobody knows them.
func (p *places) Of(workflowID int64) placement.Places {
	p.Mu.RLock()
	defer p.Mu.RUnlock()
	return p.By[workflowID]
}
