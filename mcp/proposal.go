package mcp

import (
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

func (s *Server) addProposalTools() {
	add(s, tool{name: "list_proposals", title: "Proposed changes",
		description: "List proposed changes and what became of them: open, applied, rejected (with the reason) or expired. Use it to find out what people decided about your proposals."}, listProposals)
	add(s, tool{name: "get_proposal", title: "A proposed change",
		description: "Show a proposed change with what it changes of each job."}, getProposal)
	if s.Mode == Apply {
		add(s, tool{name: "apply_proposal", title: "Apply a proposed change", changes: true, destroys: true,
			description: "Carry out a proposed change, all of it or nothing, after it was checked again: it is open, its jobs are as they were, and the effect is the proposed one. Ask the person you work for first."}, applyProposal)
	}
}

// changeIn are the parameters of tools that change something.
type changeIn struct {
	Evidence       string `json:"evidence,omitempty" jsonschema:"what the reason rests on, such as lines of a log; at most 16 KiB"`
	ExpiresSeconds int64  `json:"expires_seconds,omitempty" jsonschema:"how long the proposal can be applied; 24 hours by default"`
}

// proposalRow is a proposal as an agent sees it.
type proposalRow struct {
	ID         int64   `json:"proposal_id" jsonschema:"0 if it was not stored"`
	WorkflowID int64   `json:"workflow_id,omitempty" jsonschema:"absent if it creates a workflow"`
	Kind       string  `json:"kind"`
	State      string  `json:"state" jsonschema:"open, applied, rejected or expired"`
	Title      string  `json:"title" jsonschema:"what it does"`
	Author     string  `json:"author"`
	Reason     string  `json:"reason"`
	Evidence   string  `json:"evidence,omitempty"`
	JobCount   int64   `json:"job_count"`
	CoreHours  float64 `json:"core_hours" jsonschema:"the most that jobs may use because of it"`
	CreatedAt  string  `json:"created_at"`
	ExpiresAt  string  `json:"expires_at"`
	DecidedBy  string  `json:"decided_by,omitempty"`
	Note       string  `json:"note,omitempty" jsonschema:"why it was rejected"`
}

type jobChangeRow struct {
	JobID   int64    `json:"job_id"`
	Name    string   `json:"name"`
	Status  string   `json:"status" jsonschema:"when it was proposed"`
	Changes []string `json:"changes"`
}

func proposalRowOf(p proposal.Proposal) proposalRow {
	row := proposalRow{
		ID: p.ID, WorkflowID: p.WorkflowID, Kind: string(p.Kind), State: string(p.State), Title: p.Title, Author: p.Author, Reason: p.Reason, Evidence: p.Evidence,
		JobCount: p.JobCount, CoreHours: float64(p.CPUSeconds) / 3600, CreatedAt: timeText(p.CreatedMS), ExpiresAt: timeText(p.ExpiresMS),
		DecidedBy: p.DecidedBy, Note: p.Note,
	}
	return row
}

// timeText returns a time in ms since the epoch in the form of RFC 3339.
func timeText(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

func jobChangesOf(changes []proposal.JobChange) []jobChangeRow {
	rows := []jobChangeRow{}
	for i := range changes[:min(len(changes), mostItems)] {
		c := &changes[i]
		rows = append(rows, jobChangeRow{c.JobID, c.Name, c.Status.String(), c.Changes})
	}
	return rows
}

type listProposalsIn struct {
	pageIn
	WorkflowID int64  `json:"workflow_id,omitempty" jsonschema:"only of this workflow"`
	State      string `json:"state,omitempty" jsonschema:"only open, applied, rejected or expired ones"`
}

type proposalsOut struct {
	Proposals []proposalRow `json:"proposals" jsonschema:"the latest first"`
	pageOut
}

func listProposals(ctx context.Context, c *call, in listProposalsIn) (out proposalsOut, err error) {
	page, err := in.page()
	if err != nil {
		return out, err
	}
	page.SortBy, page.Reverse = "id", true
	out.Proposals, out.pageOut, err = collect(page, c.Proposals.List(ctx, client.ProposalFilter{Page: page, WorkflowID: in.WorkflowID, State: proposal.State(in.State)}), proposalRowOf)
	return out, err
}

type proposalIn struct {
	ProposalID int64 `json:"proposal_id" jsonschema:"id of the proposal"`
}

type proposalOut struct {
	proposalRow
	Jobs []jobChangeRow `json:"jobs" jsonschema:"the first 200"`
}

func getProposal(ctx context.Context, c *call, in proposalIn) (out proposalOut, err error) {
	p, err := c.Proposals.Get(ctx, in.ProposalID)
	if err != nil {
		return out, err
	}
	return proposalOut{proposalRowOf(*p), jobChangesOf(p.Jobs)}, nil
}

func applyProposal(ctx context.Context, c *call, in proposalIn) (out proposalOut, err error) {
	p, err := c.Proposals.Apply(ctx, in.ProposalID)
	if err != nil {
		return out, err
	}
	return proposalOut{proposalRowOf(*p), jobChangesOf(p.Jobs)}, nil
}

type refusalRow struct {
	Entry   int    `json:"entry" jsonschema:"of the request, from 0"`
	JobID   int64  `json:"job_id,omitempty"`
	JobName string `json:"job_name,omitempty"`
	Error   string `json:"error"`
	Hint    string `json:"hint,omitempty"`
}

// changeOut is what a tool that changes something returns.
type changeOut struct {
	Outcome  string         `json:"outcome" jsonschema:"dry_run: nothing was stored or changed; proposed: a person has to apply the proposal; applied: it is done"`
	Proposal proposalRow    `json:"proposal"`
	Jobs     []jobChangeRow `json:"jobs" jsonschema:"what changes of each job; the first 200"`
	Refused  []refusalRow   `json:"refused,omitempty" jsonschema:"what is not part of the proposal, and why; the first 200"`
	RefusedN int            `json:"refused_count"`
	Next     string         `json:"next,omitempty" jsonschema:"what has to be done now"`
}

// change proposes a change, and in the mode apply carries it out. In the mode read it only
// says what would change, and is an error if that was not what the agent asked for.
func (c *call) change(ctx context.Context, n *api.NewProposal, in changeIn) (out changeOut, outcome *api.ProposalOutcome, err error) {
	s := c.server
	if s.Mode == Read && !n.DryRun {
		return out, nil, workflow.Errorf(workflow.CodeForbidden, "this server only reads (mode read): nothing can be changed or proposed").
			WithHint("use dry_run to see what would change, or have a person start torc-slurm mcp with --mode propose")
	}
	n.Author, n.Door, n.Call, n.Evidence, n.ExpiresSeconds = s.User, "mcp", s.Call, in.Evidence, in.ExpiresSeconds
	outcome, err = c.Proposals.Propose(ctx, n)
	if err != nil {
		return out, nil, err
	}
	p := &outcome.Proposal
	out = changeOut{Outcome: "dry_run", Proposal: proposalRowOf(*p), Jobs: jobChangesOf(p.Jobs), RefusedN: len(outcome.Refused)}
	for _, r := range outcome.Refused[:min(len(outcome.Refused), mostItems)] {
		out.Refused = append(out.Refused, refusalRow{r.Entry, r.JobID, r.JobName, r.Error, r.Hint})
	}
	switch {
	case n.DryRun:
		out.Next = "nothing was stored or changed; call the tool again with dry_run false"
		return out, outcome, nil
	case p.ID == 0:
		return out, outcome, refusedError(outcome, n.AllOrNothing)
	case s.Mode != Apply || p.Kind == proposal.Question:
		out.Outcome = "proposed"
		out.Next = fmt.Sprintf("tell the person you work for: torc-slurm proposals show %[1]d, then torc-slurm proposals apply %[1]d", p.ID)
		if p.Kind == proposal.Question {
			out.Next = fmt.Sprintf("tell the person you work for that they have to decide: torc-slurm holds resolve %d", p.WorkflowID)
		}
		return out, outcome, nil
	}
	done, err := c.Proposals.Apply(ctx, p.ID)
	if err != nil {
		return out, outcome, err
	}
	out.Outcome, out.Proposal = "applied", proposalRowOf(*done)
	return out, outcome, nil
}

// refusedError is the error if nothing was stored because of refusals.
func refusedError(o *api.ProposalOutcome, allOrNothing bool) error {
	if len(o.Refused) == 0 {
		return workflow.Errorf(workflow.CodeConflict, "no job would change")
	}
	r := &o.Refused[0]
	text := fmt.Sprintf("entry %d: %s", r.Entry, r.Text())
	if n := len(o.Refused) - 1; n > 0 {
		text += fmt.Sprintf(" (and %s)", workflow.CountOf(int64(n), "other refusal", "other refusals"))
	}
	e := workflow.Errorf(workflow.CodeConflict, "nothing was stored: %s", text)
	if r.Hint != "" {
		return e.WithHint("%s", r.Hint)
	}
	if allOrNothing {
		return e.WithHint("dry_run lists all refusals; without all_or_nothing the rest is proposed")
	}
	return e
}
