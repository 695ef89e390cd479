package slurmcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/client"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// scheduleFlags are the flags of slurm schedule.
type scheduleFlags struct {
	allocate.Flags
	count, schedulerID int64
	perNode            bool
	suppress           bool
	prefix             string
	keepScripts        bool
	skipChecks, dryRun bool
}

// newSchedule returns the command that requests allocations, under one of its two names.
func newSchedule(a *cli.Factory, name string) *cobra.Command {
	var flags scheduleFlags
	cmd := cli.OnWorkflow(a, &cobra.Command{
		Use:   name + " [WORKFLOW]",
		Short: "Request allocations for a workflow from Slurm",
		Long: `Request allocations for a workflow from Slurm now. A workflow that has not been started
is started. Each allocation starts a runner, which runs jobs of the workflow until
no suitable job is left.

Without a number and a scheduler, the command plans, shows and requests what the ready
jobs need: existing allocations count, and the daemon continues to request allocations
while jobs have no place. With one of them, exactly this many are requested, regardless
of existing ones; ` + "`torc-slurm sq`" + ` shows those. --dry-run only says what would be
requested, why, and how many node-hours that may take.`,
		Example: `  torc-slurm slurm ` + name + ` 12
  torc-slurm slurm ` + name + ` 12 --dry-run
  torc-slurm slurm ` + name + ` 12 -n 4
  torc-slurm slurm ` + name + ` 12 --scheduler-config-id 3`,
		Annotations: cli.ServerExits("6 jobs of the workflow fit no allocation", "1 Slurm granted fewer allocations than requested, or none"),
	})
	flags.Add(cmd, "output")
	f := cmd.Flags()
	f.Int64VarP(&flags.count, "num-hpc-jobs", "n", 1, "`NUMBER` of allocations")
	f.Int64Var(&flags.schedulerID, "scheduler-config-id", 0, "`ID` of the Slurm scheduler (default: as the jobs need)")
	f.BoolVar(&flags.perNode, "start-one-worker-per-node", false, "start a runner on each node of an allocation with several nodes")
	f.BoolVar(&flags.suppress, "suppress-actions", false, "suppress requests by actions of the workflow")
	f.StringVarP(&flags.prefix, "job-prefix", "j", "", "accepted for compatibility: the names of Slurm jobs begin with torc")
	f.BoolVar(&flags.keepScripts, "keep-submission-scripts", false, "accepted for compatibility: `scontrol write batch_script` shows them")
	f.BoolVar(&flags.dryRun, "dry-run", false, "only say what would be requested")
	f.BoolVar(&flags.skipChecks, "skip-checks", false, "request even if jobs of the workflow fit no allocation")
	_ = f.MarkHidden("job-prefix")
	_ = f.MarkHidden("keep-submission-scripts")
	cmd.RunE = cli.Checked(flags.check, a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		byDemand := flags.schedulerID == 0 && !cmd.Flags().Changed("num-hpc-jobs")
		switch {
		case byDemand && flags.dryRun:
			return proposeDemand(ctx, a, c, id, &flags)
		case byDemand:
			return runSlurmScheduleDemand(ctx, a, c, id, &flags)
		case flags.dryRun:
			return proposeSchedule(ctx, a, c, id, &flags)
		}
		return runSlurmSchedule(ctx, a, c, id, &flags)
	}))
	return cmd
}

func (f *scheduleFlags) check() error {
	if f.count < 1 {
		return cli.UsageErrorf("--num-hpc-jobs %d: the minimum is 1", f.count)
	}
	return nil
}

func runSlurmSchedule(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags *scheduleFlags) error {
	scheduler, err := chooseScheduler(ctx, a, c, id, flags.schedulerID)
	if err != nil {
		return err
	}
	dir, err := flags.DirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	if err := runstart.Ensure(ctx, a, c, id, false); err != nil {
		return err
	}
	if ok, err := allocate.ReviewPending(ctx, a, c, id, flags.suppress, flags.NoPrompts); !ok || err != nil {
		return err
	}
	answer, err := allocate.Create(ctx, c, id, flags.exactly(scheduler, dir))
	if err != nil {
		return err
	}
	return showAllocated(a, id, answer)
}

// exactly returns the request for a number of allocations of a scheduler.
func (f *scheduleFlags) exactly(scheduler *api.SlurmScheduler, dir string) *api.AllocateRequest {
	return &api.AllocateRequest{
		SchedulerConfigID: cli.OrZero(scheduler.ID), Count: f.count, OutputDir: dir, MaxParallelJobs: f.MaxParallel, OneRunnerPerNode: f.perNode,
		SkipChecks: f.skipChecks, DryRun: f.dryRun,
	}
}

// byDemand returns the request for what the jobs need.
func (f *scheduleFlags) byDemand(a *cli.Factory, dir string) *api.SubmitRequest {
	r := &api.SubmitRequest{OutputDir: dir, MaxParallelJobs: f.MaxParallel, AutoSchedule: &workflow.AutoSchedule{}, NoAutoSchedule: new(false), Prefer: f.Prefer, SkipChecks: f.skipChecks}
	allocate.TakeSbatchDefaults(a, r)
	return r
}

// runSlurmScheduleDemand requests what the jobs need, and makes the daemon continue to do so.
func runSlurmScheduleDemand(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, flags *scheduleFlags) error {
	dir, err := flags.DirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	if err := runstart.Ensure(ctx, a, c, id, false); err != nil {
		return err
	}
	if ok, err := allocate.ReviewPending(ctx, a, c, id, flags.suppress, flags.NoPrompts); !ok || err != nil {
		return err
	}
	request := flags.byDemand(a, dir)
	plan, err := c.Workflows.Plan(ctx, id, request)
	if err != nil {
		return fmt.Errorf("plan allocations of workflow %d: %w", id, err)
	}
	for _, line := range plan.Text {
		a.Note("%s", line)
	}
	return allocate.Submit(ctx, a, c, id, request)
}

// allocated is the JSON output of commands that request allocations.
type allocated struct {
	Status     string           `json:"status"` // success, partial_success
	WorkflowID int64            `json:"workflow_id"`
	Message    string           `json:"message"`
	Items      []api.Allocation `json:"allocations"`
	Rejected   string           `json:"refused,omitempty"`
}

func showAllocated(a *cli.Factory, id int64, answer *api.AllocateResponse) error {
	message := fmt.Sprintf("Successfully running %s", workflow.CountOf(int64(len(answer.Items)), "Slurm job", "Slurm jobs"))
	status := map[bool]string{true: "success", false: "partial_success"}[answer.Rejected == ""]
	if err := a.ShowMessage(allocated{status, id, message, answer.Items, answer.Rejected}, "%s: %s", message, allocate.SlurmIDs(answer.Items)); err != nil {
		return err
	}
	if answer.Rejected != "" {
		return cli.FailedErrorf("Slurm rejected further requests: %s", answer.Rejected)
	}
	return nil
}

// chooseScheduler returns the Slurm scheduler of a request: the named one, the only one, or
// the one that the user chooses on a terminal.
func chooseScheduler(ctx context.Context, a *cli.Factory, c *cli.Connection, workflowID, named int64) (*api.SlurmScheduler, error) {
	all, err := client.Collect(c.SlurmSchedulers.List(ctx, client.SlurmSchedulerFilter{WorkflowID: workflowID}))
	if err != nil {
		return nil, err
	}
	if named == 0 && len(all) > 1 && a.StdinTerminal && a.Format == cli.FormatTable {
		_, rows := slurmSchedulerColumns.Cells(cli.FormatTable, all)
		header, _ := slurmSchedulerColumns.Cells(cli.FormatTable, nil)
		cli.WriteTable(a.Stderr, header, rows, a.Width())
		answer, err := a.Ask("Scheduler ID: ")
		if err != nil {
			return nil, err
		}
		if named, err = cli.ParseID("Slurm scheduler", answer); err != nil {
			return nil, err
		}
	}
	if named == 0 && len(all) == 1 {
		return &all[0], nil
	}
	if i := slices.IndexFunc(all, func(s api.SlurmScheduler) bool { return cli.OrZero(s.ID) == named }); i >= 0 {
		return &all[i], nil
	}
	switch {
	case len(all) == 0:
		return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no Slurm scheduler", workflowID).
			WithHint("`%[1]s slurm regenerate %[2]d` creates schedulers for its jobs, `%[1]s slurm create %[2]d` a single one", cli.Prefix(a), workflowID)
	case named != 0:
		return nil, workflow.Errorf(workflow.CodeNotFound, "workflow %d has no Slurm scheduler %d", workflowID, named).
			WithHint("`%s slurm list %d` lists them", cli.Prefix(a), workflowID)
	}
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = fmt.Sprintf("%d (%s)", cli.OrZero(s.ID), cli.OrEmpty(s.Name))
	}
	return nil, cli.UsageErrorf("workflow %d has %d Slurm schedulers: %s; choose one with --scheduler-config-id", workflowID, len(all), strings.Join(ids, ", "))
}
