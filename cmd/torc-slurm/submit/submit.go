// Package submit has the command that submits a workflow to Slurm.
package submit

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/allocate"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/runstart"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/specfile"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// submitFlags are those of submit.
type submitFlags struct {
	allocate.Flags
	specs                   specfile.Flags
	ignoreMissing           bool
	account, partition, qos string
	noAutoSchedule          bool
}

// New makes the command that submits a workflow to Slurm.
func New(a *cli.Factory) *cobra.Command {
	var flags submitFlags
	cmd := &cobra.Command{
		Use:   "submit SPEC|ID",
		Short: "Run a workflow under Slurm",
		Long: `Run a workflow in allocations of Slurm: one that is made from a specification (-
reads it from standard input), or an existing one. The command returns at once;
your daemon asks Slurm for what the workflow needs and looks after it.

A specification with schedule_nodes actions gets the allocations that they
describe, when they are due. Jobs that are left without a place after that, because
their allocation was preempted or has ended, or because they are retried, get others
of the same scheduler, never more at a time than the actions ask for; not so with
--no-auto-schedule, or auto_schedule: false in the specification. For one without
such actions the daemon chooses: the partitions that suit the jobs best, as many
allocations as the ready jobs need, and more for what becomes ready later or has to
be repeated.

On a terminal, a workflow that was run before is shown with what would be asked
for, so that it can be changed first.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm submit sweep.yaml
  torc-slurm submit -a myproject --partition short sweep.yaml
  torc-slurm submit 12                go on with workflow 12
  torc-slurm sq                       the allocations, and what runs in them`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteSpecOrWorkflow,
		Annotations:       cli.ServerExits("6 the specification is invalid, or jobs fit no allocation", "1 there is no allocation: Slurm refused for good, no job fits, or nothing asks for one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSubmit(cmd.Context(), a, args[0], &flags)
		},
	}
	flags.Add(cmd, "output-dir")
	f := cmd.Flags()
	f.BoolVarP(&flags.ignoreMissing, "ignore-missing-data", "i", false, "submit although files are missing that jobs read")
	f.BoolVar(&flags.specs.SkipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers and nodes")
	f.BoolVar(&flags.noAutoSchedule, "no-auto-schedule", false, "ask for no more than schedule_nodes actions ask for once")
	f.StringVarP(&flags.account, "account", "a", "", "`ACCOUNT` that is charged, where the daemon chooses (default: $SBATCH_ACCOUNT, else yours)")
	f.StringVar(&flags.partition, "partition", "", "`PARTITION`, where the daemon chooses (default: $SBATCH_PARTITION, else the best)")
	f.StringVar(&flags.qos, "qos", "", "quality of service, where the daemon chooses (default: $SBATCH_QOS)")
	return cmd
}

// request is the wish to the daemon.
func (f *submitFlags) request(outputDir string) *api.SubmitRequest {
	return &api.SubmitRequest{OutputDir: outputDir, MaxParallelJobs: f.MaxParallel, Account: f.account, Partition: f.partition, QOS: f.qos, NoAutoSchedule: &f.noAutoSchedule, SkipChecks: f.specs.SkipChecks}
}

func runSubmit(ctx context.Context, a *cli.Factory, target string, flags *submitFlags) error {
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
	id, err := cli.ParseID("workflow", target)
	if err != nil {
		return workflow.Errorf(workflow.CodeNotFound, "there is no file %q, and it is not the id of a workflow", target)
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

// submitNew creates the workflow of a specification and submits it.
func submitNew(ctx context.Context, a *cli.Factory, path string, flags *submitFlags, dir string) error {
	loaded, err := specfile.Load(a, path, flags.specs)
	if err != nil {
		return err
	}
	if err := specfile.ConfirmWarnings(a, loaded.Warnings); err != nil {
		return err
	}
	if !flags.ignoreMissing {
		if err := runstart.CheckInputs(a, loaded.Definition); err != nil {
			return err
		}
	}
	c, err := a.Connect(ctx)
	if err != nil {
		return err
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

// firstError is the first error that there is.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
