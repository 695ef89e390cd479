package workflows

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
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
	initLong = `Start a new run of a workflow with all jobs: those without dependencies become
ready, the others blocked, whatever their status was.

Files that jobs read and no job writes must exist. If files exist that jobs will
write, you are asked; they are not deleted. --force skips both checks.`
	initExample = `  torc-slurm workflows init 12
  torc-slurm workflows init 12 --dry-run
  torc-slurm workflows init 12 --force --async`

	reinitLong = `Start a new run of a workflow with the jobs that have to run again: those that are
uninitialized, whose command, environment, input files or user data have changed
since they ran, or whose output files are gone, and all that depend on them. Other
completed jobs stay completed.`
	reinitExample = `  torc-slurm workflows reinit 12
  torc-slurm workflows reinit 12 --dry-run      # what would run again?`
)

// newInit returns init, or reinit for a partial initialization.
func newInit(a *cli.Factory, partial bool, use string) *cobra.Command {
	var o initFlags
	cmd := &cobra.Command{
		Use: use, Short: "Start a new run with all jobs of a workflow", Long: initLong, Example: initExample,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits("1 the initialization failed, or did not end in time"),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "even if input files are missing, output files exist, or jobs are running")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show what would be done")
	f.BoolVar(&o.async, "async", false, "do not wait for the end; \"tasks wait\" does")
	f.Int64Var(&o.waitTimeout, "wait-timeout", 0, "seconds to wait at most (0: no limit)")
	if partial {
		cmd.Short, cmd.Long, cmd.Example = "Start a new run with what has changed", reinitLong, reinitExample
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

// initCheck is the state of the files before an initialization.
type initCheck struct {
	WorkflowID          int64    `json:"workflow_id"`
	Safe                bool     `json:"safe"`
	MissingInputs       []string `json:"missing_input_files"`
	MissingInputCount   int      `json:"missing_input_file_count"`
	ExistingOutputs     []string `json:"existing_output_files"`
	ExistingOutputCount int      `json:"existing_output_file_count"`
	// Jobs would run again, without their dependants; CPUSeconds is the most that all may use.
	Jobs       int64 `json:"jobs"`
	CPUSeconds int64 `json:"cpu_seconds"`
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
	// What would run is shown even while the last run is active.
	reset := &api.ResetWorkflowRequest{RunID: before.RunID, DryRun: true, Force: true, Files: files.times()}
	if o.dryRun {
		proposal, err := c.Workflows.Reset(ctx, id, reset)
		if err != nil {
			return err
		}
		check.Jobs, check.CPUSeconds = proposal.Jobs, proposal.CPUSeconds
		return showInitCheck(a, check)
	}
	if !o.force {
		if check.MissingInputCount > 0 {
			return missingInputs(check.MissingInputs)
		}
		if check.ExistingOutputCount > 0 {
			question := fmt.Sprintf("%s already (%s). Run all jobs of workflow %d and overwrite them?",
				workflow.CountOf(int64(check.ExistingOutputCount), "output file exists", "output files exist"), cli.FirstNames(check.ExistingOutputs), id)
			if yes, err := a.Confirm(o.noPrompts, question); err != nil || !yes {
				return err
			}
		}
	}
	reset.DryRun, reset.Force = false, o.force
	if _, err := c.Workflows.Reset(ctx, id, reset); err != nil {
		return err
	}
	return runInitialization(ctx, a, c, id, false, o)
}

// missingInputs returns the error for missing input files.
func missingInputs(paths []string) error {
	return workflow.Errorf(workflow.CodeConflict, "%s missing: %s",
		workflow.CountOf(int64(len(paths)), "input file is", "input files are"), cli.FirstNames(paths)).
		WithHint("create them, or continue without them with --force")
}

func showInitCheck(a *cli.Factory, check initCheck) error {
	if a.Format == cli.FormatJSON {
		return a.WriteJSON(check)
	}
	for _, path := range check.MissingInputs {
		fmt.Fprintf(a.Stdout, "missing input file:    %s\n", path)
	}
	for _, path := range check.ExistingOutputs {
		fmt.Fprintf(a.Stdout, "existing output file:  %s\n", path)
	}
	if check.Safe {
		fmt.Fprintf(a.Stdout, "Workflow %d can be initialized: all input files exist, and no output file does\n", check.WorkflowID)
	}
	return a.ShowMessage(check, "%s would be reset%s", workflow.CountOf(check.Jobs, "job", "jobs"), check.cost())
}

// cost returns what the jobs may use, for the end of a line.
func (c *initCheck) cost() string {
	if c.CPUSeconds == 0 {
		return ""
	}
	return fmt.Sprintf("; their run may use up to %.1f CPU hours", float64(c.CPUSeconds)/3600)
}

// reinitPlan is what a partial initialization makes run again.
type reinitPlan struct {
	initCheck
	ChangedFiles []string `json:"changed_files"`
	JobNames     []string `json:"reinitialized_jobs"` // whose inputs have changed, or whose outputs are gone
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
	// What would run again is shown even while the last run is active.
	reset := &api.ResetWorkflowRequest{RunID: before.RunID, DryRun: true, Force: true, Changed: true, Files: files.times()}
	proposal, err := c.Workflows.Reset(ctx, id, reset)
	if err != nil {
		return err
	}
	plan := reinitPlan{files.check(id), cli.NotNil(proposal.ChangedFiles), cli.NotNil(proposal.JobNames)}
	plan.Safe, plan.Jobs, plan.CPUSeconds = plan.MissingInputCount == 0, proposal.Jobs, proposal.CPUSeconds
	if o.dryRun {
		return showReinitPlan(a, plan)
	}
	if !o.force && plan.MissingInputCount > 0 {
		return missingInputs(plan.MissingInputs)
	}
	reset.DryRun, reset.Force = false, o.force
	if _, err := c.Workflows.Reset(ctx, id, reset); err != nil {
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
	for _, name := range plan.JobNames {
		fmt.Fprintf(a.Stdout, "runs again:          %s\n", name)
	}
	if len(plan.JobNames) == 0 {
		return a.ShowMessage(plan, "No input of a job of workflow %d has changed", plan.WorkflowID)
	}
	return a.ShowMessage(plan, "%s would run again, with all that depend on them%s", workflow.CountOf(int64(len(plan.JobNames)), "job", "jobs"), plan.cost())
}

// initResult is the JSON output of init and reinit.
type initResult struct {
	Status        string              `json:"status"`
	Message       string              `json:"message"`
	WorkflowID    int64               `json:"workflow_id"`
	TaskID        int64               `json:"task_id"`
	TaskStatus    workflow.TaskStatus `json:"task_status"`
	TaskOperation string              `json:"task_operation"`
	Error         *string             `json:"error,omitempty"`
}

// taskPoll is how often the state of a task is read if no event reports it.
const taskPoll = 2 * time.Second

// runInitialization has the server initialize the jobs.
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
