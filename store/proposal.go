package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// NewProposal is a proposal before it is stored.
type NewProposal struct {
	proposal.Proposal // its workflow, kind, author, door and texts
	Change            proposal.Change
	Call              string        // key of the call of an agent in which it is made; empty: none
	Life              time.Duration // 0: the usual one
	DryRun            bool          // store nothing
	// AllOrNothing stores nothing if a part of the change is refused.
	AllOrNothing bool
}

// Propose finds out what a change would do to each job, and stores it. A part that cannot be
// carried out is refused with the reason, and the rest is proposed; if nothing is left, or
// nothing is stored, the id is 0.
func (s Proposals) Propose(ctx context.Context, n NewProposal) (p proposal.Proposal, refused []proposal.Refusal, err error) {
	err = s.shared.By(ctx).Do("propose", func(tx *core.Tx) error {
		p = n.Proposal
		if n.Call != "" {
			if err := attribute(tx, &p, n.Call); err != nil {
				return err
			}
		}
		if err := p.Check(n.Life, tx.NowMS); err != nil {
			return err
		}
		if p.Kind != proposal.Create {
			if err := core.RequireWorkflow(tx, p.WorkflowID); err != nil {
				return err
			}
		}
		change := n.Change
		if refused, err = tryChange(tx, &p, &change); err != nil {
			return err
		}
		p.Title = change.Title(p.Kind, p.JobCount)
		if n.DryRun || p.JobCount == 0 || n.AllOrNothing && len(refused) > 0 {
			return nil
		}
		if err := insertProposal(tx, &p, &change); err != nil {
			return err
		}
		return rememberProposed(tx, &p, &change)
	})
	return p, refused, err
}

// tryChange carries out a change, completes the proposal by what it did, and takes it back.
// What was refused is no longer part of the change.
func tryChange(tx *core.Tx, p *proposal.Proposal, change *proposal.Change) (refused []proposal.Refusal, err error) {
	if p.Kind == proposal.Create {
		return nil, nil // the caller has tried it
	}
	var after []proposal.JobState
	err = tx.Try(func() error {
		var ids []int64
		if ids, refused, err = carryOut(tx, p, change, p.Author); err != nil {
			return err
		}
		after, err = jobStates(tx, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.Jobs, p.CPUSeconds = []proposal.JobChange{}, 0
	for i := range after {
		before, err := core.GetOne(tx, "job", after[i].JobID, view.SelectJobState, view.ScanJobState)
		if err != nil {
			return nil, err
		}
		p.Jobs = append(p.Jobs, proposal.Compare(&before, &after[i]))
		p.CPUSeconds += proposal.Cost(&before, &after[i])
	}
	p.JobCount = int64(len(p.Jobs))
	return refused, nil
}

// jobStates reads jobs as proposals see them.
func jobStates(tx *core.Tx, ids []int64) ([]proposal.JobState, error) {
	states := make([]proposal.JobState, len(ids))
	for i, id := range ids {
		var err error
		if states[i], err = core.GetOne(tx, "job", id, view.SelectJobState, view.ScanJobState); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func insertProposal(tx *core.Tx, p *proposal.Proposal, change *proposal.Change) error {
	text, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("write the change of a proposal: %w", err)
	}
	jobs, err := json.Marshal(p.Jobs)
	if err != nil {
		return fmt.Errorf("write the jobs of a proposal: %w", err)
	}
	var of any
	if p.WorkflowID != 0 {
		of = p.WorkflowID
	}
	p.ID, err = tx.Insert(`INSERT INTO proposal (workflow_id, kind, state, author, door, title, reason, evidence, created_ms, expires_ms, job_count, cpu_seconds, call_id, change, jobs)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, of, string(p.Kind), string(p.State), p.Author, p.Door, p.Title, p.Reason, p.Evidence,
		p.CreatedMS, p.ExpiresMS, p.JobCount, p.CPUSeconds, p.CallID, string(text), string(jobs))
	if err != nil {
		return fmt.Errorf("insert a proposal: %w", err)
	}
	if p.WorkflowID == 0 {
		return nil
	}
	return core.UserAction(tx, p.WorkflowID, p.Author, "propose", map[string]any{"proposal_id": p.ID, "kind": p.Kind, "title": p.Title, "reason": p.Reason, "door": p.Door})
}

// Apply carries out a proposal in one transaction, after checking it again: that it is open,
// that its jobs are as they were, and that the effect on each is the proposed one. Otherwise
// it returns CodeConflict, and nothing has changed.
func (s Proposals) Apply(ctx context.Context, id int64, user string) (p proposal.Proposal, err error) {
	err = s.shared.By(ctx).Do("apply a proposal", func(tx *core.Tx) error {
		stored, err := core.GetOne(tx, "proposal", id, view.SelectProposal, view.ScanProposal)
		if err != nil {
			return err
		}
		if err := stored.Applicable(tx.NowMS); err != nil {
			return err
		}
		if p = stored.Proposal; p.Kind == proposal.Create {
			return workflow.Errorf(workflow.CodeInvalid, "proposal %d creates a workflow, which is not done in this way", id)
		}
		if err := applyChange(tx, &p, &stored.Change, user); err != nil {
			return err
		}
		return decide(tx, &p, proposal.Applied, user, "")
	})
	return p, err
}

// applyChange carries out the change of a proposal, all of it or nothing.
func applyChange(tx *core.Tx, p *proposal.Proposal, change *proposal.Change, user string) error {
	if err := core.RequireWorkflow(tx, p.WorkflowID); err != nil {
		return err
	}
	before := make(map[int64]proposal.JobState, len(p.Jobs))
	for i := range p.Jobs {
		c := &p.Jobs[i]
		now, err := core.GetOne(tx, "job", c.JobID, view.SelectJobState, view.ScanJobState)
		if err != nil {
			return err
		}
		if now.WorkflowID != p.WorkflowID {
			return workflow.Errorf(workflow.CodeConflict, "job %d does not belong to workflow %d; nothing was changed", c.JobID, p.WorkflowID)
		}
		if err := c.Unchanged(&now); err != nil {
			return err
		}
		before[c.JobID] = now
	}
	ids, refused, err := carryOut(tx, p, change, user)
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return workflow.Errorf(workflow.CodeConflict, "%s; nothing was changed", refused[0].Text()).WithHint("%s", refused[0].Hint)
	}
	after, err := jobStates(tx, ids)
	if err != nil {
		return err
	}
	if len(after) != len(p.Jobs) {
		return workflow.Errorf(workflow.CodeConflict, "proposal %d would change %d jobs now, and not %d; nothing was changed", p.ID, len(after), len(p.Jobs))
	}
	for i := range after {
		was := before[after[i].JobID]
		now := proposal.Compare(&was, &after[i])
		if at := slices.IndexFunc(p.Jobs, func(c proposal.JobChange) bool { return c.JobID == now.JobID }); at < 0 || !slices.Equal(p.Jobs[at].Changes, now.Changes) {
			return workflow.Errorf(workflow.CodeConflict, "proposal %d would have another effect on job %d (%s) now: %v; nothing was changed", p.ID, now.JobID, now.Name, now.Changes).
				WithHint("reject it, and propose it again from the present state")
		}
	}
	return nil
}

// decide records a decision about a proposal.
func decide(tx *core.Tx, p *proposal.Proposal, to proposal.State, user, note string) error {
	p.State, p.DecidedMS, p.DecidedBy, p.Note = to, tx.NowMS, user, note
	var of any
	if p.WorkflowID != 0 {
		of = p.WorkflowID
	}
	if err := tx.ExecOne(`UPDATE proposal SET state = ?, decided_ms = ?, decided_by = ?, note = ?, workflow_id = ? WHERE id = ?`,
		string(to), p.DecidedMS, user, note, of, p.ID); err != nil {
		return fmt.Errorf("decide about proposal %d: %w", p.ID, err)
	}
	if err := rememberDecision(tx, p); err != nil {
		return err
	}
	if p.WorkflowID == 0 {
		return nil
	}
	return core.UserAction(tx, p.WorkflowID, user, "proposal_"+string(to), map[string]any{"proposal_id": p.ID, "kind": p.Kind, "title": p.Title, "note": note})
}

// Reject closes a proposal that is not applied; CodeConflict if it is closed.
func (s Proposals) Reject(ctx context.Context, id int64, user, note string) (p proposal.Proposal, err error) {
	err = s.shared.By(ctx).Do("reject a proposal", func(tx *core.Tx) error {
		stored, err := core.GetOne(tx, "proposal", id, view.SelectProposal, view.ScanProposal)
		if err != nil {
			return err
		}
		if p = stored.Proposal; p.StateAt(tx.NowMS) == proposal.Expired {
			return decide(tx, &p, proposal.Rejected, user, note) // it is told apart from those that nobody looked at
		}
		if err := p.Decidable(tx.NowMS); err != nil {
			return err
		}
		return decide(tx, &p, proposal.Rejected, user, note)
	})
	return p, err
}

// ApplyDefinition finishes the workflow that a proposal creates and records both in one
// transaction. It returns CodeConflict if the proposal is closed.
func (s Proposals) ApplyDefinition(ctx context.Context, id int64, user string, d *DefinitionWriter, jobs, files int64) (p proposal.Proposal, err error) {
	d.last = func(tx *core.Tx) error {
		stored, err := core.GetOne(tx, "proposal", id, view.SelectProposal, view.ScanProposal)
		if err != nil {
			return err
		}
		if err := stored.Applicable(tx.NowMS); err != nil {
			return err
		}
		p = stored.Proposal
		p.WorkflowID = d.id
		return decide(tx, &p, proposal.Applied, user, "")
	}
	_, err = d.Finish(ctx, jobs, files)
	return p, err
}
