package view

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/torc-slurm/torc-slurm/store/sqlite"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

const proposalColumns = `id, COALESCE(workflow_id, 0), kind, state, author, door, title, reason, evidence, created_ms, expires_ms, decided_ms, decided_by, note, job_count, cpu_seconds, call_id`

func scanProposal(r sqlite.Scanner) (p proposal.Proposal, err error) {
	err = r.Scan(&p.ID, &p.WorkflowID, &p.Kind, &p.State, &p.Author, &p.Door, &p.Title, &p.Reason, &p.Evidence, &p.CreatedMS, &p.ExpiresMS,
		&p.DecidedMS, &p.DecidedBy, &p.Note, &p.JobCount, &p.CPUSeconds, &p.CallID)
	return p, err
}

// SelectProposal selects what ScanProposal reads.
const SelectProposal = `SELECT ` + proposalColumns + `, jobs, change FROM proposal WHERE id = ?`

// StoredProposal is a proposal with what applying it does.
type StoredProposal struct {
	proposal.Proposal
	Change proposal.Change
}

// ScanProposal reads a row of SelectProposal.
func ScanProposal(r sqlite.Scanner) (p StoredProposal, err error) {
	var jobs, change string
	q := &p.Proposal
	err = r.Scan(&q.ID, &q.WorkflowID, &q.Kind, &q.State, &q.Author, &q.Door, &q.Title, &q.Reason, &q.Evidence, &q.CreatedMS, &q.ExpiresMS,
		&q.DecidedMS, &q.DecidedBy, &q.Note, &q.JobCount, &q.CPUSeconds, &q.CallID, &jobs, &change)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(jobs), &q.Jobs); err != nil {
		return p, fmt.Errorf("read the jobs of proposal %d: %w", q.ID, err)
	}
	if err := json.Unmarshal([]byte(change), &p.Change); err != nil {
		return p, fmt.Errorf("read the change of proposal %d: %w", q.ID, err)
	}
	return p, nil
}

// Get returns a proposal with the changes of its jobs, and what applying it does;
// CodeNotFound if there is none with this id.
func (s Proposals) Get(ctx context.Context, id int64) (StoredProposal, error) {
	p, err := ReadOne(ctx, s.DB.Read, "proposal", id, SelectProposal, ScanProposal)
	p.State = p.StateAt(s.DB.Now().UnixMilli())
	return p, err
}

// ProposalFilter selects proposals; zero values match all.
type ProposalFilter struct {
	WorkflowID int64
	State      proposal.State
}

// List returns a page of proposals without their jobs, the oldest first, and how many match
// in all.
func (s Proposals) List(ctx context.Context, q ProposalFilter, page sqlite.Page) ([]proposal.Proposal, int64, error) {
	now := s.DB.Now().UnixMilli()
	f := sqlite.Where(`1`)
	if q.WorkflowID != 0 {
		if err := RequireVisible(ctx, s.DB, q.WorkflowID); err != nil {
			return nil, 0, err
		}
		f.Add(`workflow_id = ?`, q.WorkflowID)
	}
	switch q.State {
	case "":
	case proposal.Open:
		f.Add(`state = 'open' AND expires_ms > ?`, now)
	case proposal.Expired:
		f.Add(`state = 'open' AND expires_ms <= ?`, now)
	default:
		f.Add(`state = ?`, string(q.State))
	}
	list, total, err := sqlite.ReadList(ctx, s.DB.Read, sqlite.List{
		Columns: proposalColumns, From: "proposal", Filter: f, ID: "id", Page: page,
		Sortable: map[string]string{"created_ms": "created_ms", "expires_ms": "expires_ms", "state": "state", "kind": "kind"},
	}, scanProposal)
	for i := range list {
		list[i].State = list[i].StateAt(now)
	}
	return list, total, err
}

// SelectJobState selects what ScanJobState reads.
const SelectJobState = `SELECT j.id, j.workflow_id, j.name, j.status, j.attempt_id,
		q.id, q.name, q.num_cpus, q.num_gpus, q.num_nodes, q.memory, q.runtime
	FROM job j JOIN claim_class c ON c.id = j.class_id JOIN resource_requirements q ON q.id = c.requirements_id WHERE j.id = ?`

// ScanJobState reads what a proposal sees of a job.
func ScanJobState(r sqlite.Scanner) (s proposal.JobState, err error) {
	q := &s.Requirements
	err = r.Scan(&s.JobID, &s.WorkflowID, &s.Name, &s.Status, &s.Attempt, &q.ID, &q.Name, &q.NumCPUs, &q.NumGPUs, &q.NumNodes, &q.Memory, &q.Runtime)
	q.WorkflowID = s.WorkflowID
	return s, err
}
