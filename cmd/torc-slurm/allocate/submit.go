// Package allocate requests allocations for a workflow from the daemon and reports the
// result.
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
)

// TakeSbatchDefaults completes a request with the defaults that the environment of this
// shell gives sbatch. The daemon may have been started from another shell.
func TakeSbatchDefaults(a *cli.Factory, r *api.SubmitRequest) {
	r.Account = cli.FirstOf(r.Account, a.Getenv("SBATCH_ACCOUNT"))
	r.Partition = cli.FirstOf(r.Partition, a.Getenv("SBATCH_PARTITION"))
	r.QOS = cli.FirstOf(r.QOS, a.Getenv("SBATCH_QOS"))
}

// CheckSbatch returns an error, before anything is created, if the user's own daemon could
// not call sbatch.
func CheckSbatch(a *cli.Factory) error {
	if cli.FirstOf(a.Flags.URL, a.Getenv("TORC_API_URL"), a.Config.Client.APIURL) != "" {
		return nil // that server may be on another host
	}
	sbatch := (&slurm.OS{Paths: slurm.FakePaths(a.Getenv)}).Path(slurm.Sbatch)
	if _, err := exec.LookPath(sbatch); err != nil {
		return workflow.Errorf(workflow.CodeUnsupported, "there is no Slurm here: %v", err).
			WithHint("submit on a login node of the cluster; `%s run` runs a workflow on this machine", cli.Prefix(a))
	}
	return nil
}

// Answer is the JSON output of Submit.
type Answer struct {
	WorkflowID int64  `json:"workflow_id"`
	Message    string `json:"message"`
	*api.SchedulePlan
}

// Submit submits a workflow and reports what was requested from Slurm. It returns an error
// if that leads to no allocation.
func Submit(ctx context.Context, a *cli.Factory, c *cli.Connection, id int64, r *api.SubmitRequest) error {
	chosen := r.Account+r.Partition+r.QOS != ""
	TakeSbatchDefaults(a, r)
	plan, err := c.Workflows.Submit(ctx, id, r)
	if err != nil {
		return fmt.Errorf("submit workflow %d: %w", id, err)
	}
	NoteFitness(a, plan)
	if chosen && !plan.AutoSchedule && (len(plan.Planned) > 0 || plan.LaterActions > 0) {
		a.Note("warning: --account, --partition and --qos have no effect: the specification has schedule_nodes actions, whose Slurm schedulers say where")
	}
	n := len(plan.Requested)
	if err := NoAllocation(a, plan); err != nil {
		return err
	}
	s := Answer{id, fmt.Sprintf("Successfully submitted workflow %d (%s)", id, workflow.CountOf(int64(n), "allocation", "allocations")), plan}
	if a.Format == cli.FormatJSON {
		return a.WriteJSON(s)
	}
	return a.ShowRecord(s, func(w io.Writer) {
		fmt.Fprintln(w, s.Message)
		fmt.Fprintln(w, whatHappens(plan))
		fmt.Fprintf(w, "`%[1]s status %[2]d` says how far it is, `%[1]s sq` what Slurm does, `%[1]s why JOB` why a job is where it is.\n", cli.Prefix(a), id)
		WriteChoices(w, plan.Choices, plan.NoForecast, 2)
		for _, refusal := range plan.Rejected {
			fmt.Fprintf(w, "Rejected: %s\n", refusal)
		}
		for _, jobs := range plan.ReadyJobs {
			if jobs.Uncovered > 0 && !isWaitedFor(plan, jobs.Reason) {
				fmt.Fprintf(w, "%s without an allocation: %s\n", workflow.CountOf(jobs.Uncovered, "ready job", "ready jobs"), jobs.Reason)
			}
		}
	})
}

// NoteFitness reports the jobs that were submitted and can never run, or why that was not
// checked.
func NoteFitness(a *cli.Factory, plan *api.SchedulePlan) {
	for _, u := range plan.Unfit {
		a.Note("warning: never runs: %s", u.Text)
	}
	if plan.Unchecked != "" {
		a.Note("not checked whether each job fits an allocation: %s", plan.Unchecked)
	}
}

// isWaitedFor reports whether a reason is that of a wait, which is shown anyway.
func isWaitedFor(plan *api.SchedulePlan, reason string) bool {
	return slices.ContainsFunc(plan.Waits, func(w api.ScheduleWait) bool { return w.Reason == reason })
}

// whatHappens returns a line about what a submission leads to.
func whatHappens(plan *api.SchedulePlan) string {
	text := "Nothing is requested from Slurm now"
	switch {
	case len(plan.Requested) > 0:
		text = fmt.Sprintf("Requested %s from Slurm: %s", workflow.CountOf(int64(len(plan.Requested)), "allocation", "allocations"), SlurmIDs(plan.Requested))
	case refusedAs(plan, slurm.Ambiguous):
		text = "Slurm gave no clear answer, and the daemon checks whether it has the job"
	case len(plan.Refusals) > 0:
		text = "Slurm rejects the request for now, and the daemon tries again"
	}
	if len(plan.Requested) == 0 && len(plan.Waits) > 0 {
		text += ": " + plan.Waits[0].Reason
	}
	switch {
	case plan.AutoSchedule:
		text += "; the daemon requests more when ready jobs do not fit existing allocations"
	case plan.LaterActions > 0:
		text += fmt.Sprintf("; %s more later", workflow.CountOf(plan.LaterActions, "action requests", "actions request"))
	}
	if plan.RequestsMore && !plan.AutoSchedule {
		text += "; for jobs that are retried or lose their allocation, the daemon requests others of the same scheduler"
	}
	return text + "."
}

// refusedAs reports whether Slurm rejected a request with an error of a class.
func refusedAs(plan *api.SchedulePlan, class slurm.Class) bool {
	return slices.ContainsFunc(plan.Refusals, func(r api.ScheduleRefusal) bool { return r.Class == string(class) })
}

// NoAllocation returns the error of a submission that leads to no allocation, nil if it leads
// to some.
func NoAllocation(a *cli.Factory, plan *api.SchedulePlan) error {
	o := plan.NoAllocation
	if o == nil {
		return nil
	}
	err := workflow.Errorf(workflow.CodeConflict, "%s", o.Message)
	if o.Hint != "" {
		err = err.WithHint("%s", cli.HintWithPrefix(a, o.Hint))
	}
	return &cli.ExitError{Status: cli.ExitFailed, Err: err}
}
