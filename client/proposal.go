package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// ProposalFilter selects proposals; zero values do not filter.
type ProposalFilter struct {
	Page
	WorkflowID int64
	State      proposal.State
}

// List lists proposals without the changes of their jobs.
func (c Proposals) List(ctx context.Context, f ProposalFilter) iter.Seq2[proposal.Proposal, error] {
	query := values("state", string(f.State))
	if f.WorkflowID != 0 {
		query.Set("workflow_id", fmt.Sprint(f.WorkflowID))
	}
	return pages[proposal.Proposal](ctx, c, "/proposals", f.Page, query)
}

// Get returns a proposal with the changes of its jobs.
func (c Proposals) Get(ctx context.Context, id int64) (*proposal.Proposal, error) {
	return get[proposal.Proposal](ctx, c, "/proposals/%d", id)
}

// Propose stores a proposal; a dry run only returns what it would do.
func (c Proposals) Propose(ctx context.Context, n *api.NewProposal) (*api.ProposalOutcome, error) {
	if n.DryRun {
		ctx = repeatable(ctx)
	}
	return call[api.ProposalOutcome](ctx, c, http.MethodPost, "/proposals", n)
}

// Apply carries out a proposal and returns it.
func (c Proposals) Apply(ctx context.Context, id int64) (*proposal.Proposal, error) {
	return call[proposal.Proposal](ctx, c, http.MethodPost, fmt.Sprintf("/proposals/%d/apply", id), nil)
}

// Reject closes a proposal that is not applied and returns it.
func (c Proposals) Reject(ctx context.Context, id int64, reason string) (*proposal.Proposal, error) {
	return call[proposal.Proposal](ctx, c, http.MethodPost, fmt.Sprintf("/proposals/%d/reject", id), &api.ProposalRejection{Reason: reason})
}
