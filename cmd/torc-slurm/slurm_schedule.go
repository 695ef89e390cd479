package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// allocateFlags are those of commands that ask for allocations.
type allocateFlags struct {
	outputDir    string
	maxParallel  int64
	pollInterval float64
	claimBackoff float64
	noPrompts    bool
}

func (f *allocateFlags) add(cmd *cobra.Command, outputName string) {
	s := cmd.Flags()
	s.StringVarP(&f.outputDir, outputName, "o", "", "`DIR` for the output of jobs, on a file system that the nodes see (default torc_output)")
	s.Int64VarP(&f.maxParallel, "max-parallel-jobs", "m", 0, "run `N` jobs at a time in each allocation, whatever they need")
	addNoPrompts(s, &f.noPrompts)
	s.Float64VarP(&f.pollInterval, "poll-interval", "p", 0, "accepted for compatibility: jobs are handed out without polling")
	s.Float64Var(&f.claimBackoff, "claim-backoff-max-secs", 0, "accepted for compatibility")
	_ = s.MarkHidden("poll-interval")
	_ = s.MarkHidden("claim-backoff-max-secs")
}

// dir is the output directory, absolute; it is there afterwards.
func (f *allocateFlags) dir(a *app) (string, error) {
	dir := a.path(firstOf(f.outputDir, a.config.Client.Run.OutputDir))
	return dir, makeOutputDir(dir)
}

// dirOf is dir for a workflow that exists: without a flag it is in the folder where
// that was submitted.
func (f *allocateFlags) dirOf(ctx context.Context, a *app, c *connection, id int64) (string, error) {
	if f.outputDir != "" {
		return f.dir(a)
	}
	submitted, err := a.submissionDir(ctx, c, id)
	if err != nil {
		return "", err
	}
	dir := pathIn(submitted, a.config.Client.Run.OutputDir)
	return dir, makeOutputDir(dir)
}

// scheduleFlags are those of slurm schedule.
type scheduleFlags struct {
	allocateFlags
	count, schedulerID int64
	perNode            bool
	suppress           bool
	prefix             string
	keepScripts        bool
	skipChecks         bool
}

// newSlurmScheduleCommand makes the command that asks for allocations; it has
// two names.
func newSlurmScheduleCommand(a *app, name string) *cobra.Command {
	var flags scheduleFlags
	cmd := &cobra.Command{
		Use:   name + " [WORKFLOW]",
		Short: "Ask Slurm for allocations for a workflow",
		Long: `Ask Slurm for allocations for a workflow, now. A workflow that has not been started
is started. Each allocation starts a runner, which takes jobs of the workflow
until there is nothing left for it.

Without a number and a scheduler, what the ready jobs need is worked out, shown,
and asked for: allocations that are there already count, and the daemon goes on
asking as long as jobs have no place. With one of them, exactly so many are asked
for, however many there are already; ` + "`torc-slurm sq`" + ` shows those.`,
		Example: `  torc-slurm slurm ` + name + ` 12
  torc-slurm slurm ` + name + ` 12 -n 4
  torc-slurm slurm ` + name + ` 12 --scheduler-config-id 3`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       serverExits("6 jobs of the workflow fit no allocation", "1 Slurm gave fewer allocations than asked for, or none"),
		ValidArgsFunction: a.completeWorkflows(1),
	}
	flags.add(cmd, "output")
	f := cmd.Flags()
	f.Int64VarP(&flags.count, "num-hpc-jobs", "n", 1, "`NUMBER` of allocations")
	f.Int64Var(&flags.schedulerID, "scheduler-config-id", 0, "`ID` of the Slurm scheduler (default: as the jobs need)")
	f.BoolVar(&flags.perNode, "start-one-worker-per-node", false, "a runner on each node of an allocation of several")
	f.BoolVar(&flags.suppress, "suppress-actions", false, "what actions of the workflow would ask for is not asked for as well")
	f.StringVarP(&flags.prefix, "job-prefix", "j", "", "accepted for compatibility: the names of Slurm jobs begin with torc")
	f.BoolVar(&flags.keepScripts, "keep-submission-scripts", false, "accepted for compatibility: `scontrol write batch_script` shows them")
	f.BoolVar(&flags.skipChecks, "skip-checks", false, "ask although jobs of the workflow fit no allocation")
	_ = f.MarkHidden("job-prefix")
	_ = f.MarkHidden("keep-submission-scripts")
	cmd.RunE = checked(flags.check, a.workflowCommand(func(ctx context.Context, c *connection, id int64) error {
		if flags.schedulerID == 0 && !cmd.Flags().Changed("num-hpc-jobs") {
			return a.runSlurmScheduleDemand(ctx, c, id, &flags)
		}
		return a.runSlurmSchedule(ctx, c, id, &flags)
	}))
	return cmd
}

func (f *scheduleFlags) check() error {
	if f.count < 1 {
		return usageErrorf("--num-hpc-jobs %d: one at least", f.count)
	}
	return nil
}

func (a *app) runSlurmSchedule(ctx context.Context, c *connection, id int64, flags *scheduleFlags) error {
	scheduler, err := a.chooseScheduler(ctx, c, id, flags.schedulerID)
	if err != nil {
		return err
	}
	dir, err := flags.dirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	if err := a.ensureStarted(ctx, c, id, false); err != nil {
		return err
	}
	if ok, err := a.reviewPending(ctx, c, id, flags.suppress, flags.noPrompts); !ok || err != nil {
		return err
	}
	answer, err := c.allocate(ctx, id, &api.AllocateRequest{
		SchedulerConfigID: idOf(scheduler.ID), Count: flags.count, OutputDir: dir, MaxParallelJobs: flags.maxParallel, OneRunnerPerNode: flags.perNode,
		SkipChecks: flags.skipChecks,
	})
	if err != nil {
		return err
	}
	return a.showAllocated(id, answer)
}

// allocate asks Slurm for allocations.
func (c *connection) allocate(ctx context.Context, id int64, r *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer, err := c.Allocate(ctx, id, r)
	if err == nil {
		return answer, nil
	}
	err = fmt.Errorf("ask Slurm for allocations of workflow %d: %w", id, err)
	var no *client.APIError
	if errors.As(err, &no) && (no.Status == http.StatusConflict || no.Status == http.StatusServiceUnavailable) {
		err = &exitError{exitFailed, err} // it is Slurm's, not the server's
	}
	return nil, err
}

// runSlurmScheduleDemand asks for what the jobs need, and has the daemon go on
// with it.
func (a *app) runSlurmScheduleDemand(ctx context.Context, c *connection, id int64, flags *scheduleFlags) error {
	dir, err := flags.dirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	if err := a.ensureStarted(ctx, c, id, false); err != nil {
		return err
	}
	if ok, err := a.reviewPending(ctx, c, id, flags.suppress, flags.noPrompts); !ok || err != nil {
		return err
	}
	request := &api.SubmitRequest{OutputDir: dir, MaxParallelJobs: flags.maxParallel, AutoSchedule: &workflow.AutoSchedule{}, NoAutoSchedule: new(false), SkipChecks: flags.skipChecks}
	a.takeSbatchDefaults(request)
	plan, err := c.PlanWorkflow(ctx, id, request)
	if err != nil {
		return fmt.Errorf("plan allocations of workflow %d: %w", id, err)
	}
	for _, line := range plan.Text {
		a.note("%s", line)
	}
	return a.submit(ctx, c, id, request)
}

// allocated is what commands say in JSON that asked for allocations.
type allocated struct {
	Status     string           `json:"status"` // success, partial_success
	WorkflowID int64            `json:"workflow_id"`
	Message    string           `json:"message"`
	Items      []api.Allocation `json:"allocations"`
	Refused    string           `json:"refused,omitempty"`
}

func (a *app) showAllocated(id int64, answer *api.AllocateResponse) error {
	message := fmt.Sprintf("Successfully running %s", workflow.CountOf(int64(len(answer.Items)), "Slurm job", "Slurm jobs"))
	status := map[bool]string{true: "success", false: "partial_success"}[answer.Refused == ""]
	if err := a.showMessage(allocated{status, id, message, answer.Items, answer.Refused}, "%s: %s", message, slurmIDs(answer.Items)); err != nil {
		return err
	}
	if answer.Refused != "" {
		return failedErrorf("Slurm gave no more: %s", answer.Refused)
	}
	return nil
}

// slurmIDs lists the Slurm jobs of allocations.
func slurmIDs(all []api.Allocation) string {
	ids := make([]string, len(all))
	for i, x := range all {
		ids[i] = "(being looked for)"
		if x.SlurmJobID != 0 {
			ids[i] = fmt.Sprint(x.SlurmJobID)
		}
	}
	return firstNames(ids)
}

// chooseScheduler finds the Slurm scheduler to ask with: the one that was
// named, the only one, or the one that the user chooses on a terminal.
func (a *app) chooseScheduler(ctx context.Context, c *connection, workflowID, named int64) (*api.SlurmScheduler, error) {
	all, err := client.Collect(c.SlurmSchedulers(ctx, client.SlurmSchedulerFilter{WorkflowID: workflowID}))
	if err != nil {
		return nil, err
	}
	if named == 0 && len(all) > 1 && a.StdinTerminal && a.format == formatTable {
		_, rows := slurmSchedulerColumns.cells(formatTable, all)
		header, _ := slurmSchedulerColumns.cells(formatTable, nil)
		writeTable(a.Stderr, header, rows, a.Width())
		answer, err := a.ask("Scheduler ID: ")
		if err != nil {
			return nil, err
		}
		if named, err = parseID("Slurm scheduler", answer); err != nil {
			return nil, err
		}
	}
	if named == 0 && len(all) == 1 {
		return &all[0], nil
	}
	if i := slices.IndexFunc(all, func(s api.SlurmScheduler) bool { return idOf(s.ID) == named }); i >= 0 {
		return &all[i], nil
	}
	switch {
	case len(all) == 0:
		return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no Slurm scheduler", workflowID).
			WithHint("`%[1]s slurm regenerate %[2]d` makes some for its jobs, `%[1]s slurm create %[2]d` one by hand", a.prefix(), workflowID)
	case named != 0:
		return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no Slurm scheduler %d", workflowID, named).
			WithHint("`%s slurm list %d` lists them", a.prefix(), workflowID)
	}
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = fmt.Sprintf("%d (%s)", idOf(s.ID), orEmpty(s.Name))
	}
	return nil, usageErrorf("workflow %d has %d Slurm schedulers: %s; choose one with --scheduler-config-id", workflowID, len(all), strings.Join(ids, ", "))
}

// ensureStarted starts a workflow of which nothing is initialized yet.
func (a *app) ensureStarted(ctx context.Context, c *connection, id int64, ignoreMissing bool) error {
	status, err := c.WorkflowStatus(ctx, id)
	if err != nil {
		return err
	}
	switch n := status.JobsByStatus; {
	case status.IsCanceled:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d is canceled", id).
			WithHint("`%s reset --failed-only %d` makes it runnable again", a.prefix(), id)
	case status.TotalJobs == 0:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has no jobs", id)
	case countDone(n) == status.TotalJobs:
		return workflow.Errorf(workflow.CodeConflict, "workflow %d has ended", id).
			WithHint("`%s reset %d` makes it runnable again", a.prefix(), id)
	case n.Uninitialized == 0:
		return nil
	default:
		if !ignoreMissing {
			if err := a.checkStoredInputs(ctx, c, id); err != nil {
				return err
			}
		}
		begun, err := a.begin(ctx, c, status, n.Uninitialized+n.Disabled != status.TotalJobs)
		if err != nil || begun {
			return err
		}
		return a.ensureStarted(ctx, c, id, ignoreMissing)
	}
}
