package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// resetFlags are the flags of jobs reset-status.
type resetFlags struct {
	statuses                         []string
	returnCode                       int64
	workflowID                       int64
	force, dryRun, noPrompts, reinit bool
}

func newResetStatus(a *cli.Factory) *cobra.Command {
	var o resetFlags
	cmd := &cobra.Command{
		Use:   "reset-status [JOB...]",
		Short: "Reset jobs, so that they run again",
		Long: `Make jobs uninitialized, so that they run again after the next "workflows reinit",
together with all jobs that depend on them. Select the jobs by id, by status, or by
the return code of their latest result.

Nothing is reset while the workflow has active runners or one of the jobs is
pending or running, unless --force is given.`,
		Example: `  torc-slurm jobs reset-status 42 43 --reinit
  torc-slurm jobs reset-status --workflow-id 12 --status failed,terminated
  torc-slurm jobs reset-status --workflow-id 12 --return-code 137 --dry-run`,
		Annotations: cli.ServerExits("1 no job was selected, or one could not be reset"),
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.statuses, "status", nil, "jobs in one of these statuses, separated by commas")
	f.Int64Var(&o.returnCode, "return-code", 0, "jobs whose latest result has this return code")
	f.Int64Var(&o.workflowID, "workflow-id", 0, "workflow of --status and --return-code")
	f.BoolVar(&o.force, "force", false, "reset even with active runners or running jobs")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show what would be reset")
	cli.AddNoPrompts(f, &o.noPrompts)
	f.BoolVar(&o.reinit, "reinit", false, "reinitialize the workflow afterwards")
	f.BoolVar(&o.reinit, "reinitialize", false, "reinitialize the workflow afterwards")
	_ = f.MarkHidden("reinitialize")
	cmd.MarkFlagsMutuallyExclusive("status", "return-code")
	cli.CompleteWords(cmd, "status", apidata.StatusNames()...)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 && (len(o.statuses) > 0 || cmd.Flags().Changed("return-code")) {
			return cli.UsageErrorf("give either ids of jobs, or --status or --return-code")
		}
		ids, err := cli.SplitIDs("job", args)
		if err != nil {
			return err
		}
		r := jobReset{app: a, flags: o, code: cli.Given(cmd, "return-code", o.returnCode), requested: ids}
		if r.statuses, err = parseStatuses(o.statuses); err != nil {
			return err
		}
		if len(ids) == 0 && len(r.statuses) == 0 && r.code == nil {
			return cli.FailedErrorf("no job was selected: give ids, --status or --return-code")
		}
		return a.ServerCommand(func(ctx context.Context, c *cli.Connection, _ []string) error {
			r.c = c
			return r.run(ctx)
		})(cmd, args)
	}
	return cmd
}

func parseStatuses(texts []string) ([]workflow.JobStatus, error) {
	var all []workflow.JobStatus
	for _, text := range texts {
		s, err := apidata.ParseStatus(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// jobReset is an invocation of jobs reset-status.
type jobReset struct {
	app       *cli.Factory
	c         *cli.Connection
	flags     resetFlags
	requested []int64
	statuses  []workflow.JobStatus
	code      *int64

	proposal *api.JobReset
}

func (r *jobReset) run(ctx context.Context) error {
	id, err := r.workflowID(ctx)
	if err != nil {
		return err
	}
	request := &api.ResetJobsRequest{DryRun: true, JobIDs: r.requested, Statuses: r.statuses, ReturnCode: r.code, Force: r.flags.force}
	if r.proposal, err = r.c.Workflows.ResetJobs(ctx, id, request); err != nil {
		return err
	}
	if len(r.proposal.Jobs) == 0 {
		return cli.FailedErrorf("no job of workflow %d matches", id)
	}
	if r.flags.dryRun {
		return r.showDryRun()
	}
	if o := r.proposal.Obstacle; o != nil && !r.flags.force {
		return workflow.Errorf(workflow.CodeConflict, "%s", o.Message).WithHint("%s", o.Hint)
	}
	if r.app.Format != cli.FormatJSON {
		r.showTables(r.app.Stderr)
	}
	question := fmt.Sprintf("Reset %s?", workflow.CountOf(int64(len(r.proposal.Jobs)), "job", "jobs"))
	if yes, err := r.app.Confirm(r.flags.noPrompts, question); err != nil || !yes {
		return err
	}
	return r.apply(ctx)
}

// workflowID returns the workflow of the jobs; an error if they belong to several.
func (r *jobReset) workflowID(ctx context.Context) (int64, error) {
	if len(r.requested) > 0 {
		return r.workflowOfJobs(ctx)
	}
	text := ""
	if r.flags.workflowID != 0 {
		text = fmt.Sprint(r.flags.workflowID)
	}
	return r.app.WorkflowID(ctx, r.c, text)
}

func (r *jobReset) workflowOfJobs(ctx context.Context) (workflowID int64, err error) {
	of := make(map[int64][]int64)
	for _, id := range r.requested {
		j, err := r.c.Jobs.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		workflowID = j.WorkflowID
		of[j.WorkflowID] = append(of[j.WorkflowID], id)
	}
	if len(of) > 1 {
		var parts []string
		for w, ids := range of {
			parts = append(parts, fmt.Sprintf("workflow %d has %s", w, cli.Joined(ids)))
		}
		slices.Sort(parts)
		return 0, cli.UsageErrorf("the jobs belong to several workflows: %s", cli.Joined(parts))
	}
	if r.flags.workflowID != 0 && r.flags.workflowID != workflowID {
		return 0, cli.UsageErrorf("the jobs belong to workflow %d, not to workflow %d", workflowID, r.flags.workflowID)
	}
	return workflowID, nil
}
