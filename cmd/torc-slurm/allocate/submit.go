// Package allocate asks the daemon for allocations of a workflow and says what comes
// of it.
package allocate

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/slurm"
	"github.com/torc-slurm/torc-slurm/workflow"
	"github.com/torc-slurm/torc-slurm/workflow/action"
)

// TakeSbatchDefaults fills in what this shell has sbatch use where nothing else
// is said. The daemon may have been started from another one.
func TakeSbatchDefaults(a *cli.Factory, r *api.SubmitRequest) {
	r.Account = cli.FirstOf(r.Account, a.Getenv("SBATCH_ACCOUNT"))
	r.Partition = cli.FirstOf(r.Partition, a.Getenv("SBATCH_PARTITION"))
	r.QOS = cli.FirstOf(r.QOS, a.Getenv("SBATCH_QOS"))
}

// CheckSbatch refuses before anything is made what the user's own daemon could
// not do.
func CheckSbatch(a *cli.Factory) error {
	if cli.FirstOf(a.Flags.URL, a.Getenv("TORC_API_URL"), a.Config.Client.APIURL) != "" {
		return nil // that server may be elsewhere
	}
	sbatch := (&slurm.OS{Paths: slurm.FakePaths(a.Getenv)}).Path(slurm.Sbatch)
	if _, err := exec.LookPath(sbatch); err != nil {
		return workflow.Errorf(workflow.CodeUnsupported, "there is no Slurm here: %v", err).
			WithHint("submit on a login node of the cluster; `%s run` runs a workflow on this machine", cli.Prefix(a))
	}
	return nil
}

// Answer is what Submit says in JSON.
type Answer struct {
	WorkflowID int64  `json:"workflow_id"`
	Message    string `json:"message"`
	*api.SchedulePlan
}

// Submit has the daemon ask for allocations and says what came of it.
func Submit(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, r *api.SubmitRequest) error {
	chosen := r.Account+r.Partition+r.QOS != ""
	TakeSbatchDefaults(a, r)
	plan, err := c.Workflows.Submit(ctx, id, r)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", id, err)
	}
	NoteFitness(a, plan)
	later, err := scheduleNodes(ctx, c, id, action.StatusWaiting)
	if err != nil {
		return err
	}
	if chosen && !plan.AutoSchedule && len(plan.Planned)+len(later) > 0 {
		a.Note("warning: --account, --partition and --qos have no effect: the specification has schedule_nodes actions, whose Slurm schedulers say where")
	}
	n := len(plan.Asked)
	if err := WithoutAllocation(id, plan, len(later) > 0, cli.Prefix(a)); err != nil {
		return err
	}
	s := Answer{id, fmt.Sprintf("Successfully submitted workflow %d (%s)", id, workflow.CountOf(int64(n), "allocation", "allocations")), plan}
	if a.Format == cli.FormatJSON {
		return a.WriteJSON(s)
	}
	return a.ShowRecord(s, func(w io.Writer) {
		fmt.Fprintln(w, s.Message)
		fmt.Fprintln(w, whatHappens(plan, len(later)))
		fmt.Fprintf(w, "`%[1]s status %[2]d` says how far it is, `%[1]s sq` what Slurm does, `%[1]s why JOB` why a job is where it is.\n", cli.Prefix(a), id)
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

// NoteFitness tells which jobs can never run though they were submitted, or that
// this was not checked.
func NoteFitness(a *cli.Factory, plan *api.SchedulePlan) {
	for _, u := range plan.Unfit {
		a.Note("warning: never runs: %s", u.Text)
	}
	if plan.Unchecked != "" {
		a.Note("not checked whether each job fits an allocation: %s", plan.Unchecked)
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
		text = fmt.Sprintf("Slurm was asked for %s", SlurmIDs(plan.Asked))
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

// WithoutAllocation is the error of a submission that leads to no allocation
// unless somebody changes something; nil if it does. What Slurm does not take
// now is waited for.
func WithoutAllocation(id int64, plan *api.SchedulePlan, later bool, prefix string) error {
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
	return &cli.ExitError{Status: cli.ExitFailed, Err: err}
}

// all reports whether something holds for each of a list.
func all[T any](list []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !holds(x) })
}
