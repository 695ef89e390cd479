package store

import (
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// rememberProposed remembers proposed verdicts for failures like those of their jobs.
func rememberProposed(tx *core.Tx, p *proposal.Proposal, change *proposal.Change) error {
	if p.Kind != proposal.Classify && p.Kind != proposal.Question {
		return nil
	}
	r, err := core.LoadRun(tx, p.WorkflowID)
	if err != nil {
		return err
	}
	verdicts := change.Verdicts
	if p.Kind == proposal.Question { // its verdicts may still name groups
		verdicts = []hold.HoldVerdict{{Action: hold.ActionAsk, Reason: p.Reason}}
		for i := range p.Jobs {
			verdicts[0].JobIDs = append(verdicts[0].JobIDs, p.Jobs[i].JobID)
		}
	}
	for i := range verdicts {
		v := &verdicts[i]
		row := hold.EarlierVerdict{
			WorkflowID: p.WorkflowID, RunID: r.RunID, AtMS: tx.NowMS, State: hold.Proposed, Action: v.Action, Author: p.Author, Door: p.Door, Reason: v.Reason,
			Confidence: v.Confidence, Memory: v.Memory, Runtime: v.Runtime, NumCPUs: v.NumCPUs, ProposalID: p.ID,
		}
		for _, id := range v.JobIDs {
			l, err := core.GetOne(tx, "job", id, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
			if err != nil {
				return err
			}
			row.JobID, row.JobName = id, l.Name
			if _, row.AlikeFailure, err = lastFailure(tx, &l, r); err != nil {
				return err
			}
			if _, err := engine.Remember(tx, &row, p.ExpiresMS); err != nil {
				return err
			}
		}
	}
	return nil
}

// rememberDecision remembers the decision about a proposal. The verdicts of an applied one
// are remembered like any others.
func rememberDecision(tx *core.Tx, p *proposal.Proposal) (err error) {
	switch p.State {
	case proposal.Applied:
		_, err = tx.Exec(`DELETE FROM verdict_memory WHERE proposal_id = ? AND state = 'proposed'`, p.ID)
	case proposal.Rejected:
		_, err = tx.Exec(`UPDATE verdict_memory SET state = 'rejected', decided_by = ?, note = ? WHERE proposal_id = ? AND state = 'proposed'`, p.DecidedBy, p.Note, p.ID)
	}
	if err != nil {
		return fmt.Errorf("remember the decision about proposal %d: %w", p.ID, err)
	}
	return nil
}
