package mcp

import (
	"cmp"
	"context"
	"strings"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/hold"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
)

func (s *Server) addHoldTools() {
	add(s, tool{name: "list_pending_failed_jobs", title: "Jobs that wait for a decision",
		description: "List the failed jobs of a workflow that wait for a decision, grouped by how they failed: jobs of a group have the same cause and return code, and the last lines of their stderr differ only in numbers, times and paths. Each group has an example with the end of its stderr, the number of its jobs, the attempts so far, the retries that are left, until when somebody must decide, and what was decided about such failures before and what became of it. Decide with classify_and_resolve_failures: one entry for each fingerprint, not for each job."}, listPendingFailedJobs)
	add(s, tool{name: "classify_and_resolve_failures", title: "Decide about failed jobs", changes: true, destroys: true,
		description: "Decide about jobs of list_pending_failed_jobs. action retry: another attempt, if you like with more memory, runtime or num_cpus, for these jobs only. action fail: the error is permanent, and jobs that depend on them are canceled. action ask: a person has to decide. Retry what is transient (network, file servers, node or GPU communication, preemption); fail what a retry cannot mend (syntax errors, missing modules, wrong input). Each entry names a fingerprint, job_id or job_ids, and a reason. Entries that cannot be carried out (a job of another workflow, one that is no longer held, requirements that fit nowhere, no retries left) are refused one by one with the reason."}, classifyFailures)
}

type pendingFailedIn struct {
	workflowIn
	pageIn
}

type earlierRow struct {
	WorkflowID int64  `json:"workflow_id" jsonschema:"which may be deleted"`
	JobID      int64  `json:"job_id" jsonschema:"the first of its jobs"`
	Jobs       int64  `json:"jobs" jsonschema:"how many jobs it decided"`
	At         string `json:"at"`
	State      string `json:"state" jsonschema:"decided, or of a proposal: proposed, rejected or expired"`
	Action     string `json:"action" jsonschema:"retry, fail or ask"`
	With       string `json:"with,omitempty" jsonschema:"new requirements of the retry"`
	Author     string `json:"author"`
	Door       string `json:"door,omitempty" jsonschema:"how it came in: cli, api, mcp, agent, or rule if nobody decided"`
	Reason     string `json:"reason"`
	Rejected   string `json:"rejected,omitempty" jsonschema:"who rejected it, and why"`
	Outcome    string `json:"outcome,omitempty" jsonschema:"how the retries ended; absent until one has"`
}

type failureGroup struct {
	Fingerprint string       `json:"fingerprint"`
	Count       int          `json:"count"`
	JobIDs      []int64      `json:"job_ids" jsonschema:"the first 200"`
	ExampleID   int64        `json:"example_job_id"`
	ExampleName string       `json:"example_name"`
	Command     untrusted    `json:"example_command"`
	Cause       string       `json:"cause,omitempty"`
	Confidence  string       `json:"confidence,omitempty" jsonschema:"of the cause"`
	CauseText   string       `json:"cause_text,omitempty"`
	ReturnCode  int64        `json:"return_code"`
	Category    string       `json:"category,omitempty"`
	HeldBecause string       `json:"held_because"`
	HeldSince   string       `json:"held_since,omitempty"`
	Deadline    string       `json:"deadline,omitempty" jsonschema:"when the first of them is decided if nobody does"`
	OnTimeout   string       `json:"on_timeout,omitempty" jsonschema:"what happens then"`
	Attempts    int64        `json:"attempts" jsonschema:"the most that one of them has had"`
	RetriesLeft int64        `json:"retries_left" jsonschema:"how often each of them can still be retried by a decision"`
	Stderr      untrusted    `json:"stderr_tail" jsonschema:"the end of the example's stderr"`
	Earlier     []earlierRow `json:"earlier_verdicts,omitempty" jsonschema:"decisions about such failures before, the latest first"`
	Experience  string       `json:"experience,omitempty" jsonschema:"what became of all jobs that failed alike and were decided before"`
}

type pendingFailedOut struct {
	WorkflowID int64          `json:"workflow_id"`
	TotalJobs  int            `json:"total_jobs"`
	Groups     []failureGroup `json:"groups" jsonschema:"the largest first"`
	pageOut
}

// usualGroups is how many groups are shown at once by default.
const usualGroups = 10

func listPendingFailedJobs(ctx context.Context, c *call, in pendingFailedIn) (out pendingFailedOut, err error) {
	in.Limit = cmp.Or(in.Limit, usualGroups)
	page, err := in.page()
	if err != nil {
		return out, err
	}
	groups, err := c.Holds.List(ctx, in.WorkflowID)
	if err != nil {
		return out, err
	}
	out = pendingFailedOut{WorkflowID: in.WorkflowID, Groups: []failureGroup{}}
	for i := range groups {
		out.TotalJobs += groups[i].Count
	}
	shown, next := pageOf(page, groups)
	out.pageOut = next
	for i := range shown {
		g, err := c.failureGroup(ctx, &shown[i])
		if err != nil {
			return out, err
		}
		out.Groups = append(out.Groups, g)
	}
	return out, nil
}

func (c *call) failureGroup(ctx context.Context, g *hold.HoldGroup) (failureGroup, error) {
	job, err := c.Jobs.Get(ctx, g.ExampleID)
	if err != nil {
		return failureGroup{}, err
	}
	attempts, err := c.Jobs.Attempts(ctx, g.ExampleID)
	if err != nil {
		return failureGroup{}, err
	}
	out := failureGroup{
		Fingerprint: g.Fingerprint, Count: g.Count, JobIDs: g.JobIDs[:min(len(g.JobIDs), mostItems)], ExampleID: g.ExampleID, ExampleName: g.ExampleName,
		Command: c.fence(cut(job.Command, 500)), Cause: string(g.Cause), Confidence: string(g.Confidence), CauseText: g.CauseText, ReturnCode: g.ReturnCode,
		Category: g.Category, HeldBecause: g.Reason, HeldSince: timeText(g.SinceMS), Deadline: timeText(g.DeadlineMS), OnTimeout: string(g.OnTimeout),
		Attempts: g.Attempts, RetriesLeft: g.RetriesLeft,
	}
	if n := len(attempts); n > 0 {
		out.Stderr = c.stderrTail(&attempts[n-1], 50)
	}
	for i := range g.Earlier {
		v := &g.Earlier[i]
		row := earlierRow{
			WorkflowID: v.WorkflowID, JobID: v.JobID, Jobs: v.Jobs, At: timeText(v.AtMS), State: string(v.State), Action: string(v.Action), With: v.With(),
			Author: v.Author, Door: v.Door, Reason: v.Reason, Outcome: v.Outcome,
		}
		if v.State == hold.Rejected {
			row.Rejected = strings.TrimSuffix(v.DecidedBy+": "+v.Note, ": ")
		}
		out.Earlier = append(out.Earlier, row)
	}
	if g.Experience != nil {
		out.Experience = g.Experience.Text()
	}
	return out, nil
}

type classifyIn struct {
	workflowIn
	changeIn
	Classifications []classificationIn `json:"classifications"`
	DryRun          bool               `json:"dry_run" jsonschema:"true: only return what would change"`
	AllOrNothing    bool               `json:"all_or_nothing,omitempty" jsonschema:"store nothing if an entry or a job is refused; by default the rest is"`
	Force           bool               `json:"force,omitempty" jsonschema:"accept more memory, runtime or CPUs than is known to fit anywhere"`
}

type classificationIn struct {
	JobID       int64   `json:"job_id,omitempty" jsonschema:"the job; or job_ids or fingerprint"`
	JobIDs      []int64 `json:"job_ids,omitempty"`
	Fingerprint string  `json:"fingerprint,omitempty" jsonschema:"all jobs of this group"`
	Action      string  `json:"action" jsonschema:"retry, fail or ask"`
	Memory      string  `json:"memory,omitempty" jsonschema:"with retry: new memory, such as 16g"`
	Runtime     string  `json:"runtime,omitempty" jsonschema:"with retry: new runtime, such as PT2H or 90m"`
	NumCPUs     int64   `json:"num_cpus,omitempty" jsonschema:"with retry: new number of CPUs"`
	Reason      string  `json:"reason,omitempty" jsonschema:"why; it is stored and shown to people"`
	Confidence  string  `json:"confidence,omitempty" jsonschema:"how sure you are: certain, likely or guess"`
}

type classifyOut struct {
	changeOut
	Question *changeOut `json:"question,omitempty" jsonschema:"what was asked of a person (action ask)"`
}

// actionAsk leaves a decision to a person.
const actionAsk = "ask"

func classifyFailures(ctx context.Context, c *call, in classifyIn) (out classifyOut, err error) {
	if len(in.Classifications) == 0 {
		return out, workflow.Errorf(workflow.CodeInvalid, "classifications is empty")
	}
	decide := &api.NewProposal{Kind: proposal.Classify, WorkflowID: in.WorkflowID, DryRun: in.DryRun, AllOrNothing: in.AllOrNothing, Force: in.Force}
	ask := &api.NewProposal{Kind: proposal.Question, WorkflowID: in.WorkflowID, DryRun: in.DryRun, AllOrNothing: in.AllOrNothing}
	var entries [2][]int // of the request, by entry of the two
	for i, x := range in.Classifications {
		v := hold.HoldVerdict{
			JobID: x.JobID, JobIDs: x.JobIDs, Fingerprint: x.Fingerprint, Action: workflow.Action(x.Action), Memory: x.Memory, Runtime: x.Runtime,
			NumCPUs: x.NumCPUs, Reason: x.Reason, Confidence: workflow.Confidence(x.Confidence),
		}
		n, which := decide, 0
		if x.Action == actionAsk {
			n, which = ask, 1
		}
		n.Verdicts, entries[which] = append(n.Verdicts, v), append(entries[which], i)
		n.Reason = cut(joinReasons(n.Reason, x.Reason), 1000)
	}
	for which, n := range []*api.NewProposal{decide, ask} {
		if len(n.Verdicts) == 0 {
			continue
		}
		n.Reason = cmp.Or(n.Reason, "no reason was given")
		some, _, err := c.change(ctx, n, in.changeIn)
		if err != nil {
			return out, err
		}
		for i := range some.Refused {
			some.Refused[i].Entry = entries[which][some.Refused[i].Entry]
		}
		if which == 1 && len(decide.Verdicts) > 0 {
			out.Question = &some
			continue
		}
		out.changeOut = some
	}
	return out, nil
}

// joinReasons joins different reasons.
func joinReasons(all, reason string) string {
	if all == "" || reason == "" || all == reason {
		return cmp.Or(all, reason)
	}
	return all + "; " + reason
}
