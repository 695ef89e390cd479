package workflows

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

// NewPause returns the command that pauses a workflow.
func NewPause(a *cli.Factory) *cobra.Command {
	var q api.PauseRequest
	c := &cobra.Command{
		Use:   "pause [WORKFLOW]",
		Short: "Start no further job of a workflow until it is resumed",
		Long: `Pause a workflow: runners claim no further job of it, and no allocation is requested
for it, until "resume". Jobs that run continue. With --now they are ended as at the end
of an allocation: the termination signal, the grace time, then a kill. Those that do not
complete meanwhile are ready again; this uses no retry. Runners without jobs leave, since
idle nodes cost core-hours.

Allocations that Slurm has not started keep their place in the queue, since waiting anew
may take longer than the pause; one that starts during the pause ends within seconds.
With --cancel-pending they are canceled.

The pause survives restarts of the daemon. Timeouts and deadlines keep running. End jobs
and compensations are not paused. A new run (reset) ends the pause.`,
		GroupID: cli.GroupLifecycle,
		Example: `  torc-slurm pause 12
  torc-slurm pause 12 --now --reason "the file server is down"
  torc-slurm pause 12 --now --dry-run
  torc-slurm resume 12`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
		Annotations:       cli.ServerExits("5 the workflow has ended or is canceled, or only its end job or compensation is left"),
		RunE: a.WorkflowCommand(func(ctx context.Context, conn *cli.Connection, id int64) error {
			out, err := conn.Workflows.Pause(ctx, id, &q)
			if err != nil {
				return cli.WithPrefix(a, err)
			}
			return a.ShowMessage(out, "%s", pauseText(a, &q, out))
		}),
	}
	f := c.Flags()
	f.BoolVar(&q.Now, "now", false, "end the jobs that run; they run again later")
	f.BoolVar(&q.CancelPending, "cancel-pending", false, "cancel the allocations that Slurm has not started")
	f.StringVar(&q.Reason, "reason", "", "why, for status, why and the events")
	f.BoolVar(&q.DryRun, "dry-run", false, "only say what would stop")
	return c
}

// pauseText says what a pause stops.
func pauseText(a *cli.Factory, q *api.PauseRequest, out *api.PauseOutcome) string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case !out.Began:
		say("Workflow %d was paused before: %s", out.WorkflowID, out.Hold.Reason)
	case q.DryRun:
		say("Would pause workflow %d", out.WorkflowID)
	default:
		say("Paused workflow %d; `%s resume %d` ends the pause", out.WorkflowID, cli.Prefix(a), out.WorkflowID)
	}
	if n := int64(len(out.Jobs)); n > 0 && !q.Now {
		say("%s; --now ends %s", workflow.CountOf(n, "job continues", "jobs continue")+named(jobNames(out.Jobs)), workflow.Plural(n, "it", "them"))
	}
	if out.Ending > 0 {
		say("%s, and %s ready again then", workflow.CountOf(out.Ending, "job is ended", "jobs are ended"), workflow.Plural(out.Ending, "is", "are"))
		if out.CPUSeconds > 0 {
			say("Lost, unless the jobs save it: %.1f CPU hours", float64(out.CPUSeconds)/3600)
		}
	}
	if n := int64(len(out.Unreachable)); n > 0 {
		say("%s: %s by a runner of torc, which cannot be told", workflow.CountOf(n, "job continues", "jobs continue")+named(jobNames(out.Unreachable)), workflow.Plural(n, "it is held", "they are held"))
	}
	if n := int64(len(out.Pending)); n > 0 {
		say("%s in the queue; --cancel-pending cancels %s", workflow.CountOf(n, "allocation keeps its place", "allocations keep their places"), workflow.Plural(n, "it", "them"))
	}
	if n := int64(len(out.Canceled)); n > 0 {
		say("%s", workflow.CountOf(n, "pending allocation is canceled", "pending allocations are canceled"))
	}
	return strings.Join(lines, "\n")
}

func jobNames(jobs []api.LiveJob) []string {
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = jobs[i].Name
	}
	return names
}
