package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// claimableLater reports whether a job that is open now may still become work
// for a runner that holds nothing: a ready one that fits it, or one that waits
// for another runner. Nobody waits for what is held: the decision of a person
// may take days. And nobody waits if no job of the workflow, whatever its
// status, would fit in the time that is left.
func (tx *Tx) claimableLater(r *runner, counts workflow.Counts, timeLeft *int64) (bool, error) {
	offer := r.totalOffer(timeLeft)
	all, err := tx.classesWhere(r.workflowID, `WHERE c.workflow_id = ?`, r.workflowID)
	if err != nil {
		return false, err
	}
	n := counts.ByStatus
	switch {
	case !takesAny(offer, all) && n[workflow.Uninitialized] == 0: // its classes may not be known yet
		return false, nil
	case n[workflow.Pending]+n[workflow.Running]+n[workflow.Uninitialized] > 0:
		return true, nil
	}
	ready, err := tx.waitingClasses(r.workflowID)
	if err != nil {
		return false, err
	}
	if takesAny(offer, ready) {
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

// takesAny reports whether jobs of one of the classes would fit.
func takesAny(o workflow.Offer, classes []jobClass) bool {
	list := make([]workflow.Class, len(classes))
	for i, k := range classes {
		list[i] = k.Class
	}
	return len(workflow.NewPacker(o).Candidates(list)) > 0
}
