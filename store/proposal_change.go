package store

import (
	"fmt"
	"slices"

	"github.com/torc-slurm/torc-slurm/store/core"
	"github.com/torc-slurm/torc-slurm/store/engine"
	"github.com/torc-slurm/torc-slurm/store/record"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// carryOut changes jobs. It returns those that it changed, and what was refused, which is
// removed from the change.
func carryOut(tx *core.Tx, p *proposal.Proposal, change *proposal.Change, user string) (ids []int64, refused []proposal.Refusal, err error) {
	switch p.Kind {
	case proposal.Classify:
		return carryOutVerdicts(tx, p, change, user)
	case proposal.Requirements:
		return carryOutRequirements(tx, p, change)
	case proposal.Recover:
		return carryOutRecovery(tx, p, change, user)
	case proposal.Question:
		return carryOutQuestion(tx, p, change)
	}
	return nil, nil, workflow.Errorf(workflow.CodeInvalid, "unknown kind of proposal %q", p.Kind)
}

func carryOutVerdicts(tx *core.Tx, p *proposal.Proposal, change *proposal.Change, user string) (ids []int64, refused []proposal.Refusal, err error) {
	r, err := core.LoadRun(tx, p.WorkflowID)
	if err != nil {
		return nil, nil, err
	}
	x := &holdResolver{tx: tx, r: r, o: ResolveOptions{Force: change.Force}, decided: map[int64]string{}, proposal: p.ID}
	var left []hold.HoldVerdict
	for i, v := range change.Verdicts {
		if v.Author = p.Author; user != p.Author {
			v.Author += ", applied by " + user
		}
		o, err := x.verdict(i, &v)
		if err != nil {
			return nil, nil, fmt.Errorf("entry %d: %w", i, err)
		}
		if o.Error != "" {
			refused = append(refused, proposal.Refusal{Entry: i, Error: o.Error, Hint: o.Hint})
		}
		var done []int64
		for _, j := range o.Jobs {
			if j.Resolved {
				done = append(done, j.JobID)
				continue
			}
			refused = append(refused, proposal.Refusal{Entry: i, JobID: j.JobID, JobName: j.JobName, Error: j.Error, Hint: j.Hint})
		}
		if len(done) > 0 {
			v.JobID, v.Job, v.Fingerprint, v.JobIDs, v.Author = 0, "", "", done, ""
			left, ids = append(left, v), append(ids, done...)
		}
	}
	change.Verdicts = left
	return ids, refused, nil
}

func carryOutRequirements(tx *core.Tx, p *proposal.Proposal, change *proposal.Change) (ids []int64, refused []proposal.Refusal, err error) {
	seen := map[int64]bool{}
	var left []proposal.RequirementsChange
	for i, c := range change.Requirements {
		if err := c.Validate(); err != nil {
			return nil, nil, err
		}
		var done []int64
		for _, id := range c.JobIDs {
			if seen[id] {
				return nil, nil, workflow.Errorf(workflow.CodeInvalid, "job %d is named twice", id)
			}
			seen[id] = true
			var name string
			err := tx.Savepoint(func() error {
				l, err := core.GetOne(tx, "job", id, `SELECT `+core.LeaseColumns+` FROM job WHERE id = ?`, core.ScanLease)
				if err != nil && workflow.CodeOf(err) != workflow.CodeNotFound {
					return err
				}
				if name = l.Name; err != nil || l.WorkflowID != p.WorkflowID {
					name = ""
					return workflow.Errorf(workflow.CodeNotFound, "workflow %d has no job %d", p.WorkflowID, id)
				}
				return engine.SetRequirements(tx, &l, c.Apply, c.Name, change.Force)
			})
			if refusal := refusalOf(err); refusal != nil {
				refused = append(refused, proposal.Refusal{Entry: i, JobID: id, JobName: name, Error: refusal.Message, Hint: refusal.Hint})
				continue
			}
			if err != nil {
				return nil, nil, err
			}
			done = append(done, id)
		}
		if len(done) > 0 {
			c.JobIDs = done
			left, ids = append(left, c), append(ids, done...)
		}
	}
	change.Requirements = left
	return ids, refused, nil
}

func carryOutRecovery(tx *core.Tx, p *proposal.Proposal, change *proposal.Change, user string) (ids []int64, _ []proposal.Refusal, err error) {
	r := change.Recovery
	if r == nil || len(r.Jobs) == 0 {
		return nil, nil, workflow.Errorf(workflow.CodeInvalid, "a recovery names no jobs")
	}
	for i := range r.Changes {
		if err := changeRecovered(tx, p.WorkflowID, &r.Changes[i], user); err != nil {
			return nil, nil, err
		}
	}
	jobs := make([]JobAt, len(r.Jobs))
	for i, j := range r.Jobs {
		jobs[i] = JobAt{ID: j.JobID, Status: j.Status}
		ids = append(ids, j.JobID)
	}
	left, err := repeatJobs(tx, p.WorkflowID, r.RunID, jobs, user)
	if err == nil && len(left) > 0 {
		err = workflow.Errorf(workflow.CodeConflict, "job %d (%s) is now %s; nothing was changed", left[0].ID, left[0].Name, left[0].Status)
	}
	return ids, nil, err
}

// changeRecovered changes requirements before jobs are repeated.
func changeRecovered(tx *core.Tx, workflowID int64, c *proposal.RecoveredResource, user string) error {
	q := c.To
	if q.WorkflowID = workflowID; !c.Clone {
		_, err := record.UpdateRequirements(tx, q.ID, &record.RequirementsUpdate{WorkflowID: workflowID, NumCPUs: &q.NumCPUs, Memory: &q.Memory, Runtime: &q.Runtime}, user)
		return err
	}
	q.ID = 0
	id, err := engine.InsertRequirements(tx, q)
	if err != nil {
		return err
	}
	for _, job := range c.JobIDs {
		j, err := engine.GetJob(tx, job)
		if err != nil {
			return err
		}
		if err := updateClass(tx, &j, &workflow.JobUpdate{ResourceRequirementsID: &id}); err != nil {
			return err
		}
	}
	return nil
}

func carryOutQuestion(tx *core.Tx, p *proposal.Proposal, change *proposal.Change) (ids []int64, refused []proposal.Refusal, err error) {
	r, err := core.LoadRun(tx, p.WorkflowID)
	if err != nil {
		return nil, nil, err
	}
	x := &holdResolver{tx: tx, r: r, decided: map[int64]string{}}
	for i := range change.Verdicts {
		some, err := x.meant(&change.Verdicts[i])
		if refusal := refusalOf(err); refusal != nil {
			refused = append(refused, proposal.Refusal{Entry: i, Error: refusal.Message, Hint: refusal.Hint})
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, id := range some {
			var of int64
			var status workflow.JobStatus
			err := tx.Row(`SELECT COALESCE(MAX(workflow_id), 0), COALESCE(MAX(status), 0) FROM job WHERE id = ?`, []any{id}, &of, &status)
			switch {
			case err != nil:
				return nil, nil, fmt.Errorf("find job %d: %w", id, err)
			case of != p.WorkflowID:
				refused = append(refused, proposal.Refusal{Entry: i, JobID: id, Error: fmt.Sprintf("workflow %d has no job %d", p.WorkflowID, id)})
			case status != workflow.PendingFailed:
				refused = append(refused, proposal.Refusal{Entry: i, JobID: id, Error: fmt.Sprintf("job %d is %s and waits for no decision", id, status)})
			case !slices.Contains(ids, id):
				ids = append(ids, id)
			}
		}
	}
	return ids, refused, nil
}
