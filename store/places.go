package store

import "github.com/torc-slurm/torc-slurm/workflow/placement"

// PublishPlaces says where allocations for a workflow can be asked for from now on;
// nil: nobody knows, or nobody asks for any.
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
