package service

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// SlurmAccounting returns Slurm's accounting records of a workflow's allocations and their
// steps. It calls sacct once, if there were any allocations. It returns CodeConflict without
// Slurm, and CodeUnavailable if sacct fails.
func SlurmAccounting(ctx context.Context, s *Service, workflowID int64) (api.SlurmAccounting, error) {
	out := api.SlurmAccounting{WorkflowID: workflowID, Records: []api.SlurmRecord{}, Errors: []string{}}
	jobs, since, err := s.slurmJobs(ctx, workflowID)
	if out.TotalSlurmJobs = len(jobs); err != nil || len(jobs) == 0 {
		return out, err
	}
	if s.Slurm == nil {
		return out, ErrNoSlurm
	}
	found, err := s.Slurm.Accounting(ctx, slurm.AccountingQuery{IDs: jobs, Since: since, Duplicates: true})
	if err != nil {
		return out, workflow.Errorf(workflow.CodeUnavailable, "ask sacct: %v", err)
	}
	for _, x := range found.Records {
		record := api.SlurmRecord{
			SlurmJobID: x.ID.Job.String(), JobStep: cmp.Or(x.ID.Step, x.Name), State: string(x.State), ExitCode: fmt.Sprintf("%d:%d", x.Exit.Code, x.Exit.Signal),
			Elapsed: slurm.FormatDuration(x.Elapsed), CPUTime: slurm.FormatDuration(x.CPUTime.Truncate(time.Second)), Nodes: x.NodeList,
		}
		if x.MaxRSS > 0 {
			record.MaxRSS = workflow.FormatBytes(x.MaxRSS)
		}
		out.Records = append(out.Records, record)
	}
	for _, id := range jobs {
		if len(found.Restarts(id)) == 0 {
			out.Errors = append(out.Errors, fmt.Sprintf("there is no accounting record of Slurm job %s", id))
		}
	}
	return out, nil
}
