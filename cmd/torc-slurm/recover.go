package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// recoverFlags say how failed jobs are repeated; recover and watch have them.
type recoverFlags struct {
	memory, runtime     float64
	retryUnknown        bool
	hook                string
	partition, walltime string
	outputDir           string
	noPrompts, dryRun   bool
	noAutoSchedule      bool
}

func (f *recoverFlags) add(s *pflag.FlagSet) {
	s.StringVarP(&f.outputDir, "output-dir", "o", "", "`DIR` for the output of jobs (default torc_output)")
	s.Float64Var(&f.memory, "memory-multiplier", 1.5, "jobs that ran out of memory get this `FACTOR` more")
	s.Float64Var(&f.runtime, "runtime-multiplier", 1.5, "jobs that ran out of time get this `FACTOR` more")
	s.BoolVar(&f.retryUnknown, "retry-unknown", false, "repeat also jobs that failed for other reasons")
	s.StringVar(&f.hook, "recovery-hook", "", "`COMMAND` that mends what jobs need, run before they are repeated, with the workflow's id as its last argument; implies --retry-unknown")
	s.StringVar(&f.partition, "partition", "", "`PARTITION` for new allocations (default: the best for each job)")
	s.StringVar(&f.walltime, "walltime", "", "`TIME` limit of new allocations, as sbatch takes it")
	addNoAutoSchedule(s, &f.noAutoSchedule)
}

func (f *recoverFlags) check() error {
	if f.memory < 1 || f.runtime < 1 {
		return usageErrorf("a multiplier of less than 1 would leave less than was used")
	}
	_, err := f.regenerate().limit()
	return err
}

// regenerate is how new Slurm schedulers are made.
func (f *recoverFlags) regenerate() *regenerateFlags {
	r := &regenerateFlags{partition: f.partition, walltime: f.walltime, submit: true, once: f.noAutoSchedule, dryRun: f.dryRun, skipChecks: true} // what fits goes on
	r.planFlags.defaults()
	r.outputDir, r.noPrompts = f.outputDir, true
	return r
}

func newRecoverCommand(a *app) *cobra.Command {
	var flags recoverFlags
	cmd := &cobra.Command{
		Use:   "recover WORKFLOW",
		Short: "Repeat the failed jobs of a workflow with what they lacked",
		Long: `Repeat the failed jobs of a workflow that has ended. The cause of each failure
decides: a job that ran out of memory or time gets more of it, one that lost its
node or allocation is repeated as it is, and others only with --retry-unknown or
a hook. Requirements that jobs share with others that are fine are not touched:
the failed ones get requirements of their own.

The chosen jobs, and what depends on them, are reset and start a new run; nothing
else is. A workflow that ran under Slurm is submitted again.

On a terminal you are asked about each kind of failure; not with --no-prompts or
JSON output. Jobs that fail for foreseeable reasons are better served by a failure
handler, which repairs them while the workflow runs.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm recover 12 --dry-run
  torc-slurm recover 12 --memory-multiplier 2
  torc-slurm recover 12 --no-prompts --recovery-hook ./mend.sh`,
		Args:              cobra.ExactArgs(1),
		Annotations:       serverExits("1 there is nothing that could be repeated, or the hook failed"),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "only say what would be done, and why")
	addNoPrompts(cmd.Flags(), &flags.noPrompts)
	cmd.RunE = checked(flags.check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		r, err := a.prepareRecovery(ctx, c, id, flags)
		if err != nil {
			return err
		}
		if !flags.dryRun && !flags.noPrompts && a.StdinTerminal && a.format != formatJSON {
			if ok, err := r.ask(); err != nil || !ok {
				return err
			}
		}
		if err := r.carryOut(ctx); err != nil {
			return err
		}
		return a.showRecord(r.json(), r.write)
	}))
	return cmd
}

// recovery is one repetition of failed jobs.
type recovery struct {
	app        *app
	c          *connection
	workflowID int64
	runID      int64
	flags      recoverFlags
	isSlurm    bool
	users      map[int64]int // number of jobs by requirements id
	jobs       []workflow.FailedJob
	texts      map[int64]string // the evidence, by job

	skip         map[workflow.FailureGroup]bool
	changes      []workflow.RequirementChange
	regeneration *regeneration
}

// prepareRecovery finds the failed jobs of a workflow and why they failed.
func (a *app) prepareRecovery(ctx context.Context, c *connection, id int64, flags recoverFlags) (*recovery, error) {
	r := &recovery{app: a, c: c, workflowID: id, flags: flags, texts: make(map[int64]string), skip: make(map[workflow.FailureGroup]bool)}
	status, err := c.WorkflowStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := r.refuse(status.IsComplete || status.IsCanceled, status.JobsByStatus.PendingFailed); err != nil {
		return nil, err
	}
	if status.Compensation != nil {
		if err := r.refuseUndone(ctx); err != nil {
			return nil, err
		}
	}
	r.runID = status.RunID
	if err := r.findFailed(ctx); err != nil {
		return nil, err
	}
	if r.isSlurm, err = isSlurmWorkflow(ctx, c, id); err != nil {
		return nil, err
	}
	r.skip[workflow.GroupUnknown] = !flags.retryUnknown && flags.hook == ""
	return r, nil
}

// refuse says why a workflow cannot be recovered.
func (r *recovery) refuse(ended bool, held int64) error {
	prefix := r.app.prefix()
	switch {
	case held > 0:
		return workflow.Errorf(workflow.CodeConflict, "%s of workflow %d for a decision", workflow.CountOf(held, "job waits", "jobs wait"), r.workflowID).
			WithHint("`%[1]s jobs list -s pending_failed %[2]d` lists them; `%[1]s jobs retry` and `%[1]s jobs fail` decide", prefix, r.workflowID)
	case !ended:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has not ended", r.workflowID).
			WithHint("`%[1]s jobs retry JOB` repeats a job of a running workflow; `%[1]s cancel %[2]d` ends it", prefix, r.workflowID)
	}
	return nil
}

// refuseUndone refuses to repeat some jobs where what others did is undone.
func (r *recovery) refuseUndone(ctx context.Context) error {
	completed := workflow.Completed
	for job, err := range r.c.Jobs(ctx, client.JobFilter{WorkflowID: r.workflowID, Status: &completed}) {
		switch {
		case err != nil:
			return err
		case job.UndoesJobID != nil:
			return workflow.Errorf(workflow.CodeConflict, "what jobs of workflow %d did was undone by %s: to repeat only what failed is not enough", r.workflowID, job.Name).
				WithHint("`%[1]s reset %[2]d` begins with all jobs; `%[1]s reset --failed-only %[2]d` leaves out those that completed", r.app.prefix(), r.workflowID)
		}
	}
	return nil
}

// findFailed reads the jobs that did not succeed, with their latest results.
func (r *recovery) findFailed(ctx context.Context) error {
	m, err := r.app.measurements(ctx, r.c, r.workflowID, nil)
	if err != nil {
		return err
	}
	r.users = m.jobsOf
	for _, u := range m.uses {
		if u.Status != workflow.Failed && u.Status != workflow.Terminated {
			continue
		}
		job := workflow.FailedJob{JobUse: u}
		attempts, err := r.c.JobAttempts(ctx, u.JobID)
		if err != nil {
			return err
		}
		if n := len(attempts); n > 0 {
			job.Cause = workflow.CauseKind(attempts[n-1].Cause)
			r.texts[u.JobID] = attempts[n-1].CauseText
		}
		r.jobs = append(r.jobs, job)
	}
	if len(r.jobs) == 0 {
		return failedErrorf("no job of workflow %d has failed", r.workflowID)
	}
	return nil
}

// isSlurmWorkflow reports whether a workflow has or had allocations, or
// schedulers for some.
func isSlurmWorkflow(ctx context.Context, c *connection, id int64) (bool, error) {
	schedulers, err := slurmSchedulersOf(ctx, c, id)
	if err != nil || len(schedulers) > 0 {
		return err == nil, err
	}
	jobs, err := slurmJobsOf(ctx, c, id)
	return len(jobs.ids) > 0, err
}

// chosen are the jobs that are repeated.
func (r *recovery) chosen() (jobs []workflow.FailedJob) {
	for _, j := range r.jobs {
		if !r.skip[j.Group()] {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// carryOut corrects, runs the hook, resets and submits; in a dry run it only
// finds out what would be done.
func (r *recovery) carryOut(ctx context.Context) (err error) {
	jobs := r.chosen()
	if len(jobs) == 0 {
		return &exitError{exitFailed, workflow.Errorf(workflow.CodeConflict, "%s, none for a reason that a repetition would mend",
			workflow.CountOf(int64(len(r.jobs)), "job failed", "jobs failed")).WithHint("--retry-unknown repeats them all the same; `%s why JOB` says what happened", r.app.prefix())}
	}
	r.changes = workflow.CorrectFailed(jobs, r.users, workflow.CorrectionOptions{
		MemoryMultiplier: r.flags.memory, CPUMultiplier: r.flags.memory, RuntimeMultiplier: r.flags.runtime,
	})
	if r.flags.dryRun {
		return r.previewAllocations(ctx, jobs)
	}
	if err := r.awaitLast(ctx); err != nil {
		return err
	}
	if err := r.refuseChanged(ctx, jobs); err != nil {
		return err
	}
	if err := r.correct(ctx); err != nil {
		return err
	}
	if err := r.runHook(ctx); err != nil {
		return err
	}
	if err := r.repeat(ctx, jobs); err != nil {
		return err
	}
	if r.isSlurm {
		if r.regeneration, err = r.app.regenerate(ctx, r.c, r.workflowID, r.flags.regenerate()); err != nil {
			return err
		}
	}
	return r.note(ctx)
}

// changed returns the jobs that are not as they were when they were looked at:
// somebody else, or a hook, has done something about them. A question may have
// waited for its answer, and a hook takes its time. It is an error if another run
// has begun.
func (r *recovery) changed(ctx context.Context, jobs []workflow.FailedJob) (map[int64]workflow.JobStatus, error) {
	status, err := r.c.WorkflowStatus(ctx, r.workflowID)
	if err != nil {
		return nil, err
	}
	if status.RunID != r.runID {
		return nil, r.goneOn(fmt.Sprintf("run %d has begun", status.RunID))
	}
	changed := make(map[int64]workflow.JobStatus)
	for _, j := range jobs {
		now, err := r.c.Job(ctx, j.JobID)
		if err != nil {
			return nil, err
		}
		if s := statusOf(*now); s != j.Status {
			changed[j.JobID] = s
		}
	}
	return changed, nil
}

// refuseChanged refuses to repeat jobs that somebody else has repeated.
func (r *recovery) refuseChanged(ctx context.Context, jobs []workflow.FailedJob) error {
	changed, err := r.changed(ctx, jobs)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if s, is := changed[j.JobID]; is {
			return r.goneOn(fmt.Sprintf("job %d (%s) is %s by now", j.JobID, j.JobName, s))
		}
	}
	return nil
}

func (r *recovery) goneOn(what string) error {
	return workflow.Errorf(workflow.CodeConflict, "workflow %d has gone on meanwhile: %s; no job is reset", r.workflowID, what).
		WithHint("`%[1]s status %[2]d` shows how it is; then recover it again", r.app.prefix(), r.workflowID)
}

// repeat begins a new run with the jobs, but for those about which a hook has done
// something. The run comes first: it is refused while something of the last one is
// alive.
func (r *recovery) repeat(ctx context.Context, jobs []workflow.FailedJob) error {
	changed, err := r.changed(ctx, jobs)
	if err != nil {
		return err
	}
	w, err := r.c.ResetStatusAt(ctx, r.workflowID, r.runID, false)
	if err != nil {
		return fmt.Errorf("start workflow %d: %w", r.workflowID, err)
	}
	for _, j := range jobs {
		if s, is := changed[j.JobID]; is {
			r.app.note("Job %d (%s) is %s by now, and is left so.", j.JobID, j.JobName, s)
			continue
		}
		if _, err := r.c.ManageStatusChange(ctx, j.JobID, workflow.Uninitialized, idOf(w.RunID)); err != nil {
			return fmt.Errorf("reset job %d: %w", j.JobID, err)
		}
	}
	if err := r.c.Initialize(ctx, r.workflowID, true); err != nil {
		return fmt.Errorf("start workflow %d: %w", r.workflowID, err)
	}
	return nil
}

// awaitLast waits until the allocations of the run that has ended are gone:
// a new one begins without them.
func (r *recovery) awaitLast(ctx context.Context) error {
	before, err := client.Collect(r.c.Allocations(ctx, liveAllocations(r.workflowID)))
	if err != nil {
		return err
	}
	left, err := r.app.awaitGone(ctx, r.c, r.workflowID, before)
	if err != nil || len(left) == 0 {
		return err
	}
	return workflow.Errorf(workflow.CodeConflict, "%s of workflow %d still there; nothing was changed",
		workflow.CountOf(int64(len(left)), "allocation is", "allocations are"), r.workflowID).
		WithHint("`%[1]s sq %[2]d` shows them; `%[1]s cancel %[2]d` cancels them", r.app.prefix(), r.workflowID)
}

// previewAllocations finds out which allocations would be asked for.
func (r *recovery) previewAllocations(ctx context.Context, jobs []workflow.FailedJob) (err error) {
	if !r.isSlurm {
		return nil
	}
	flags := r.flags.regenerate()
	flags.ignoreLive = true // they leave
	for _, j := range jobs {
		flags.include = append(flags.include, fmt.Sprint(j.JobID))
	}
	r.regeneration, err = r.app.regenerate(ctx, r.c, r.workflowID, flags)
	return err
}
