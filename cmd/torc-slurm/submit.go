package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"

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
	noAutoSchedule          bool
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
describe, when they are due. Jobs that are left without a place after that, because
their allocation was preempted or has ended, or because they are retried, get others
of the same scheduler, never more at a time than the actions ask for; not so with
--no-auto-schedule, or auto_schedule: false in the specification. For one without
such actions the daemon chooses: the partitions that suit the jobs best, as many
allocations as the ready jobs need, and more for what becomes ready later or has to
be repeated.

On a terminal, a workflow that was run before is shown with what would be asked
for, so that it can be changed first.`,
		GroupID: groupLifecycle,
		Example: `  torc-slurm submit sweep.yaml
  torc-slurm submit -a myproject --partition short sweep.yaml
  torc-slurm submit 12                go on with workflow 12
  torc-slurm sq                       the allocations, and what runs in them`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSpecOrWorkflow,
		Annotations:       serverExits("6 the specification is invalid, or jobs fit no allocation", "1 there is no allocation: Slurm refused for good, no job fits, or nothing asks for one"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runSubmit(cmd.Context(), args[0], &flags)
		},
	}
	flags.add(cmd, "output-dir")
	f := cmd.Flags()
	f.BoolVarP(&flags.ignoreMissing, "ignore-missing-data", "i", false, "submit although files are missing that jobs read")
	f.BoolVar(&flags.specs.skipChecks, "skip-checks", false, "skip the checks of jobs against Slurm schedulers and nodes")
	f.BoolVar(&flags.noAutoSchedule, "no-auto-schedule", false, "ask for no more than schedule_nodes actions ask for once")
	f.StringVarP(&flags.account, "account", "a", "", "`ACCOUNT` that is charged, where the daemon chooses (default: $SBATCH_ACCOUNT, else yours)")
	f.StringVar(&flags.partition, "partition", "", "`PARTITION`, where the daemon chooses (default: $SBATCH_PARTITION, else the best)")
	f.StringVar(&flags.qos, "qos", "", "quality of service, where the daemon chooses (default: $SBATCH_QOS)")
	return cmd
}

// request is the wish to the daemon.
func (f *submitFlags) request(outputDir string) *api.SubmitRequest {
	return &api.SubmitRequest{OutputDir: outputDir, MaxParallelJobs: f.maxParallel, Account: f.account, Partition: f.partition, QOS: f.qos, NoAutoSchedule: &f.noAutoSchedule, SkipChecks: f.specs.skipChecks}
}

// takeSbatchDefaults fills in what this shell has sbatch use where nothing else
// is said. The daemon may have been started from another one.
func (a *app) takeSbatchDefaults(r *api.SubmitRequest) {
	r.Account = firstOf(r.Account, a.getenv("SBATCH_ACCOUNT"))
	r.Partition = firstOf(r.Partition, a.getenv("SBATCH_PARTITION"))
	r.QOS = firstOf(r.QOS, a.getenv("SBATCH_QOS"))
}

func (a *app) runSubmit(ctx context.Context, target string, flags *submitFlags) error {
	if err := a.checkSbatch(); err != nil {
		return err
	}
	if a.isSpec(target) {
		dir, err := flags.dir(a)
		if err != nil {
			return err
		}
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
	dir, err := flags.dirOf(ctx, a, c, id)
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
	return a.submit(ctx, c, id, flags.request(dir))
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
	if err := a.beginNew(ctx, c, id); err != nil {
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
	chosen := r.Account+r.Partition+r.QOS != ""
	a.takeSbatchDefaults(r)
	plan, err := c.SubmitWorkflow(ctx, id, r)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", id, err)
	}
	a.noteFitness(plan)
	later, err := waitingScheduleNodes(ctx, c, id)
	if err != nil {
		return err
	}
	if chosen && !plan.AutoSchedule && len(plan.Planned)+len(later) > 0 {
		a.note("warning: --account, --partition and --qos have no effect: the specification has schedule_nodes actions, whose Slurm schedulers say where")
	}
	n := len(plan.Asked)
	if err := withoutAllocation(id, plan, len(later) > 0, a.prefix()); err != nil {
		return err
	}
	s := submission{id, fmt.Sprintf("Successfully submitted workflow %d (%s)", id, workflow.CountOf(int64(n), "allocation", "allocations")), plan}
	if a.format == formatJSON {
		return a.writeJSON(s)
	}
	return a.showRecord(s, func(w io.Writer) {
		fmt.Fprintln(w, s.Message)
		fmt.Fprintln(w, whatHappens(plan, len(later)))
		fmt.Fprintf(w, "`%[1]s status %[2]d` says how far it is, `%[1]s sq` what Slurm does, `%[1]s why JOB` why a job is where it is.\n", a.prefix(), id)
		for _, refusal := range plan.Refused {
			fmt.Fprintf(w, "Not taken: %s\n", refusal)
		}
		for _, jobs := range plan.ReadyJobs {
			if jobs.Uncovered > 0 && !isWaitedFor(plan, jobs.Reason) {
				fmt.Fprintf(w, "%s without an allocation: %s\n", workflow.CountOf(jobs.Uncovered, "ready job", "ready jobs"), jobs.Reason)
			}
		}
	})
}

// noteFitness tells which jobs can never run though they were submitted, or that
// this was not checked.
func (a *app) noteFitness(plan *api.SchedulePlan) {
	for _, u := range plan.Unfit {
		a.note("warning: never runs: %s", u.Text)
	}
	if plan.Unchecked != "" {
		a.note("not checked whether each job fits an allocation: %s", plan.Unchecked)
	}
}

// isWaitedFor reports whether a reason is that of a wait, which is told anyway.
func isWaitedFor(plan *api.SchedulePlan, reason string) bool {
	return slices.ContainsFunc(plan.Waits, func(w api.ScheduleWait) bool { return w.Reason == reason })
}

// whatHappens says in a line what a submission leads to.
func whatHappens(plan *api.SchedulePlan, later int) string {
	text := "Slurm is asked for nothing now"
	switch {
	case len(plan.Asked) > 0:
		text = fmt.Sprintf("Slurm was asked for %s", slurmIDs(plan.Asked))
	case refusedAs(plan, slurm.Ambiguous):
		text = "Slurm gave no clear answer, and the daemon looks for what it has made of the request"
	case len(plan.Refusals) > 0:
		text = "Slurm takes nothing now, and the daemon asks again"
	}
	switch {
	case plan.AutoSchedule:
		text += "; the daemon asks for more whenever ready jobs have no place"
	case later > 0:
		text += fmt.Sprintf("; %s for more later", workflow.CountOf(int64(later), "action asks", "actions ask"))
	}
	if plan.LookedAfter && !plan.AutoSchedule {
		text += "; jobs that lose their place or are retried get others of the same scheduler"
	}
	if len(plan.Asked) == 0 && len(plan.Waits) > 0 {
		text += ": " + plan.Waits[0].Reason
	}
	return text + "."
}

// refusedAs reports whether something was refused with a class.
func refusedAs(plan *api.SchedulePlan, class slurm.Class) bool {
	return slices.ContainsFunc(plan.Refusals, func(r api.ScheduleRefusal) bool { return r.Class == string(class) })
}

// withoutAllocation is the error of a submission that leads to no allocation
// unless somebody changes something; nil if it does. What Slurm does not take
// now is waited for.
func withoutAllocation(id int64, plan *api.SchedulePlan, later bool, prefix string) error {
	forGood := func(r api.ScheduleRefusal) bool { return r.Class == string(slurm.Permanent) }
	unplaced := func(j api.ScheduledJobs) bool { return j.Uncovered == j.Ready }
	var err *workflow.Error
	switch no := slices.IndexFunc(plan.Refusals, forGood); {
	case len(plan.Asked) > 0:
		return nil
	case no >= 0 && all(plan.Refusals, forGood):
		err = workflow.Errorf(workflow.CodeConflict, "workflow %d has no allocation, Slurm refused: %s", id, plan.Refusals[no].Text).
			WithHint("correct account, partition or Slurm scheduler and submit again, `%[1]s submit %[2]d`; until then the daemon tries now and then, `%[1]s cancel %[2]d` ends that", prefix, id)
	case len(plan.Refusals)+len(plan.Waits) > 0 || later:
		return nil
	case len(plan.ReadyJobs) > 0 && all(plan.ReadyJobs, unplaced):
		err = workflow.Errorf(workflow.CodeConflict, "workflow %d has no allocation: %s", id, plan.ReadyJobs[0].Reason).
			WithHint("change what the jobs need, or the Slurm scheduler; the daemon looks again then")
	case plan.LookedAfter:
		return nil
	default:
		err = workflow.Errorf(workflow.CodeConflict, "workflow %d asks for no allocation: none of its schedule_nodes actions is due or waits", id).
			WithHint("`%[1]s slurm schedule %[2]d` asks for what its jobs need; `%[1]s workflows list-actions %[2]d` shows the actions", prefix, id)
	}
	return &exitError{exitFailed, err}
}

// all reports whether something holds for each of a list.
func all[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !holds(x) })
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
