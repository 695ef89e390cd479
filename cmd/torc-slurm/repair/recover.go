// Package repair has the commands that repair workflows: recover and watch.
package repair

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/schedulergen"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/usage"
)

// recoverFlags are the flags of recover and watch for retrying failed jobs.
type recoverFlags struct {
	memory, runtime     float64
	retryUnknown        bool
	hook                string
	partition, walltime string
	outputDir           string
	noPrompts, dryRun   bool
	noAutoSchedule      bool
	agent               agentFlags
}

func (f *recoverFlags) add(s *pflag.FlagSet) {
	s.StringVarP(&f.outputDir, "output-dir", "o", "", "`DIR` for the output of jobs (default torc_output)")
	s.Float64Var(&f.memory, "memory-multiplier", 1.5, "multiply the memory of jobs that ran out of memory by this `FACTOR`")
	s.Float64Var(&f.runtime, "runtime-multiplier", 1.5, "multiply the runtime of jobs that ran out of time by this `FACTOR`")
	s.BoolVar(&f.retryUnknown, "retry-unknown", false, "also retry jobs that failed for other reasons")
	s.StringVar(&f.hook, "recovery-hook", "", "`COMMAND` that repairs what jobs need, run before they are retried, with the workflow's id as its last argument; implies --retry-unknown")
	s.StringVar(&f.partition, "partition", "", "`PARTITION` for new allocations (default: the best for each job)")
	s.StringVar(&f.walltime, "walltime", "", "`TIME` limit of new allocations, as sbatch takes it")
	schedulergen.AddNoAutoSchedule(s, &f.noAutoSchedule)
	f.agent.add(s)
}

func (f *recoverFlags) check() error {
	if f.memory < 1 || f.runtime < 1 {
		return cli.UsageErrorf("a multiplier must be 1 or more: less would not suffice again")
	}
	if err := f.agent.check(); err != nil {
		return err
	}
	_, err := f.regenerate().Limit()
	return err
}

// regenerate returns the flags for new Slurm schedulers.
func (f *recoverFlags) regenerate() *schedulergen.RegenerateFlags {
	r := &schedulergen.RegenerateFlags{Partition: f.partition, Walltime: f.walltime, Submit: true, Once: f.noAutoSchedule, DryRun: f.dryRun, SkipChecks: true} // what fits goes on
	r.PlanFlags.Defaults()
	r.OutputDir, r.NoPrompts = f.outputDir, true
	return r
}

// New returns the command that retries the failed jobs of a workflow.
func New(a *cli.Factory) *cobra.Command {
	var flags recoverFlags
	cmd := &cobra.Command{
		Use:   "recover WORKFLOW",
		Short: "Retry the failed jobs of a workflow with corrected requirements",
		Long: `Retry the failed jobs of a workflow that has ended. The cause of each failure decides:
a job that ran out of memory or time gets more of it, one that lost its node or
allocation is retried unchanged, and others are retried only with --retry-unknown or
a hook. If failed jobs share requirements with jobs that did not fail, the failed ones
get new requirements.

The selected jobs, and the jobs that depend on them, are reset and start a new run. A
workflow that ran under Slurm is submitted again.

On a terminal you are asked about each kind of failure, except with --no-prompts or
JSON output. With --ai-recovery the daemon first asks an AI agent about the jobs that are
held until somebody decides. For foreseeable failures use a failure handler, which retries jobs while
the workflow runs.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm recover 12 --dry-run
  torc-slurm recover 12 --memory-multiplier 2
  torc-slurm recover 12 --no-prompts --recovery-hook ./mend.sh`,
		Args:              cobra.ExactArgs(1),
		Annotations:       cli.ServerExits("1 there is nothing to retry, or the hook failed"),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "only show what would be done, and why")
	cli.AddNoPrompts(cmd.Flags(), &flags.noPrompts)
	cmd.RunE = cli.Checked(flags.check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		if flags.agent.recovery {
			if goOn, err := askAboutHeld(ctx, a, c, id, &flags); err != nil || !goOn {
				return err
			}
		}
		r, err := prepareRecovery(ctx, a, c, id, flags)
		if err != nil {
			return err
		}
		if !flags.dryRun && !flags.noPrompts && a.StdinTerminal && a.Format != cli.FormatJSON {
			if ok, err := r.ask(); err != nil || !ok {
				return err
			}
		}
		if err := r.carryOut(ctx); err != nil {
			return err
		}
		return a.ShowRecord(r.json(), r.write)
	}))
	return cmd
}

// recovery is an invocation of recover, or a round of watch --recover.
type recovery struct {
	app        *cli.Factory
	c          *cli.Connection
	workflowID int64
	flags      recoverFlags

	proposal     *api.RecoveryPlan
	skip         map[usage.FailureGroup]bool
	regeneration *schedulergen.Regeneration
}

// prepareRecovery returns a recovery of the failed jobs of a workflow, with the causes of
// their failures. It returns an error if no job has failed.
func prepareRecovery(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags recoverFlags) (*recovery, error) {
	r := &recovery{app: a, c: c, workflowID: id, flags: flags, skip: make(map[usage.FailureGroup]bool)}
	r.skip[usage.GroupUnknown] = !flags.retryUnknown && flags.hook == ""
	var err error
	if r.proposal, err = r.call(ctx, &api.RecoverRequest{DryRun: true}); err != nil {
		return nil, err
	}
	if len(r.proposal.Jobs) == 0 {
		return nil, cli.FailedErrorf("no job of workflow %d has failed", id)
	}
	return r, nil
}

// call calls the daemon with the multipliers and groups of the flags.
func (r *recovery) call(ctx context.Context, q *api.RecoverRequest) (*api.RecoveryPlan, error) {
	q.MemoryMultiplier, q.RuntimeMultiplier = &r.flags.memory, &r.flags.runtime
	for _, g := range failureGroups {
		if r.skip[g.group] {
			q.Skip = append(q.Skip, g.group)
		}
	}
	answer, err := r.c.Workflows.Recover(ctx, r.workflowID, q)
	return answer, cli.WithPrefix(r.app, err)
}

// chosen returns the jobs to retry.
func (r *recovery) chosen() (jobs []api.ExpectedJob) {
	for _, j := range r.proposal.Jobs {
		if !r.skip[j.Group] {
			jobs = append(jobs, api.ExpectedJob{JobID: j.JobID, Status: j.Status})
		}
	}
	return jobs
}

// carryOut corrects requirements, runs the hook, resets the jobs and submits. In a dry run it
// only collects what would be done.
func (r *recovery) carryOut(ctx context.Context) (err error) {
	jobs := r.chosen()
	if len(jobs) == 0 {
		return &cli.ExitError{Status: cli.ExitFailed, Err: workflow.Errorf(workflow.CodeConflict, "%s, none for a reason that a retry would solve",
			workflow.CountOf(int64(len(r.proposal.Jobs)), "job failed", "jobs failed")).WithHint("--retry-unknown retries them anyway; `%s why JOB` shows what happened", cli.Prefix(r.app))}
	}
	if r.flags.dryRun {
		return r.previewAllocations(ctx, jobs)
	}
	if err := r.awaitLast(ctx); err != nil {
		return err
	}
	if err := r.apply(ctx, jobs); err != nil {
		return err
	}
	if r.proposal.UsesSlurm {
		if r.regeneration, err = schedulergen.Regenerate(ctx, r.app, r.c, r.workflowID, r.flags.regenerate()); err != nil {
			return err
		}
	}
	return r.note(ctx)
}

// apply makes the daemon correct requirements and reset the jobs, and runs the hook between
// the two.
func (r *recovery) apply(ctx context.Context, jobs []api.ExpectedJob) (err error) {
	q := &api.RecoverRequest{RunID: &r.proposal.RunID, Jobs: jobs}
	if r.flags.hook != "" {
		q.Step = api.RecoverCorrect
	}
	done, err := r.call(ctx, q)
	if err != nil {
		return err
	}
	r.proposal.Changes, r.proposal.Left = done.Changes, done.Left
	if r.flags.hook != "" {
		if err := r.runHook(ctx); err != nil {
			return err
		}
		if done, err = r.call(ctx, &api.RecoverRequest{RunID: &r.proposal.RunID, Jobs: jobs, Step: api.RecoverRepeat}); err != nil {
			return err
		}
		r.proposal.Left = done.Left
	}
	for _, j := range r.proposal.Left {
		r.app.Note("Job %d (%s) is %s by now and is not changed.", j.JobID, j.JobName, j.Status)
	}
	r.proposal.Jobs = slices.DeleteFunc(r.proposal.Jobs, func(j api.RecoverableJob) bool {
		return slices.ContainsFunc(r.proposal.Left, func(l api.LeftJob) bool { return l.JobID == j.JobID })
	})
	return nil
}

// awaitLast waits until the allocations of the ended run are gone, since a new run begins
// without them. If they stay, the error is a conflict.
func (r *recovery) awaitLast(ctx context.Context) error {
	before, err := client.Collect(r.c.Allocations.List(ctx, apidata.LiveAllocations(r.workflowID)))
	if err != nil {
		return err
	}
	left, err := apidata.AwaitGone(ctx, r.app, r.c, r.workflowID, before)
	if err != nil || len(left) == 0 {
		return err
	}
	return workflow.Errorf(workflow.CodeConflict, "%s of workflow %d still there; nothing was changed",
		workflow.CountOf(int64(len(left)), "allocation is", "allocations are"), r.workflowID).
		WithHint("`%[1]s sq %[2]d` shows them; `%[1]s cancel %[2]d` cancels them", cli.Prefix(r.app), r.workflowID)
}

// previewAllocations plans the allocations that would be requested.
func (r *recovery) previewAllocations(ctx context.Context, jobs []api.ExpectedJob) (err error) {
	if !r.proposal.UsesSlurm {
		return nil
	}
	flags := r.flags.regenerate()
	flags.IgnoreLive = true // they end before the new run
	for _, j := range jobs {
		flags.Include = append(flags.Include, fmt.Sprint(j.JobID))
	}
	r.regeneration, err = schedulergen.Regenerate(ctx, r.app, r.c, r.workflowID, flags)
	return err
}
