package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// submitFlags are those of submit.
type submitFlags struct {
	allocateFlags
	specs                   specFlags
	ignoreMissing           bool
	account, partition, qos string
}

func newSubmitCommand(a *app) *cobra.Command {
	var flags submitFlags
	cmd := &cobra.Command{
		Use:   "submit SPEC|ID",
		Short: "Run a workflow under Slurm",
		Long: `Run a workflow in allocations of Slurm: one that is made from a specification (-
reads it from standard input), or an existing one. The command returns at once;
your daemon asks Slurm for what the workflow needs and looks after it.

A specification with schedule_nodes actions gets the allocations that they
describe, when they are due. For one without, the daemon chooses: the partitions
that suit the jobs best, as many allocations as the ready jobs need, and more for
what becomes ready later or has to be repeated.

On a terminal, a workflow that was run before is shown with what would be asked
for, so that it can be changed first.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm submit sweep.yaml
  torc-slurm submit -a myproject --partition short sweep.yaml
  torc-slurm submit 12                go on with workflow 12
  torc-slurm sq                       the allocations, and what runs in them`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSpecOrWorkflow,
		Annotations:       serverExits(exitInvalidSpec, "1 Slurm was asked for nothing, and nothing will ask it later"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runSubmit(cmd.Context(), args[0], &flags)
		},
	}
	flags.add(cmd, "output-dir")
	f := cmd.Flags()
	f.BoolVarP(&flags.ignoreMissing, "ignore-missing-data", "i", false, "submit although files are missing that jobs read")
	f.BoolVar(&flags.specs.skipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers")
	f.StringVarP(&flags.account, "account", "a", "", "`ACCOUNT` that is charged, where the daemon chooses (default: yours)")
	f.StringVar(&flags.partition, "partition", "", "`PARTITION`, where the daemon chooses (default: the best)")
	f.StringVar(&flags.qos, "qos", "", "quality of service, where the daemon chooses")
	return cmd
}

// request is the wish to the daemon.
func (f *submitFlags) request(outputDir string) *api.SubmitRequest {
	return &api.SubmitRequest{OutputDir: outputDir, MaxParallelJobs: f.maxParallel, Account: f.account, Partition: f.partition, QOS: f.qos}
}

func (a *app) runSubmit(ctx context.Context, target string, flags *submitFlags) error {
	if err := a.checkSbatch(); err != nil {
		return err
	}
	dir, err := flags.dir(a)
	if err != nil {
		return err
	}
	if a.isSpec(target) {
		return a.submitNew(ctx, target, flags, dir)
	}
	id, err := parseID("workflow", target)
	if err != nil {
		return workflow.Errorf(workflow.CodeNotFound, "there is no file %q, and it is not the id of a workflow", target)
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	if err := a.ensureStarted(ctx, c, id, flags.ignoreMissing); err != nil {
		return err
	}
	review, err := a.reviewSubmission(ctx, c, id, flags.noPrompts)
	if err != nil || review.canceled {
		return err
	}
	err = a.submit(ctx, c, id, flags.request(dir))
	return firstError(err, review.restore(ctx))
}

// submitNew creates the workflow of a specification and submits it.
func (a *app) submitNew(ctx context.Context, path string, flags *submitFlags, dir string) error {
	loaded, err := a.loadSpec(path, flags.specs)
	if err != nil {
		return err
	}
	if err := a.confirmWarnings(loaded.Warnings); err != nil {
		return err
	}
	if !flags.ignoreMissing {
		if err := a.checkInputs(loaded.Definition); err != nil {
			return err
		}
	}
	c, err := a.connect(ctx)
	if err != nil {
		return err
	}
	id, err := c.create(ctx, loaded.Definition)
	if err != nil {
		return err
	}
	a.note("Created workflow %d", id)
	if err := c.start(ctx, id, false); err != nil {
		return err
	}
	return a.submit(ctx, c, id, flags.request(dir))
}

// checkSbatch refuses before anything is made what the user's own daemon could
// not do.
func (a *app) checkSbatch() error {
	if firstOf(a.flags.url, a.getenv("TORC_API_URL"), a.config.Client.APIURL) != "" {
		return nil // that server may be elsewhere
	}
	sbatch := (&slurm.OS{Paths: slurm.FakePaths(a.getenv)}).Path(slurm.Sbatch)
	if _, err := exec.LookPath(sbatch); err != nil {
		return workflow.Errorf(workflow.CodeUnsupported, "there is no Slurm here: %v", err).
			WithHint("submit on a login node of the cluster; `%s run` runs a workflow on this machine", a.prefix())
	}
	return nil
}

// submission is what submit says in JSON.
type submission struct {
	WorkflowID int64  `json:"workflow_id"`
	Message    string `json:"message"`
	*api.SchedulePlan
}

// submit has the daemon ask for allocations and says what came of it.
func (a *app) submit(ctx context.Context, c *connection, id int64, r *api.SubmitRequest) error {
	plan, err := c.SubmitWorkflow(ctx, id, r)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", id, err)
	}
	later, err := waitingScheduleNodes(ctx, c, id)
	if err != nil {
		return err
	}
	n := len(plan.Asked)
	if n == 0 && !plan.AutoSchedule && len(later) == 0 && len(plan.Waits) == 0 {
		return nothingAsked(id, plan, a.prefix())
	}
	s := submission{id, fmt.Sprintf("Successfully submitted workflow %d (%s)", id, plural(int64(n), "allocation", "allocations")), plan}
	if a.format == formatJSON {
		return a.writeJSON(s)
	}
	return a.showRecord(s, func(w io.Writer) {
		fmt.Fprintln(w, s.Message)
		fmt.Fprintln(w, whatHappens(plan, len(later)))
		fmt.Fprintf(w, "`%[1]s status %[2]d` says how far it is, `%[1]s sq` what Slurm does, `%[1]s why JOB` why a job is where it is.\n", a.prefix(), id)
		for _, refusal := range plan.Refused {
			fmt.Fprintf(w, "Slurm refused: %s\n", refusal)
		}
	})
}

// whatHappens says in a line what a submission leads to.
func whatHappens(plan *api.SchedulePlan, later int) string {
	text := "Slurm is asked for nothing now"
	if len(plan.Asked) > 0 {
		text = fmt.Sprintf("Slurm was asked for %s", slurmIDs(plan.Asked))
	}
	switch {
	case plan.AutoSchedule:
		text += "; the daemon asks for more whenever ready jobs have no place"
	case later > 0:
		text += fmt.Sprintf("; %s for more later", plural(int64(later), "action asks", "actions ask"))
	}
	if len(plan.Asked) == 0 && len(plan.Waits) > 0 {
		text += ": " + plan.Waits[0].Reason
	}
	return text + "."
}

// nothingAsked is the error of a submission without effect.
func nothingAsked(id int64, plan *api.SchedulePlan, prefix string) error {
	if len(plan.Refused) > 0 {
		return failedErrorf("Slurm refused what workflow %d asked for: %s", id, plan.Refused[0])
	}
	return &exitError{exitFailed, workflow.Errorf(workflow.CodeConflict, "workflow %d asks for no allocation: none of its schedule_nodes actions is due or waits", id).
		WithHint("`%[1]s slurm schedule %[2]d` asks for what its jobs need; `%[1]s workflows list-actions %[2]d` shows the actions", prefix, id)}
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
