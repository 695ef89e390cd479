package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// claimableLater reports whether a job that is open now may still become work
// for a runner that holds nothing: a ready one that fits it, or one that waits
// for another runner. Nobody waits for what is held: the decision of a person
// may take days.
func (tx *Tx) claimableLater(r *runner, counts workflow.Counts, timeLeft *int64) (bool, error) {
	n := counts.ByStatus
	if n[workflow.Pending]+n[workflow.Running]+n[workflow.Uninitialized] > 0 {
		return true, nil
	}
	ready, err := tx.waitingClasses(r.workflowID)
	if err != nil {
		return false, err
	}
	classes := make([]workflow.Class, len(ready))
	for i, k := range ready {
		classes[i] = k.Class
	}
	if len(workflow.NewPacker(r.totalOffer(timeLeft)).Candidates(classes)) > 0 {
		return true, nil
	}
	var others bool
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND id != ?)`,
		[]any{r.workflowID, r.id}, &others)
	if err != nil {
		return false, fmt.Errorf("look for other nodes of workflow %d: %w", r.workflowID, err)
	}
	return others, nil
}
