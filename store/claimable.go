package store

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/workflow"
)

// claimableLater reports whether a job that is open now may still become work
// for a runner that holds nothing: a ready one that fits it and does not avoid its
// node or has no other, or one that waits for another runner. Nobody waits for what
// is held: the decision of a person may take days. And nobody waits if no job of the
// workflow, whatever its status, would fit in the time that is left.
func (tx *Tx) claimableLater(r *runner, counts workflow.Counts, timeLeft *int64) (bool, error) {
	offer := r.totalOffer(timeLeft)
	all, err := tx.classesWhere(r.workflowID, `WHERE c.workflow_id = ?`, r.workflowID)
	if err != nil {
		return false, err
	}
	stages, err := tx.runningStages(r.workflowID)
	if err != nil {
		return false, err
	}
	n := counts.ByStatus
	n[workflow.Running] -= stages
	if r.login == workflow.LoginOnly {
		return tx.readyFor(r, offer)
	}
	if r.nodeType != workflow.SchedulerLocal && slices.ContainsFunc(all, func(k jobClass) bool { return k.Login }) {
		if left, err := tx.leftForAllocations(r.workflowID); err != nil || !left {
			return false, err
		}
	}
	switch {
	case !takesAny(offer, all) && n[workflow.Uninitialized] == 0: // its classes may not be known yet
		return false, nil
	case n[workflow.Pending]+n[workflow.Running]+n[workflow.Uninitialized] > 0:
		return true, nil
	}
	if fits, err := tx.readyFor(r, offer); err != nil || fits {
		return fits, err
	}
	var others bool
	err = tx.row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND id != ?)`,
		[]any{r.workflowID, r.id}, &others)
	if err != nil {
		return false, fmt.Errorf("look for other nodes of workflow %d: %w", r.workflowID, err)
	}
	return others, nil
}

// readyFor reports whether a ready job fits a runner that holds nothing, and does not
// avoid its node, or has no other.
func (tx *Tx) readyFor(r *runner, offer workflow.Offer) (bool, error) {
	const open = `WHERE c.workflow_id = ?1 AND EXISTS (SELECT 1 FROM job WHERE class_id = c.id AND status = 2 AND `
	ready, err := tx.classesWhere(r.workflowID, open+`(not_before_ms > ?2 OR NOT (`+avoids+`)))`, r.workflowID, tx.nowMS, r.hostname)
	if err != nil || takesAny(offer, ready) {
		return err == nil, err
	}
	avoiding, err := tx.classesWhere(r.workflowID, open+`not_before_ms <= ?2 AND `+avoids+`)`, r.workflowID, tx.nowMS, r.hostname)
	if err != nil {
		return false, err
	}
	c := &claim{tx: tx, workflowID: r.workflowID, runner: r}
	for _, k := range avoiding {
		if !takesAny(offer, []jobClass{k}) {
			continue
		}
		if elsewhere, err := c.elsewhere(k.Class); err != nil || !elsewhere {
			return err == nil, err
		}
	}
	return false, nil
}

// takesAny reports whether jobs of one of the classes would fit.
func takesAny(o workflow.Offer, classes []jobClass) bool {
	list := make([]workflow.Class, len(classes))
	for i, k := range classes {
		list[i] = k.Class
	}
	return len(workflow.NewPacker(o).Candidates(list)) > 0
}
