package workflows

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// initFlags are those of init and reinit.
type initFlags struct {
	force, noPrompts, dryRun, async bool
	waitTimeout                     int64 // seconds; 0 for no limit
}

const (
	initLong = `Prepare all jobs of a workflow for a new run: those that wait for nothing become
ready, the others blocked, whatever they were before.

Files that jobs read and no job writes have to be there. If files that jobs will
write are already there you are asked; they are not deleted. Both can be passed
over with --force.`
	initExample = `  torc-slurm workflows init 12
  torc-slurm workflows init 12 --dry-run
  torc-slurm workflows init 12 --force --async`

	reinitLong = `Prepare for a new run what has to run again: jobs that are uninitialized, that
read a file, user data, an environment or a command that has changed since they
ran, or whose output files are gone, and everything that depends on them. What
was completed and is not concerned stays.`
	reinitExample = `  torc-slurm workflows reinit 12
  torc-slurm workflows reinit 12 --dry-run      what would run again?`
)

// newInit makes init, or reinit for a partial initialisation.
func newInit(a *cli.Factory, partial bool, use string) *cobra.Command {
	var o initFlags
	cmd := &cobra.Command{
		Use: use, Short: "Prepare all jobs of a workflow for a new run", Long: initLong, Example: initExample,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits("1 the initialization failed, or did not end in time"),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "although input files are missing, output files are there, or runners are at work")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be done")
	f.BoolVar(&o.async, "async", false, "do not wait; \"tasks wait\" does")
	f.Int64Var(&o.waitTimeout, "wait-timeout", 0, "seconds to wait at most (0: no limit)")
	if partial {
		cmd.Short, cmd.Long, cmd.Example = "Prepare what has changed for a new run", reinitLong, reinitExample
	} else {
		cli.AddNoPrompts(f, &o.noPrompts)
	}
	cmd.MarkFlagsMutuallyExclusive("async", "wait-timeout")
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		if o.waitTimeout < 0 {
			return cli.UsageErrorf("--wait-timeout %d: it cannot be negative", o.waitTimeout)
		}
		if partial {
			return reinitialize(ctx, a, c, id, o)
		}
		return initialize(ctx, a, c, id, o)
	})
	return cmd
}

// initCheck says what stands in the way of an initialisation.
type initCheck struct {
	WorkflowID          int64    `json:"workflow_id"`
	Safe                bool     `json:"safe"`
	MissingInputs       []string `json:"missing_input_files"`
	MissingInputCount   int      `json:"missing_input_file_count"`
	ExistingOutputs     []string `json:"existing_output_files"`
	ExistingOutputCount int      `json:"existing_output_file_count"`
}

func initialize(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, o initFlags) error {
	before, err := c.Workflows.Get(ctx, id)
	if err != nil {
		return err
	}
	files, err := filesOfWorkflow(ctx, a, c, id)
	if err != nil {
		return err
	}
	check := files.check(id)
	if o.dryRun {
		return showInitCheck(a, check)
	}
	if !o.force {
		if check.MissingInputCount > 0 {
			return missingInputs(check.MissingInputs)
		}
		if check.ExistingOutputCount > 0 {
			question := fmt.Sprintf("%s already there (%s). Run all jobs of workflow %d, over them?",
				workflow.CountOf(int64(check.ExistingOutputCount), "output file is", "output files are"), cli.FirstNames(check.ExistingOutputs), id)
			if yes, err := a.Confirm(o.noPrompts, question); err != nil || !yes {
				return err
			}
		}
	}
	// The new run comes first: it is refused while something of the old one is alive, and
	// "reinit" finds what has changed by the times that are recorded.
	if _, err := c.Workflows.ResetStatusAt(ctx, id, cli.OrZero(before.RunID), o.force); err != nil {
		return err
	}
	if err := files.record(ctx, c); err != nil {
		return err
	}
	if _, err := c.Workflows.ResetJobStatus(ctx, id, false); err != nil {
		return err
	}
	return runInitialization(ctx, a, c, id, false, o)
}

// missingInputs refuses to initialise a workflow.
func missingInputs(paths []string) error {
	return workflow.Errorf(workflow.CodeConflict, "%s missing: %s",
		workflow.CountOf(int64(len(paths)), "input file is", "input files are"), cli.FirstNames(paths)).
		WithHint("make them, or go on without them with --force")
}

func showInitCheck(a *cli.Factory, check initCheck) error {
	if a.Format == cli.FormatJSON {
		return a.WriteJSON(check)
	}
	if check.Safe {
		return a.ShowMessage(check, "Workflow %d can be initialized: all input files are there, and no output file is", check.WorkflowID)
	}
	for _, path := range check.MissingInputs {
		fmt.Fprintf(a.Stdout, "missing input file:    %s\n", path)
	}
	for _, path := range check.ExistingOutputs {
		fmt.Fprintf(a.Stdout, "existing output file:  %s\n", path)
	}
	return nil
}

// reinitPlan says what a partial initialisation makes run again.
type reinitPlan struct {
	initCheck
	ChangedFiles []string `json:"changed_files"`
	Jobs         []string `json:"reinitialized_jobs"` // whose inputs have changed, or whose outputs are gone
}

func reinitialize(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, o initFlags) error {
	before, err := c.Workflows.Get(ctx, id)
	if err != nil {
		return err
	}
	files, err := filesOfWorkflow(ctx, a, c, id)
	if err != nil {
		return err
	}
	changed, err := files.changes(ctx, c)
	if err != nil {
		return err
	}
	byContent, err := c.Workflows.ProcessChangedInputs(ctx, id, true)
	if err != nil {
		return err
	}
	plan := reinitPlan{files.check(id), changed.paths, changed.with(byContent)}
	plan.Safe = plan.MissingInputCount == 0
	if o.dryRun {
		return showReinitPlan(a, plan)
	}
	if !o.force && plan.MissingInputCount > 0 {
		return missingInputs(plan.MissingInputs)
	}
	// The new run comes first: it is refused while something of the old one is
	// alive.
	w, err := c.Workflows.ResetStatusAt(ctx, id, cli.OrZero(before.RunID), o.force)
	if err != nil {
		return err
	}
	for _, j := range changed.jobs {
		if _, err := c.Jobs.ManageStatusChange(ctx, cli.OrZero(j.ID), workflow.Uninitialized, cli.OrZero(w.RunID)); err != nil {
			return fmt.Errorf("reset job %q: %w", j.Name, err)
		}
	}
	if _, err := c.Workflows.ProcessChangedInputs(ctx, id, false); err != nil {
		return err
	}
	if err := files.record(ctx, c); err != nil {
		return err
	}
	return runInitialization(ctx, a, c, id, true, o)
}

func showReinitPlan(a *cli.Factory, plan reinitPlan) error {
	if a.Format == cli.FormatJSON {
		return a.WriteJSON(plan)
	}
	for _, path := range plan.MissingInputs {
		fmt.Fprintf(a.Stdout, "missing input file:  %s\n", path)
	}
	for _, path := range plan.ChangedFiles {
		fmt.Fprintf(a.Stdout, "changed file:        %s\n", path)
	}
	for _, name := range plan.Jobs {
		fmt.Fprintf(a.Stdout, "runs again:          %s\n", name)
	}
	if len(plan.Jobs) == 0 {
		return a.ShowMessage(plan, "Nothing has changed that a job of workflow %d reads", plan.WorkflowID)
	}
	return a.ShowMessage(plan, "%s would run again, with what depends on them", workflow.CountOf(int64(len(plan.Jobs)), "job", "jobs"))
}

// initResult is what init and reinit say in JSON.
type initResult struct {
	Status        string              `json:"status"`
	Message       string              `json:"message"`
	WorkflowID    int64               `json:"workflow_id"`
	TaskID        int64               `json:"task_id"`
	TaskStatus    workflow.TaskStatus `json:"task_status"`
	TaskOperation string              `json:"task_operation"`
	Error         *string             `json:"error,omitempty"`
}

// taskPoll is how often a task is asked about that no event tells of.
const taskPoll = 2 * time.Second

// runInitialization has the server initialise the jobs.
func runInitialization(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, partial bool, o initFlags) error {
	task, err := c.Workflows.StartInitialize(ctx, id, partial)
	if err != nil {
		return err
	}
	result := initResult{
		Status: "success", WorkflowID: id, Message: fmt.Sprintf("Initialization of workflow %d was started", id),
		TaskID: task.ID, TaskStatus: task.Status, TaskOperation: task.Operation,
	}
	if o.async {
		if a.Format == cli.FormatTable {
			a.Note("Next: %s tasks wait %d", cli.Prefix(a), task.ID)
		}
		return a.ShowMessage(result, "%s as task %d", result.Message, task.ID)
	}
	started := task.ID
	if task, err = apidata.WaitForTask(ctx, c, started, time.Duration(o.waitTimeout)*time.Second, taskPoll); err != nil {
		return apidata.TaskError(a, started, err)
	}
	result.TaskStatus, result.Error = task.Status, task.Error
	if task.Status != workflow.TaskSucceeded {
		return cli.FailedErrorf("initialization of workflow %d failed: %s", id, cli.OrEmpty(task.Error))
	}
	status, err := c.Workflows.Status(ctx, id)
	if err != nil {
		return err
	}
	n := status.JobsByStatus
	result.Message = fmt.Sprintf("Initialized workflow %d for run %d: %d ready, %d blocked, %d completed before", id, status.RunID, n.Ready, n.Blocked, n.Completed)
	return a.ShowMessage(result, "%s", result.Message)
}
