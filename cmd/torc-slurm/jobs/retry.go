package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/apidata"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
)

func newRetry(a *cli.Factory) *cobra.Command {
	workflowText := ""
	cmd := &cobra.Command{
		Use:   "retry JOB...",
		Short: "Give failed jobs another attempt",
		Long: `Make jobs ready again that failed, were terminated or canceled, or are held
(pending_failed). Jobs that were canceled because of them wait for them again.
Earlier attempts and their logs are kept. The timeouts.total of jobs that ended
starts again. A held job can be retried three times in a run ("holds resolve"
decides about many jobs, with a reason).

An active runner claims the jobs; if there is none, start one with "run" and the id
of the workflow.`,
		Example: `  torc-slurm jobs retry 42
  torc-slurm jobs retry simulate_042 simulate_043 -w 12
  torc-slurm -f json jobs list -s failed 12 | jq '.items[].id' | xargs torc-slurm jobs retry`,
		Annotations: cli.ServerExits(),
		RunE: a.JobCommand(&workflowText, func(ctx context.Context, c *cli.Connection, ids []int64) error {
			var jobs []api.Job
			for _, id := range ids {
				r, err := c.Jobs.RetryByHand(ctx, id, &api.RetryJobRequest{})
				if err != nil {
					return afterSome(cli.WithPrefix(a, err), len(jobs), "making %s ready")
				}
				jobs = append(jobs, r.Job)
			}
			if a.Format == cli.FormatTable {
				if err := apidata.HintAtRunner(ctx, a, c, jobs[0].WorkflowID); err != nil {
					return err
				}
			}
			if len(jobs) == 1 {
				j := jobs[0]
				return a.ShowMessage(items[api.Job]{jobs}, "Job %d (%s) is ready for attempt %s", cli.OrZero(j.ID), j.Name, cli.OrEmpty(j.AttemptID))
			}
			return a.ShowMessage(items[api.Job]{jobs}, "%d jobs are ready for another attempt", len(jobs))
		}),
	}
	a.AddJobArguments(cmd, &workflowText, true)
	return cmd
}
