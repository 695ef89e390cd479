package fleet

import (
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/compute"
	"github.com/torc-slurm/torc-slurm/workflow/placement"
	"github.com/torc-slurm/torc-slurm/workflow/stage"
)

// claimableLater reports whether an open job may become work for a runner that holds
// nothing: a ready one that fits and does not avoid its node, or has no other, or one that
// waits for another runner. Held jobs do not count, since a person may take days to decide.
// Nor does any job if none of the workflow would fit in the remaining time.
func claimableLater(tx *core.Tx, r *core.Runner, counts stage.Counts, timeLeft *int64) (bool, error) {
	offer := r.TotalOffer(timeLeft)
	all, err := core.ClassesWhere(tx, r.WorkflowID, `WHERE c.workflow_id = ? AND c.held = 0`, r.WorkflowID)
	if err != nil {
		return false, err
	}
	stages, err := engine.RunningStages(tx, r.WorkflowID)
	if err != nil {
		return false, err
	}
	n := counts.ByStatus
	n[workflow.Running] -= stages
	if r.Login == placement.LoginOnly {
		return readyFor(tx, r, offer)
	}
	if r.NodeType != compute.SchedulerLocal && slices.ContainsFunc(all, func(k view.JobClass) bool { return k.Login }) {
		if left, err := leftForAllocations(tx, r.WorkflowID); err != nil || !left {
			return false, err
		}
	}
	switch {
	case !takesAny(offer, all) && n[workflow.Uninitialized] == 0: // their classes may still change
		return false, nil
	case n[workflow.Pending]+n[workflow.Running]+n[workflow.Uninitialized] > 0:
		return true, nil
	}
	if fits, err := readyFor(tx, r, offer); err != nil || fits {
		return fits, err
	}
	var others bool
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM compute_node WHERE workflow_id = ? AND is_active = 1 AND id != ?)`,
		[]any{r.WorkflowID, r.ID}, &others)
	return others, sqlite.Wrap(err, "check for other nodes of workflow %d", r.WorkflowID)
}

// readyFor reports whether a ready job fits a runner that holds nothing, and does not avoid
// its node or has no other.
func readyFor(tx *core.Tx, r *core.Runner, offer placement.Offer) (bool, error) {
	const open = `WHERE c.workflow_id = ?1 AND c.held = 0 AND EXISTS (SELECT 1 FROM job WHERE class_id = c.id AND status = {ready} AND `
	ready, err := core.ClassesWhere(tx, r.WorkflowID, open+`(not_before_ms > ?2 OR NOT (`+avoids+`)))`, r.WorkflowID, tx.NowMS, r.Hostname)
	if err != nil || takesAny(offer, ready) {
		return err == nil, err
	}
	avoiding, err := core.ClassesWhere(tx, r.WorkflowID, open+`not_before_ms <= ?2 AND `+avoids+`)`, r.WorkflowID, tx.NowMS, r.Hostname)
	if err != nil {
		return false, err
	}
	c := &Claim{tx: tx, workflowID: r.WorkflowID, runner: r}
	for _, k := range avoiding {
		if !takesAny(offer, []view.JobClass{k}) {
			continue
		}
		if elsewhere, err := c.elsewhere(k.Class); err != nil || !elsewhere {
			return err == nil, err
		}
	}
	return false, nil
}

// takesAny reports whether jobs of one of the classes fit.
func takesAny(o placement.Offer, classes []view.JobClass) bool {
	list := make([]placement.Class, len(classes))
	for i, k := range classes {
		list[i] = k.Class
	}
	return len(placement.NewPacker(o).Candidates(list)) > 0
}
