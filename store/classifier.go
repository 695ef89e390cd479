package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/store/view"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
	"github.com/torc-slurm/torc-slurm/workflow/classifier"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// userClassifier is who applies proposals within the caps of a policy.
const userClassifier = "the classifier"

// maxCallProposals is how many proposals an agent can leave in a call.
const maxCallProposals = 50

// Begin begins a call of an agent about held jobs of a workflow, if one is due. key is the
// secret by which the agent's proposals are recognized. If none is due, the decision names no
// groups and the call has no id.
func (s Classifiers) Begin(_ context.Context, workflowID int64, key string) (c classifier.Call, d classifier.Decision, l classifier.Limits, err error) {
	err = s.shared.Do("begin a call of an agent", func(tx *core.Tx) error {
		r, err := core.LoadRun(tx, workflowID)
		if err != nil {
			return err
		}
		f, err := view.ClassifierFacts(tx.Query, r, tx.NowMS)
		if err != nil {
			return err
		}
		if d = classifier.Decide(f); len(d.Ask) == 0 {
			return nil
		}
		l = classifier.LimitsOf(f.Policy)
		c = classifier.Call{WorkflowID: workflowID, RunID: r.RunID, Agent: l.Name(), StartedMS: tx.NowMS}
		for i := range d.Ask {
			c.Asked = append(c.Asked, classifier.Asked{Fingerprint: d.Ask[i].Fingerprint, Count: d.Ask[i].Count})
		}
		asked, err := json.Marshal(c.Asked)
		if err != nil {
			return fmt.Errorf("begin a call of an agent: %w", err)
		}
		c.ID, err = tx.Insert(`INSERT INTO classifier_call (workflow_id, run_id, key, agent, started_ms, asked) VALUES (?, ?, ?, ?, ?, ?)`,
			c.WorkflowID, c.RunID, key, c.Agent, c.StartedMS, string(asked))
		if err != nil {
			return fmt.Errorf("begin a call of an agent: %w", err)
		}
		return core.UserAction(tx, workflowID, authorOfCall(c.Agent), "classifier_asked", map[string]any{"call_id": c.ID, "run_id": c.RunID, "asked": c.Asked})
	})
	return c, d, l, err
}

// End ends a call. Its proposals within the caps of the policy are applied, the others wait for
// a person. without and detail say why there is no answer, if the agent left no proposal.
func (s Classifiers) End(_ context.Context, id int64, without classifier.Outcome, detail string) (c classifier.Call, err error) {
	err = s.shared.Do("end a call of an agent", func(tx *core.Tx) (err error) {
		c, err = endCall(tx, id, without, detail)
		return err
	})
	return c, err
}

func endCall(tx *core.Tx, id int64, without classifier.Outcome, detail string) (c classifier.Call, err error) {
	if c, err = core.GetOne(tx, "call", id, view.SelectCall, view.ScanCall); err != nil {
		return c, err
	}
	if c.EndedMS != 0 {
		return c, workflow.Errorf(workflow.CodeConflict, "call %d of the agent %s has ended", c.ID, c.Agent)
	}
	r, err := core.LoadRun(tx, c.WorkflowID)
	if err != nil {
		return c, err
	}
	applied, left, err := applyProposals(tx, r, &c)
	if err != nil {
		return c, err
	}
	c.EndedMS, c.Outcome, c.Detail = tx.NowMS, without, detail
	switch {
	case applied > 0:
		c.Outcome, c.Detail = classifier.Applied, strings.Join(left, "; ")
	case len(left) > 0:
		c.Outcome, c.Detail = classifier.Proposed, strings.Join(left, "; ")
	}
	if err := tx.ExecOne(`UPDATE classifier_call SET ended_ms = ?, outcome = ?, detail = ? WHERE id = ?`, c.EndedMS, string(c.Outcome), c.Detail, c.ID); err != nil {
		return c, fmt.Errorf("end call %d of an agent: %w", c.ID, err)
	}
	if len(left) > 0 || applied == 0 {
		alert := workflow.Alert{
			Kind: workflow.AlertDecision, Subject: fmt.Sprintf("%s of workflow %d for a decision", workflow.CountOf(int64(c.Jobs()), "held job waits", "held jobs wait"), c.WorkflowID),
			Text: c.Line(tx.NowMS),
		}
		if err := core.RaiseAlert(tx, r, alert); err != nil {
			return c, err
		}
	}
	return c, core.UserAction(tx, c.WorkflowID, authorOfCall(c.Agent), "classifier_ended", map[string]any{"call_id": c.ID, "outcome": c.Outcome, "detail": c.Detail})
}

// applyProposals applies the proposals of a call that are within the caps. It returns how many
// it applied, and why the others wait for a person.
func applyProposals(tx *core.Tx, r *view.Run, c *classifier.Call) (applied int, left []string, err error) {
	ids, err := sqlite.Select(tx, view.ScanID, `SELECT id FROM proposal WHERE call_id = ? AND call_id != 0 AND state = ? ORDER BY id`, c.ID, string(proposal.Open))
	if err != nil || len(ids) == 0 {
		return 0, nil, err
	}
	policy, err := r.Policy()
	if err != nil {
		return 0, nil, err
	}
	var l classifier.Limits
	if policy.Classifier != nil {
		l = classifier.LimitsOf(policy.Classifier)
	}
	jobs, err := view.HeldJobs(tx.Query, c.WorkflowID)
	if err != nil {
		return 0, nil, err
	}
	held := make(map[int64]hold.HeldJob, len(jobs))
	for i := range jobs {
		held[jobs[i].ID] = jobs[i]
	}
	for _, id := range ids {
		stored, err := core.GetOne(tx, "proposal", id, view.SelectProposal, view.ScanProposal)
		if err != nil {
			return 0, nil, err
		}
		p := stored.Proposal
		why := l.Exceeds(c, &p, &stored.Change, held)
		if why == "" {
			err := tx.Savepoint(func() error {
				if err := applyChange(tx, &p, &stored.Change, userClassifier); err != nil {
					return err
				}
				return decide(tx, &p, proposal.Applied, userClassifier, "within the caps of the workflow's classifier")
			})
			refusal := refusalOf(err)
			if err != nil && refusal == nil {
				return 0, nil, err
			}
			if refusal == nil {
				applied++
				continue
			}
			why = refusal.Message
		}
		left = append(left, fmt.Sprintf("proposal %d: %s", id, why))
	}
	return applied, left, nil
}

// Interrupt ends the calls that a former daemon left, and returns their keys.
func (s Classifiers) Interrupt(_ context.Context) (keys []string, err error) {
	err = s.shared.Do("end calls of agents", func(tx *core.Tx) error {
		ids, err := sqlite.Select(tx, view.ScanID, `SELECT c.id FROM classifier_call c JOIN workflow w ON w.id = c.workflow_id WHERE c.ended_ms = 0 AND w.is_hidden = 0 ORDER BY c.id`)
		if err != nil {
			return err
		}
		for _, id := range ids {
			var key string
			if err := tx.Row(`SELECT key FROM classifier_call WHERE id = ?`, []any{id}, &key); err != nil {
				return err
			}
			if _, err := endCall(tx, id, classifier.Interrupted, ""); err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return nil
	})
	return keys, err
}

// authorOfCall returns the author of what an agent proposes.
func authorOfCall(agent string) string { return "agent " + agent }

// attribute makes a proposal one of the call with its key. It returns CodeConflict if the call
// has ended, is about another workflow, or has left too many proposals, and CodeForbidden for
// what an agent that decides about held jobs cannot propose.
func attribute(tx *core.Tx, p *proposal.Proposal, key string) error {
	id, workflowID, agent, err := view.CallOfKey(tx.Row, key)
	if err != nil {
		return err
	}
	if p.WorkflowID != workflowID {
		return workflow.Errorf(workflow.CodeConflict, "the agent was asked about workflow %d, not %d", workflowID, p.WorkflowID)
	}
	if p.Kind != proposal.Classify && p.Kind != proposal.Question {
		return workflow.Errorf(workflow.CodeForbidden, "an agent that is asked about held jobs can only decide about these").
			WithHint("use classify_and_resolve_failures")
	}
	var n int64
	if err := tx.Row(`SELECT COUNT(*) FROM proposal WHERE call_id = ? AND call_id != 0`, []any{id}, &n); err != nil {
		return fmt.Errorf("count the proposals of call %d: %w", id, err)
	}
	if n >= maxCallProposals {
		return workflow.Errorf(workflow.CodeConflict, "the agent has made %d proposals in this call, which is the limit", n)
	}
	p.CallID, p.Author, p.Door, tx.Door = id, authorOfCall(agent), string(audit.Agent), audit.Agent
	return nil
}
