package handler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/server/rest"
	"github.com/torc-slurm/torc-slurm/service"
	"github.com/torc-slurm/torc-slurm/store"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

// proposals handles requests about proposals.
type proposals struct{ *Deps }

func (h proposals) routes() []rest.Route {
	return []rest.Route{
		rest.Handle("GET", "/proposals", "List proposed changes, without the changes of their jobs", List(h.listProposals, same)),
		rest.Handle("GET", "/proposals/{id}", "Get a proposed change, with what it changes of each job", h.getProposal),
		rest.Handle("POST", "/proposals", "Propose a change that somebody else decides about; a dry run only shows what it would do", h.propose, rest.Conflict409, rest.Bulk),
		rest.Handle("POST", "/proposals/{id}/apply", "Carry out a proposed change, after checking it again; all of it or nothing", h.applyProposal, rest.Conflict409),
		rest.Handle("POST", "/proposals/{id}/reject", "Close a proposed change that is not carried out", h.rejectProposal, rest.Conflict409),
	}
}

type proposalListParams struct {
	WorkflowID *int64  `query:"workflow_id" doc:"of this workflow; of all without it"`
	State      *string `query:"state" doc:"open, applied, rejected or expired"`
	pageParams
}

func (h proposals) listProposals(r *rest.Request[proposalListParams, rest.None], page store.Page) ([]proposal.Proposal, int64, error) {
	filter := store.ProposalFilter{WorkflowID: Or(r.Params.WorkflowID, 0), State: proposal.State(Or(r.Params.State, ""))}
	switch filter.State {
	case "", proposal.Open, proposal.Applied, proposal.Rejected, proposal.Expired:
	default:
		return nil, 0, workflow.Errorf(workflow.CodeInvalid, "unknown state %q", string(filter.State)).WithHint("use open, applied, rejected or expired")
	}
	return h.Store.Proposals.List(r.Context(), filter, page)
}

func (h proposals) getProposal(r *rest.Request[IDParams, rest.None]) (proposal.Proposal, error) {
	p, err := h.Store.Proposals.Get(r.Context(), r.Params.ID)
	return p.Proposal, err
}

func (h proposals) propose(r *rest.Request[rest.None, api.NewProposal]) (api.ProposalOutcome, error) {
	var jobs int64
	if q := &r.Body; q.Kind == proposal.Create && q.Definition != "" {
		var err error
		if jobs, err = h.tryDefinition(r.Context(), q.Definition); err != nil {
			return api.ProposalOutcome{}, err
		}
	}
	return service.Proposals{Service: h.verbs()}.Propose(r.Context(), by(r), &r.Body, jobs)
}

func (h proposals) applyProposal(r *rest.Request[IDParams, rest.None]) (proposal.Proposal, error) {
	stored, err := h.Store.Proposals.Get(r.Context(), r.Params.ID)
	if err != nil {
		return proposal.Proposal{}, err
	}
	if stored.Kind != proposal.Create {
		return h.Store.Proposals.Apply(r.Context(), r.Params.ID, r.User())
	}
	if err := stored.Applicable(h.Now().UnixMilli()); err != nil {
		return stored.Proposal, err
	}
	var done proposal.Proposal
	err = h.define(r.Context(), stored.Change.Definition, fmt.Sprintf("proposal %d of %d", stored.ID, stored.CreatedMS), func(d *store.DefinitionWriter, jobs, files int64) (err error) {
		done, err = h.Store.Proposals.ApplyDefinition(r.Context(), stored.ID, r.User(), d, jobs, files)
		return err
	})
	return done, err
}

func (h proposals) rejectProposal(r *rest.Request[IDParams, api.ProposalRejection]) (proposal.Proposal, error) {
	return h.Store.Proposals.Reject(r.Context(), r.Params.ID, r.User(), r.Body.Reason)
}

// maxProposedDefinition limits the text of a workflow that is proposed, in bytes.
const maxProposedDefinition = 8 << 20

// errTried ends the creation of a workflow that was only tried.
var errTried = errors.New("the creation was only tried")

// tryDefinition creates a workflow, takes it back, and returns the number of its jobs.
func (h proposals) tryDefinition(ctx context.Context, text string) (jobs int64, err error) {
	if len(text) > maxProposedDefinition {
		return 0, workflow.Errorf(workflow.CodeInvalid, "the workflow has %d bytes; at most %d can be proposed", len(text), maxProposedDefinition).
			WithHint("create it with `torc-slurm create`")
	}
	err = h.define(ctx, text, "", func(d *store.DefinitionWriter, n, files int64) error {
		jobs = n
		_, err := d.Try(ctx, n, files, errTried)
		return err
	})
	if errors.Is(err, errTried) {
		err = nil
	}
	return jobs, err
}

// define writes the workflow of a text, and finishes it.
func (h proposals) define(ctx context.Context, text, key string, finish func(d *store.DefinitionWriter, jobs, files int64) error) error {
	lines := &definitionReader{lines: bufio.NewReader(strings.NewReader(text))}
	d, err := lines.begin(ctx, h.Store, &key)
	if err != nil {
		return err
	}
	if _, _, finished, err := d.Finished(ctx); finished || err != nil {
		if err == nil {
			err = workflow.Errorf(workflow.CodeConflict, "the proposal was applied already")
		}
		return err
	}
	return lines.finish(d, func(jobs, files int64) error { return finish(d, jobs, files) })
}
