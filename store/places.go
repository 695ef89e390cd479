package store

import "github.com/torc-slurm/torc-slurm/workflow/placement"

// PublishPlaces sets where allocations for a workflow can be requested; nil: unknown, or
// nowhere.
func (s Scheduling) PublishPlaces(workflowID int64, p placement.Places) {
	at := &s.shared.Places
	at.Mu.Lock()
	defer at.Mu.Unlock()
	if p == nil {
		delete(at.By, workflowID)
		return
	}
	if at.By == nil {
		at.By = map[int64]placement.Places{}
	}
	at.By[workflowID] = p
}
