// Package submit has the command that submits a workflow to Slurm.
package submit

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/amendment"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/dryrun"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// submitFlags are the flags of submit.
type submitFlags struct {
	allocate.Flags
	specs                   specfile.Flags
	ignoreMissing, dryRun   bool
	account, partition, qos string
	noAutoSchedule          bool
	earlier                 amendment.Flags
}

// New returns the command that submits a workflow to Slurm.
func New(a *cli.Factory) *cobra.Command {
	var flags submitFlags
	cmd := &cobra.Command{
		Use:   "submit SPEC|ID",
		Short: "Run a workflow under Slurm",
		Long: `Run a workflow in Slurm allocations. The workflow is created from a specification (-
reads it from standard input), or exists already. The command returns at once; your
daemon requests the allocations that the workflow needs and manages it to its end.

If the specification has schedule_nodes actions, the daemon requests the allocations that
they describe when their triggers fire. Jobs that have no allocation after that, because
theirs was preempted or ended or because they are retried, get new allocations of the
same scheduler, but never more at a time than the actions request. This can be turned off
with --no-auto-schedule, or auto_schedule: false in the specification. Without such
actions the daemon decides: it chooses the partitions that suit the jobs best, requests as
many allocations as the ready jobs need, and more when other jobs become ready or are
retried.

--dry-run creates nothing: it shows the jobs of a specification in the order in which they
become ready, with their commands and needs, and finds missing input files and commands
that bash cannot read. ` + "`torc-slurm slurm plan SPEC`" + ` shows which allocations suit it.

With --resume, the workflow that was last created from this specification continues, with
what has changed in it; only jobs that the change affects run again. ` + "`torc-slurm run --help`" + `
says which these are. With --dry-run the plan is only shown. --resume=ID names another
workflow.

On a terminal, the command first shows what a workflow that was run before would request,
so that you can change it.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm submit sweep.yaml
  torc-slurm submit -a myproject --partition short sweep.yaml
  torc-slurm submit --dry-run sweep.yaml
  torc-slurm submit 12                continue workflow 12
  torc-slurm submit --resume sweep.yaml   after a change: run only what it affects
  torc-slurm sq                       the allocations, and what runs in them`,
		Args:              cobra.RangeArgs(1, 2), // --resume may have an argument
		ValidArgsFunction: a.CompleteSpecOrWorkflow,
		Annotations:       cli.ServerExits("6 the specification is invalid, or jobs fit no allocation", "1 there is no allocation: Slurm rejected all requests for good, no job fits, or nothing requests one; with --dry-run: jobs would fail"),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, err := flags.earlier.SplitArgs(a, args)
			if err != nil {
				return err
			}
			return runSubmit(cmd.Context(), a, target, &flags)
		},
	}
	flags.Add(cmd, "output-dir")
	flags.earlier.Add(cmd.Flags())
	f := cmd.Flags()
	f.BoolVarP(&flags.ignoreMissing, "ignore-missing-data", "i", false, "submit even if input files of jobs are missing")
	f.BoolVar(&flags.dryRun, "dry-run", false, "show what the jobs of a specification would do, and create nothing; exit with 1 if some would fail")
	f.BoolVar(&flags.specs.SkipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers and nodes")
	f.BoolVar(&flags.noAutoSchedule, "no-auto-schedule", false, "request only what schedule_nodes actions request, once")
	f.StringVarP(&flags.account, "account", "a", "", "`ACCOUNT` to charge if the daemon decides (default: $SBATCH_ACCOUNT, else yours)")
	f.StringVar(&flags.partition, "partition", "", "`PARTITION` if the daemon decides (default: $SBATCH_PARTITION, else the best)")
	f.StringVar(&flags.qos, "qos", "", "quality of service if the daemon decides (default: $SBATCH_QOS)")
	return cmd
}

// request returns the request to the daemon.
func (f *submitFlags) request(outputDir string) *api.SubmitRequest {
	return &api.SubmitRequest{OutputDir: outputDir, MaxParallelJobs: f.MaxParallel, Account: f.account, Partition: f.partition, QOS: f.qos, NoAutoSchedule: &f.noAutoSchedule, Prefer: f.Prefer, SkipChecks: f.specs.SkipChecks}
}

func runSubmit(ctx context.Context, a *cli.Factory, target string, flags *submitFlags) error {
	if flags.dryRun {
		return previewSpec(ctx, a, target, flags)
	}
	if err := allocate.CheckSbatch(a); err != nil {
		return err
	}
	if specfile.IsSpec(a, target) {
		dir, err := flags.Dir(a)
		if err != nil {
			return err
		}
		return submitNew(ctx, a, target, flags, dir)
	}
	if err := flags.earlier.Refuse(target); err != nil {
		return err
	}
	id, err := cli.ParseID("workflow", target)
	if err != nil {
		return workflow.Errorf(workflow.CodeNotFound, "%q is neither a file nor the id of a workflow", target)
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	dir, err := flags.DirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	if err := runstart.Ensure(ctx, a, c, id, flags.ignoreMissing); err != nil {
		return err
	}
	review, err := reviewSubmission(ctx, a, c, id, flags.NoPrompts)
	if err != nil || review.canceled {
		return err
	}
	return allocate.Submit(ctx, a, c, id, flags.request(dir))
}

// submitNew creates the workflow of a specification and submits it. It returns an error before
// it creates anything if the specification is invalid or input files are missing.
func submitNew(ctx context.Context, a *cli.Factory, path string, flags *submitFlags, dir string) error {
	loaded, err := specfile.Load(a, path, flags.specs)
	if err != nil {
		return err
	}
	if err := specfile.ConfirmWarnings(a, loaded.Warnings); err != nil {
		return err
	}
	if !flags.ignoreMissing && !flags.earlier.MayResume(a) {
		if err := runstart.CheckInputs(a, loaded.Definition); err != nil {
			return err
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	choice, err := flags.earlier.Choose(ctx, a, c, loaded.Definition)
	if err != nil {
		return err
	}
	if choice.Workflow != nil {
		return submitEarlier(ctx, a, c, &choice, loaded.Definition, flags)
	}
	if !flags.ignoreMissing {
		if err := runstart.CheckInputs(a, loaded.Definition); err != nil {
			return err
		}
	}
	id, err := specfile.Create(ctx, c, loaded.Definition)
	if err != nil {
		return err
	}
	a.Note("Created workflow %d", id)
	if err := runstart.Ensure(ctx, a, c, id, true); err != nil { // its files were checked
		return err
	}
	return allocate.Submit(ctx, a, c, id, flags.request(dir))
}

// submitEarlier continues the earlier workflow of a specification with what has changed.
func submitEarlier(ctx context.Context, a *cli.Factory, c *cli.Connection, choice *amendment.Choice, d *workflow.Definition, flags *submitFlags) error {
	id := *choice.Workflow.ID
	dir, err := flags.DirOf(ctx, a, c, id)
	if err != nil {
		return err
	}
	plan, done, err := choice.Apply(ctx, a, c, d, flags.ignoreMissing)
	if err != nil || !done || plan.Runs == 0 {
		return err
	}
	if err := runstart.Ensure(ctx, a, c, id, true); err != nil { // its files were checked
		return err
	}
	return allocate.Submit(ctx, a, c, id, flags.request(dir))
}

// previewSpec shows what the jobs of a specification would do.
func previewSpec(ctx context.Context, a *cli.Factory, target string, flags *submitFlags) error {
	if !specfile.IsSpec(a, target) {
		return cli.UsageErrorf("--dry-run is for specifications; `torc-slurm slurm plan %s` shows the allocations that a workflow would get", target)
	}
	loaded, err := specfile.Load(a, target, flags.specs)
	if err != nil {
		return err
	}
	if previewed, err := flags.earlier.Preview(ctx, a, loaded.Definition); previewed || err != nil {
		return err
	}
	return dryrun.Run(ctx, a, loaded, nil)
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
