package service

import (
	"cmp"
	"context"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/audit"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// mostParts is how many verdicts or groups of jobs a proposal can have.
const mostParts = 10_000

// Proposals has the operations on proposals.
type Proposals struct{ Service *Service }

// Propose stores a change that somebody else decides about, or, in a dry run, says what it
// would do. Parts that cannot be carried out are named with the reason, and the others are
// proposed. A request without the part of its kind is CodeInvalid; an error of a recovery is
// that of Recover. The jobs of a definition are counted by the caller.
func (p Proposals) Propose(ctx context.Context, by Caller, q *api.NewProposal, definedJobs int64) (api.ProposalOutcome, error) {
	n := store.NewProposal{
		Proposal: proposal.Proposal{
			WorkflowID: q.WorkflowID, Kind: q.Kind, Author: cmp.Or(q.Author, by.User), Door: cmp.Or(q.Door, string(audit.DoorOf(ctx))),
			Reason: q.Reason, Evidence: q.Evidence, JobCount: definedJobs,
		},
		Change: proposal.Change{Verdicts: q.Verdicts, Requirements: q.Requirements, Definition: q.Definition, Force: q.Force},
		Call:   q.Call,
		Life:   time.Duration(q.ExpiresSeconds) * time.Second, DryRun: q.DryRun, AllOrNothing: q.AllOrNothing,
	}
	var out api.ProposalOutcome
	if err := checkProposal(q); err != nil {
		return out, err
	}
	if q.Kind == proposal.Recover {
		var err error
		if n.Change.Recovery, out.Recovery, err = p.recovery(ctx, by, q.WorkflowID, q.Recover); err != nil {
			return out, err
		}
	}
	var err error
	out.Proposal, out.Refused, err = p.Service.Store.Proposals.Propose(ctx, n)
	return out, err
}

// checkProposal returns an error for a request whose parts do not fit its kind.
func checkProposal(q *api.NewProposal) error {
	given := map[proposal.Kind]bool{
		proposal.Classify: len(q.Verdicts) > 0, proposal.Question: len(q.Verdicts) > 0, proposal.Requirements: len(q.Requirements) > 0,
		proposal.Recover: q.Recover != nil, proposal.Create: q.Definition != "",
	}
	has, known := given[q.Kind]
	switch {
	case !known:
		return workflow.Errorf(workflow.CodeInvalid, "unknown kind of proposal %q", string(q.Kind)).WithHint("use classify, requirements, recover, create or question")
	case !has:
		return workflow.Errorf(workflow.CodeInvalid, "a proposal of the kind %s lacks its part: verdicts, requirements, recover or definition", q.Kind)
	case (q.WorkflowID == 0) != (q.Kind == proposal.Create):
		return workflow.Errorf(workflow.CodeInvalid, "a proposal names a workflow, unless it creates one")
	case len(q.Verdicts) > mostParts || len(q.Requirements) > mostParts:
		return workflow.Errorf(workflow.CodeInvalid, "a proposal can have at most %d parts", mostParts)
	case q.ExpiresSeconds < 0 || q.ExpiresSeconds > int64(proposal.MostLife.Seconds()):
		return workflow.Errorf(workflow.CodeInvalid, "expires_seconds %d: a proposal can be open for at most %s", q.ExpiresSeconds, workflow.FormatDuration(proposal.MostLife))
	}
	return nil
}

// recovery plans a recovery as a change that can be carried out at once.
func (p Proposals) recovery(ctx context.Context, by Caller, workflowID int64, q *api.RecoverRequest) (*proposal.Recovery, *api.RecoveryPlan, error) {
	dry := *q
	dry.DryRun, dry.Step = true, ""
	r, err := newRecovery(p.Service, by, workflowID, &dry)
	if err != nil {
		return nil, nil, err
	}
	if err := r.prepare(ctx); err != nil {
		return nil, nil, err
	}
	change := &proposal.Recovery{RunID: r.RunID}
	for _, j := range r.chosen() {
		change.Jobs = append(change.Jobs, proposal.ExpectedJob{JobID: j.JobID, Status: j.Status})
	}
	if len(change.Jobs) == 0 {
		return nil, nil, r.noneToRepeat()
	}
	known := r.knownNames()
	for _, c := range r.changes {
		to := c.To
		if c.Clone {
			to.Name = cloneName(to.Name, r.RunID, known)
			known[to.Name] = true
		}
		change.Changes = append(change.Changes, proposal.RecoveredResource{To: to, Clone: c.Clone, JobIDs: c.JobIDs})
	}
	return change, &r.RecoveryPlan, nil
}
