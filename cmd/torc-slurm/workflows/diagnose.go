package workflows

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/torc-slurm/torc-slurm/api"
	"github.com/torc-slurm/torc-slurm/cmd/torc-slurm/cli"
	"github.com/torc-slurm/torc-slurm/workflow"
)

func newDiagnose(a *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnose [WORKFLOW]",
		Short: "Compare what allocations have left with how long ready jobs run",
		Long: `Compare the time that the live allocations of a workflow have left with the
declared runtimes of its ready jobs, and say which of them no allocation can end.
` + "`torc-slurm why`" + ` says of one job, or of all that wait, what keeps it back.`,
		Example: `  torc-slurm workflows diagnose 12
  torc-slurm -f json workflows diagnose 12 | jq .runtime_blocked`,
		Args:              cobra.MaximumNArgs(1),
		Annotations:       cli.ServerExits(),
		ValidArgsFunction: cli.CompleteWorkflows(a, 1),
	}
	cmd.RunE = a.WorkflowCommand(func(ctx context.Context, c *cli.Connection, id int64) error {
		r, err := c.Workflows.Diagnosis(ctx, id)
		if err != nil {
			return err
		}
		return a.ShowRecord(r, func(w io.Writer) { writeDiagnosis(w, r) })
	})
	return cmd
}

func writeDiagnosis(w io.Writer, r *api.Diagnosis) {
	duration := func(s int64) time.Duration { return time.Duration(s) * time.Second }
	fmt.Fprintf(w, "Live runners:  %d, %d without end\n", r.ActiveAllocations, r.AllocationsUnlimited)
	if s := r.Remaining; s != nil {
		fmt.Fprintf(w, "  time left:   %s to %s, median %s\n", duration(s.Min), duration(s.Max), duration(s.Median))
	}
	fmt.Fprintf(w, "Ready jobs:    %d, %d declare a runtime\n", r.ReadyJobs, r.ReadyJobsWithRuntime)
	if s := r.Runtime; s != nil {
		fmt.Fprintf(w, "  runtime:     %s to %s, median %s\n", duration(s.Min), duration(s.Max), duration(s.Median))
	}
	switch {
	case r.Blocked:
		fmt.Fprintf(w, "%s would not end in any of these allocations; ask for longer ones\n", workflow.CountOf(r.BlockedJobs, "ready job", "ready jobs"))
	case r.TooShortForLongest > 0:
		fmt.Fprintf(w, "%s too short for the longest ready job\n", workflow.CountOf(int64(r.TooShortForLongest), "allocation is", "allocations are"))
	case r.ActiveAllocations == 0 && r.ReadyJobs > 0:
		fmt.Fprintln(w, "Nobody works on it.")
	default:
		fmt.Fprintln(w, "No ready job is too long for what is there.")
	}
}
