package mcp

import (
	"cmp"
	"context"
	"fmt"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/workflow/proposal"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

func (s *Server) addRecoverTools() {
	add(s, tool{name: "recover_workflow", title: "Repeat failed jobs", changes: true, destroys: true,
		description: "Repeat the failed jobs of a workflow that has ended, in a new run. The cause of each decides: out of memory or time gets more of it, a lost node is repeated unchanged, other failures only with retry_unknown. Start with dry_run true: it shows each job with its cause and the new requirements."}, recoverWorkflow)
}

type recoverIn struct {
	workflowIn
	changeIn
	DryRun            bool     `json:"dry_run" jsonschema:"true: only return what would change"`
	MemoryMultiplier  *float64 `json:"memory_multiplier,omitempty" jsonschema:"factor for jobs that ran out of memory; 1.5 by default"`
	RuntimeMultiplier *float64 `json:"runtime_multiplier,omitempty" jsonschema:"factor for jobs that ran out of time; 1.5 by default"`
	RetryUnknown      bool     `json:"retry_unknown,omitempty" jsonschema:"also repeat jobs that failed for other reasons"`
	Reason            string   `json:"reason,omitempty" jsonschema:"why; people see it before they apply the change"`
}

type diagnosisRow struct {
	JobID   int64  `json:"job_id"`
	JobName string `json:"job_name"`
	Group   string `json:"group" jsonschema:"memory, runtime, outside or unknown"`
	Cause   string `json:"cause"`
	Text    string `json:"text"`
	Retry   bool   `json:"retry"`
}

type recoverOut struct {
	changeOut
	RunID     int64          `json:"run_id" jsonschema:"of the run that failed"`
	UsesSlurm bool           `json:"uses_slurm"`
	Diagnosis []diagnosisRow `json:"diagnosis" jsonschema:"the failed jobs; the first 200"`
	Changes   []string       `json:"requirement_changes"`
}

func recoverWorkflow(ctx context.Context, c *call, in recoverIn) (out recoverOut, err error) {
	q := &api.RecoverRequest{MemoryMultiplier: in.MemoryMultiplier, RuntimeMultiplier: in.RuntimeMultiplier}
	if !in.RetryUnknown {
		q.Skip = []usage.FailureGroup{usage.GroupUnknown}
	}
	var outcome *api.ProposalOutcome
	out.changeOut, outcome, err = c.change(ctx, &api.NewProposal{
		Kind: proposal.Recover, WorkflowID: in.WorkflowID, Reason: cmp.Or(in.Reason, "repeat the failed jobs with what they lacked"), DryRun: in.DryRun, Recover: q,
	}, in.changeIn)
	if err != nil {
		return out, err
	}
	plan := outcome.Recovery
	out.RunID, out.UsesSlurm, out.Diagnosis, out.Changes = plan.RunID, plan.UsesSlurm, []diagnosisRow{}, []string{}
	for _, j := range plan.Jobs[:min(len(plan.Jobs), mostItems)] {
		out.Diagnosis = append(out.Diagnosis, diagnosisRow{j.JobID, j.JobName, string(j.Group), string(j.Cause), j.Text, j.Retry})
	}
	for _, change := range plan.Changes {
		whose := "for all jobs that share them"
		if change.Clone {
			whose = fmt.Sprintf("for %d jobs only", len(change.JobIDs))
		}
		out.Changes = append(out.Changes, fmt.Sprintf("requirements %s: %s, %s", change.Name, change.Text, whose))
	}
	if out.Outcome == "applied" {
		out.Next = fmt.Sprintf("the jobs are ready: a person runs them with torc-slurm run %d", in.WorkflowID)
		if out.UsesSlurm {
			out.Next = fmt.Sprintf("the jobs are ready: a person requests allocations with torc-slurm slurm regenerate %d --submit", in.WorkflowID)
		}
	}
	return out, nil
}
